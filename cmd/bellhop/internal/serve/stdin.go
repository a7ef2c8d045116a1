package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellhop/actors"
	"bellhop/actors/memory"
	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// urgent is the priority of a line that begins with an exclamation mark.
const urgent = -20

// stdinOrder is one line of `serve -I`.
type stdinOrder struct {
	wait     bool   // for the jobs of typ
	name     string // of a var that the jobs behind it have; empty: this is none
	value    string // empty: they have it no more
	typ      scheduler.TypeName
	args     *string // nil: none
	priority int
}

// parseOrder reads `TYPE ARGS`, with ! in front for an urgent job, `wait TYPE`,
// or `var NAME=VALUE`.
func parseOrder(line string) (o stdinOrder, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	if rest, is := strings.CutPrefix(line, "!"); is {
		line, o.priority = rest, urgent
	}
	typ, args, has := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	if typ == "" {
		return o, false
	}
	if typ == "wait" && o.priority == 0 {
		return stdinOrder{wait: true, typ: scheduler.TypeName(strings.TrimSpace(args))}, true
	}
	if name, value, is := strings.Cut(strings.TrimSpace(args), "="); typ == "var" && is && name != "" && o.priority == 0 {
		return stdinOrder{name: name, value: value}, true
	}
	o.typ = scheduler.TypeName(typ)
	if has {
		o.args = &args
	}
	return o, true
}

// stdinQueue runs the jobs that stdin orders, on a queue in memory.
type stdinQueue struct {
	app     *cli.App
	agents  []config.Agent
	vars    map[string]string // of the jobs that come
	signals <-chan os.Signal
	queue   *memory.Queue
	tree    launched

	mu     sync.Mutex // of stdout, and of failed
	failed int
}

// serveStdin runs jobs from stdin through the same tree as ever, and ends when all are over.
func serveStdin(
	ctx context.Context, a *cli.App, c config.Config, s Config, signals <-chan os.Signal, log *slog.Logger,
) error {
	q := &stdinQueue{app: a, agents: c.Agents, vars: maps.Clone(s.vars), signals: signals}
	q.queue = memory.New(q.said, q.over)
	var database func() agents.Database
	if url := cmp.Or(c.Database.DBURL, c.Database.MSQURL); url != "" {
		database = func() agents.Database {
			asker, _ := store.NewAsker(url) // config has parsed it
			return asker
		}
	}
	opener, _, err := opener(c)
	if err != nil {
		return err
	}
	q.tree = startTree(c, a.Stderr, log, database, commands{}, nil, opener, actors.Config{
		Queue: q.queue, Holdings: q.queue, Records: q.queue, Registry: q.queue, Reaper: q.queue, Reports: q.queue,
		Maintenance: q.queue, HostStates: q.queue, Bell: q.queue, Gate: q.queue, Queries: q.queue,
	})
	lines, problem := make(chan string), make(chan error, 1)
	go readLines(a.Stdin, lines, problem)
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return q.interrupted(ctx, sig)
			}
			log.Warn("summary", "processes", q.tree.Processes(), "state", q.tree.Healthy())
		case line, more := <-lines:
			if done := q.take(line, more); done != nil {
				if sig := waitOr(done, signals); sig != nil {
					return q.interrupted(ctx, sig)
				}
			}
			if !more {
				return q.end(ctx, <-problem)
			}
		}
	}
}

func (q *stdinQueue) said(e scheduler.Entry) {
	by := string(e.Child)
	if e.Claim.Job != 0 {
		by = fmt.Sprintf("%d %s", e.Claim.Job, e.Child)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_ = q.app.Printf("%s %s: %s\n", by, e.Level, cli.Clean(e.Text)) // a failed write cannot be reported
}

func (q *stdinQueue) over(j *memory.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.State == scheduler.Succeeded {
		_ = q.app.Printf("%d %s %s\n", j.Claim.Job, j.Type, j.State)
		return
	}
	q.failed++
	_ = q.app.Printf("%d %s %s, exit code %d: %s\n", j.Claim.Job, j.Type, j.State, j.Code, cli.Clean(j.Error))
}

// take carries a line out, or hears that there are no more. What it gives is to be waited for before the next one; nil:
// nothing is.
func (q *stdinQueue) take(line string, more bool) <-chan struct{} {
	o, ok := parseOrder(line)
	switch {
	case !more:
		return q.queue.Wait("", 0)
	case !ok: // a blank line
	case o.name != "":
		if q.vars == nil {
			q.vars = map[string]string{}
		}
		if q.vars[o.name] = o.value; o.value == "" {
			delete(q.vars, o.name)
		}
	case o.typ != "" && !slices.ContainsFunc(q.agents, func(g config.Agent) bool { return g.Type == o.typ }):
		q.app.Note("there is no agent of type %q in the configuration: %s is not taken", o.typ, cli.Clean(line))
		q.mu.Lock()
		q.failed++
		q.mu.Unlock()
	case o.wait:
		return q.queue.Wait(o.typ, 0)
	default:
		q.queue.Submit(o.typ, o.args, o.priority, varsOf(q.vars))
		return q.queue.Wait("", MaxOpen)
	}
	return nil
}

// end ends it with no job left.
func (q *stdinQueue) end(ctx context.Context, problem error) error {
	err := errors.Join(problem, q.tree.Stop(ctx, stopPatience))
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil && q.failed > 0 {
		return cli.Silent(cli.ExitJobFailed)
	}
	return err
}

// interrupted ends it with lines left: as serve does at that signal.
func (q *stdinQueue) interrupted(ctx context.Context, sig os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if sig != syscall.SIGINT {
		cancel()
	}
	go func() { // a second one, of whatever kind
		select {
		case <-q.signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return errors.Join(q.tree.Stop(ctx, stopPatience), cli.Silent(cli.ExitJobFailed))
}

// varsOf are the vars as a row of the queue has them.
func varsOf(vars map[string]string) scheduler.Vars {
	if len(vars) == 0 {
		return ""
	}
	text, _ := json.Marshal(vars) // strings have no error
	return scheduler.Vars(text)
}

const (
	stopPatience = 10 * time.Second
	MaxOpen      = 1000 // jobs in memory: then no line is read until some are over
)

// waitOr waits for the end of jobs, or for a signal that ends the program.
func waitOr(done <-chan struct{}, signals <-chan os.Signal) os.Signal {
	for {
		select {
		case <-done:
			return nil
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return sig
			}
		}
	}
}

// maxOrder bounds a line of stdin.
const maxOrder = 1 << 20

func readLines(from io.Reader, to chan<- string, problem chan<- error) {
	defer close(problem)
	defer close(to)
	s := bufio.NewScanner(from)
	s.Buffer(nil, maxOrder)
	for s.Scan() {
		to <- s.Text()
	}
	if err := s.Err(); err != nil {
		problem <- fmt.Errorf("read jobs from stdin: %w", err)
	}
}
