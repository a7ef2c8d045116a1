package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bellhop/scheduler"
)

// EngineCommands are the commands of an engine, by what they do.
type EngineCommands struct {
	Ops     map[string][]string // submit, find, poll, kill, logs
	Run     []string            // what the engine is to run: submit gets it behind the tag
	Options []string            // for the engine: submit gets them in BELLHOP_OPTIONS, a line each
	Timeout time.Duration       // of one call
	Shipped string              // the engine whose own submit this is; empty: submit is a command of the user's own
}

// What an engine's command may write: the lines of 10,000 jobs fit, and of a job's log its end.
const (
	engineOut = 8 << 20
	engineLog = 1 << 20
	engineErr = 4 << 10
)

// leaseEvery is how often the lease of a command is renewed.
const leaseEvery = time.Second

// RunEngine runs one command of an engine under a guard of its own, and returns when all its processes are dead.
func (l *Launcher) RunEngine(
	ctx context.Context, call scheduler.EngineCall, lease func() time.Duration,
) scheduler.EngineSaid {
	spec, _ := l.specOf(call.Type)
	e := spec.Engine
	if e == nil || len(e.Ops[call.Op]) == 0 {
		return scheduler.EngineSaid{Failed: fmt.Sprintf("type %s has no command for %s", call.Type, call.Op)}
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	spec.Command = e.Ops[call.Op]
	env := []string{"BELLHOP_OPTIONS=" + strings.Join(e.Options, "\n")}
	if call.Over {
		env = append(env, "BELLHOP_OVER=1")
	}
	args := call.Args
	if call.Line != nil {
		line, err := l.open(call.Type, call.Line)
		var sealed *scheduler.SealedError
		if errors.As(err, &sealed) && sealed.Pause > 0 {
			return scheduler.EngineSaid{Stays: sealed}
		} else if err != nil {
			return scheduler.EngineSaid{Failed: "refused", Code: scheduler.EngineRefuses, Err: err.Error()}
		}
		vars, err := allowedVars(spec.Vars, line.Vars)
		if err != nil {
			return scheduler.EngineSaid{Failed: "refused", Code: scheduler.EngineRefuses, Err: err.Error()}
		}
		vars, names, err := e.handVars(spec.Vars, vars)
		if err != nil {
			return scheduler.EngineSaid{Failed: "refused", Code: scheduler.EngineRefuses, Err: err.Error()}
		}
		if names != "" {
			env = append(env, "BELLHOP_VARS="+names)
		}
		env = append(env, bellhopEnvironment(vars, line)...)
		args = append(append([]string(nil), args...), e.Run...)
		if line.HasArgs {
			args = append(args, line.Args)
		}
	}
	r, err := l.request("", spec, args, env)
	if err != nil {
		return scheduler.EngineSaid{Failed: err.Error()}
	}
	ref := childRef{child: scheduler.ChildName(string(call.Type) + "." + call.Op)}
	g, err := l.start(ref, r, wires{stdin: true}, lease)
	if err == errArgsTooLong {
		return scheduler.EngineSaid{Failed: err.Error(), Code: scheduler.EngineRefuses, Err: err.Error()}
	}
	if err != nil {
		return scheduler.EngineSaid{Failed: err.Error()}
	}
	return l.hearEngine(ctx, g, call, lease)
}

func (l *Launcher) hearEngine(
	ctx context.Context, g *guarded, call scheduler.EngineCall, lease func() time.Duration,
) scheduler.EngineSaid {
	out, errs := &tail{most: engineOut}, &tail{most: engineErr}
	if call.Op == "logs" {
		out.most = engineLog
	}
	out.hears(&g.stdout)
	errs.hears(&g.stderr)
	g.read()
	stdin := g.stdin
	go func() { // it may never read, and then dies of its time
		_ = stdin.SetWriteDeadline(deadline(ctx))
		_, _ = stdin.WriteString(call.In)
		_ = stdin.Close()
	}()
	done := make(chan struct{})
	go l.keepLease(ctx, g, lease, done)
	e := g.wait()
	close(done)
	_ = stdin.SetWriteDeadline(time.Now())
	g.streamsEnd()
	said := scheduler.EngineSaid{Out: out.text(), Err: errs.text(), Code: e.exitCode(), Cut: out.cut, Open: g.stdout.rest}
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		said.Failed = "killed: it took too long"
	case ctx.Err() != nil:
		said.Failed = "killed: its instance stops"
	case e.exitCode() != 0 || e.lost || e.reason != 0:
		said.Failed = e.String()
	}
	if said.Failed != "" && (ctx.Err() != nil || e.lost || e.reason != 0) {
		said.Code = 0 // it is not the command that said this
	}
	return said
}

// keepLease renews the lease of a command, and kills it when ctx ends.
func (l *Launcher) keepLease(ctx context.Context, g *guarded, lease func() time.Duration, done <-chan struct{}) {
	renew := time.NewTicker(leaseEvery)
	defer renew.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			g.kill()
			return
		case <-renew.C:
			if left := lease(); left > 0 {
				g.lease(left)
			}
		}
	}
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}

// tail keeps the end of a stream.
type tail struct {
	most  int
	lines []string
	size  int
	cut   bool
}

func (t *tail) hears(s *stream) {
	s.hear = func(line []byte, truncated bool) {
		t.lines = append(t.lines, string(line))
		t.cut = t.cut || truncated
		for t.size += len(line) + 1; t.size > t.most && len(t.lines) > 1; t.lines = t.lines[1:] {
			t.size -= len(t.lines[0]) + 1
			t.cut = true
		}
	}
	s.quiet, s.end = func() {}, func() {}
}

func (t *tail) text() string { return strings.Join(t.lines, "\n") }
