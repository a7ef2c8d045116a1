package agents

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// begin starts the agent of a request. On another host that may take a while:
// meanwhile Close and Kill reach the guard that is under way.
func (p *Process) begin(r guard.Request, w wires) (*guarded, error) {
	way := p.launcher.ways[p.host]
	at := childRef{child: p.child, far: p.launcher.farOf(p.host), alone: p.alone()}
	r.OneStream = w.oneStream
	if way == nil {
		g, err := p.launcher.start(at, r, w, p.leaseLeft)
		if err == nil && !g.limited {
			p.launcher.unlimited.note(p.spec.Type, p.host, "its guard may not divide its cgroup: bellhop doctor says why")
		}
		return g, err
	}
	if p.spec.limited() {
		p.launcher.unlimited.note(p.spec.Type, p.host, "agents on hosts with connect are not limited")
	}
	var g *guarded
	err := way.open(context.Background(), func() (err error) {
		g, err = p.openLine(at, r, w)
		return err
	})
	return g, err
}

// openLine starts the guard of a line and waits until the agent runs.
func (p *Process) openLine(at childRef, r guard.Request, w wires) (*guarded, error) {
	p.mu.Lock()
	closing := p.closing
	p.mu.Unlock()
	if closing {
		return nil, &LineError{p.host, "given_up: it was to end before the line was opened"}
	}
	g, err := p.launcher.startGuard(at, r, w, p.leaseLeft)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.opening = g
	if p.closing {
		g.kill()
	}
	p.mu.Unlock()
	err = g.begin(r, p.leaseLeft)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opening = nil
	if err != nil {
		return nil, err
	}
	return g, nil
}

// startFar starts a warm agent on another host, and returns at once.
func (p *Process) startFar() {
	p.running = true // so that Close and Kill leave the last word to what is under way
	go func() {
		err := p.startWarm()
		p.mu.Lock()
		defer p.release()
		p.running = false
		if err != nil {
			p.exited(scheduler.ChildEvent{ExitCode: refusedCode, Error: err.Error(), Stop: orderOf(err)})
			return
		}
		if p.lease > 0 {
			p.g.lease(max(time.Millisecond, p.lease-time.Since(p.leaseFrom)))
		}
		switch {
		case p.killed:
			p.g.kill()
		case p.closing:
			p.closeStdin()
			p.g.hangup()
		}
	}()
}

// Reach finds out whether a host can be reached and has its guard, which it is
// sent where it is missing. This machine always can. The error is a *LineError
// where the line is to blame; ctx ends the attempt.
func (l *Launcher) Reach(ctx context.Context, host scheduler.HostName) error {
	if l.ways[host] == nil {
		return nil
	}
	return l.look(ctx, host, Spec{})
}

// Look finds out whether the agent of a type could be started on a host, as far
// as that can be told without starting it.
func (l *Launcher) Look(ctx context.Context, typ scheduler.TypeName, host scheduler.HostName) error {
	spec, ok := l.specOf(typ)
	if !ok {
		return fmt.Errorf("no agent of type %q is configured", typ)
	}
	if l.ways[host] == nil {
		_, err := l.request(host, spec, nil, nil)
		return err
	}
	return l.look(ctx, host, spec)
}

func (l *Launcher) look(ctx context.Context, host scheduler.HostName, spec Spec) error {
	w := l.ways[host]
	r, err := l.request(host, spec, nil, nil)
	if err != nil {
		return err
	}
	r.Check = true
	return w.open(ctx, func() error { return l.lookAlong(ctx, host, r) })
}

func (l *Launcher) lookAlong(ctx context.Context, host scheduler.HostName, r guard.Request) error {
	g, err := l.startGuard(childRef{child: "look", far: host}, r, wires{}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, g.kill)
	defer stop()
	if err := g.begin(r, func() time.Duration { return 0 }); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	g.stdout.hear, g.stdout.quiet, g.stdout.end = func([]byte, bool) {}, func() {}, func() {}
	g.stderr.hear, g.stderr.quiet, g.stderr.end = g.stdout.hear, func() {}, func() {}
	g.read()
	e := g.wait()
	g.streamsEnd()
	if e.line != nil {
		return e.line
	}
	return ctx.Err()
}
