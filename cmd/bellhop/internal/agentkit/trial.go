package agentkit

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
)

// trial is an agent run as serve would run it, with nothing above it: no database, no queue, no second child.
type trial struct {
	launcher *agents.Launcher
	spec     agents.Spec
	patience time.Duration
	jobs     int

	mu     sync.Mutex
	spoken []spoken
	heard  func(spoken) // each line as it comes, under mu; nil: kept only
}

// spoken is one line, and its source.
type spoken struct {
	From string  `json:"from"` // bellhop, agent, stderr; or note: what happened
	Line string  `json:"line"`
	MS   float64 `json:"ms"` // since the agent was started
}

// trialOptions are the flags of agent check and agent try.
type trialOptions struct {
	dialect  string
	mode     string
	typ      string
	config   string
	patience time.Duration
}

// newTrial finds what the command would be in a configuration.
func newTrial(command []string, o trialOptions) (*trial, error) {
	if o.mode != string(agents.ModeWarm) && o.mode != string(agents.ModeExec) {
		return nil, cli.Usage("agent", fmt.Sprintf("there is no mode %q", o.mode), "--mode warm or --mode exec")
	}
	switch agents.Dialect(o.dialect) {
	case agents.DialectAuto, agents.DialectClassic, agents.DialectJSON, agents.DialectFOSSology:
	default:
		return nil, cli.Usage("agent", fmt.Sprintf("there is no dialect %q", o.dialect), "--dialect auto, classic, json or fossology")
	}
	if o.typ == "" && o.dialect == string(agents.DialectFOSSology) {
		o.typ = filepath.Base(command[0]) // it looks itself up by that name
	}
	t := &trial{patience: o.patience, spec: agents.Spec{Type: scheduler.TypeName(o.typ), Command: command,
		Mode: agents.Mode(o.mode), Dialect: agents.Dialect(o.dialect), Vars: []string{"*"}, StartTimeout: o.patience,
		FOSSology: &agents.FOSSology{Config: o.config, ByeGrace: o.patience, Silence: o.patience}}}
	began := time.Now()
	t.launcher = agents.NewLauncher(agents.Config{Specs: []agents.Spec{t.spec}, Stderr: io.Discard,
		Steps: func(context.Context, scheduler.Claim, scheduler.SavedStep) error { return nil },
		Tap: func(from agents.Voice, line []byte) {
			t.say(
				spoken{string(from), strings.ToValidUTF8(string(line), "\uFFFD"), float64(time.Since(began).Microseconds()) / 1000})
		}})
	return t, nil
}

func (t *trial) say(s spoken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spoken = append(t.spoken, s)
	if t.heard != nil {
		t.heard(s)
	}
}

// lines gives what one side said since the n-th line, and how many lines there are.
func (t *trial) lines(from agents.Voice, since int) (list []string, now int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spoken[since:] {
		if s.From == string(from) {
			list = append(list, s.Line)
		}
	}
	return list, len(t.spoken)
}

// tried is one process of the agent.
type tried struct {
	*agents.Process
	t      *trial
	rings  chan struct{}
	events []scheduler.ChildEvent
	began  time.Time
}

// start launches the agent; in mode exec, and dialect fossology, the process
// comes with the line.
func (t *trial) start() (*tried, error) {
	c := &tried{t: t, rings: make(chan struct{}, 1), began: time.Now()}
	p, err := t.launcher.Launch(t.spec.Type, "try.1", "local", 0, func() {
		select {
		case c.rings <- struct{}{}:
		default:
		}
	})
	c.Process = p
	return c, err
}

// next waits for the next event; false: none came in time.
func (c *tried) next(within time.Duration) (scheduler.ChildEvent, bool) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		if c.events = c.Take(c.events); len(c.events) > 0 {
			ev := c.events[0]
			c.events = c.events[1:]
			if ev.Kind == scheduler.EventBegan { // its answers follow
				continue
			}
			return ev, true
		}
		select {
		case <-c.rings:
		case <-deadline.C:
			return scheduler.ChildEvent{}, false
		}
	}
}

// do gives a line and waits for its end.
func (c *tried) do(l scheduler.Line) (scheduler.ChildEvent, bool) {
	c.t.jobs++
	l.Claim, l.Attempt = scheduler.Claim{Job: scheduler.JobID(c.t.jobs), Fence: 1}, 1
	c.Feed([]scheduler.Line{l})
	return c.next(c.t.patience)
}

// end kills what is left of it.
func (c *tried) end() {
	if c.Process != nil {
		c.Kill()
		<-c.Done()
	}
}

// argument is a job's line.
func argument(text string) scheduler.Line { return scheduler.Line{HasArgs: true, Args: text} }
