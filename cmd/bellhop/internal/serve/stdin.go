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

// serveStdin runs jobs from stdin through the same tree as ever, on a queue in
// memory, and ends when all are over.
func serveStdin(
	ctx context.Context, a *cli.App, c config.Config, s Config, signals <-chan os.Signal, log *slog.Logger,
) error {
	var mu sync.Mutex // of stdout, and of failed
	failed := 0
	print := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_ = a.Printf(format, args...) // a failed write cannot be reported
	}
	queue := memory.New(
		func(e scheduler.Entry) {
			who := string(e.Child)
			if e.Claim.Job != 0 {
				who = fmt.Sprintf("%d %s", e.Claim.Job, e.Child)
			}
			print("%s %s: %s\n", who, e.Level, cli.Clean(e.Text))
		},
		func(j *memory.Job) {
			if j.State == scheduler.Succeeded {
				print("%d %s %s\n", j.Claim.Job, j.Type, j.State)
				return
			}
			mu.Lock()
			failed++
			mu.Unlock()
			print("%d %s %s, exit code %d: %s\n", j.Claim.Job, j.Type, j.State, j.Code, cli.Clean(j.Error))
		})
	var database func() agents.Database
	if url := cmp.Or(c.Database.DBURL, c.Database.MSQURL); url != "" {
		database = func() agents.Database {
			asker, _ := store.NewAsker(url) // config has parsed it
			return asker
		}
	}
	tree := startTree(c, a.Stderr, log, database, ports{
		Queue: queue, Holdings: queue, Records: queue, Registry: queue, Reaper: queue, Reports: queue,
		Maintenance: queue, HostStates: queue, Bell: queue, Gate: queue, Queries: queue,
	})
	// interrupted ends it with lines left: as serve does at that signal.
	interrupted := func(sig os.Signal) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if sig != syscall.SIGINT {
			cancel()
		}
		go func() { // a second one, of whatever kind
			select {
			case <-signals:
				cancel()
			case <-ctx.Done():
			}
		}()
		return errors.Join(tree.Stop(ctx, stopPatience), cli.Silent(cli.ExitJobFailed))
	}

	vars := maps.Clone(s.vars)
	lines, problem := make(chan string), make(chan error, 1)
	go readLines(a.Stdin, lines, problem)
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return interrupted(sig)
			}
			log.Warn("summary", "processes", tree.Processes(), "state", tree.Healthy())
		case line, more := <-lines:
			if !more {
				if sig := waitOr(queue.Wait("", 0), signals); sig != nil {
					return interrupted(sig)
				}
				if err := errors.Join(<-problem, tree.Stop(ctx, stopPatience)); err != nil {
					return err
				}
				if failed > 0 {
					return cli.Silent(cli.ExitJobFailed)
				}
				return nil
			}
			o, ok := parseOrder(line)
			switch {
			case !ok: // a blank line
			case o.name != "":
				if vars == nil {
					vars = map[string]string{}
				}
				if vars[o.name] = o.value; o.value == "" {
					delete(vars, o.name)
				}
			case o.typ != "" && !slices.ContainsFunc(c.Agents, func(g config.Agent) bool { return g.Type == o.typ }):
				a.Note("there is no agent of type %q in the configuration: %s is not taken", o.typ, cli.Clean(line))
				mu.Lock()
				failed++
				mu.Unlock()
			case o.wait:
				if sig := waitOr(queue.Wait(o.typ, 0), signals); sig != nil {
					return interrupted(sig)
				}
			default:
				queue.Submit(o.typ, o.args, o.priority, varsOf(vars))
				if sig := waitOr(queue.Wait("", MaxOpen), signals); sig != nil {
					return interrupted(sig)
				}
			}
		}
	}
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
