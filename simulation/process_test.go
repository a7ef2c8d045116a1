package simulation

import (
	"sync"
	"time"

	"bellhop/scheduler"
)

// process is a child and its guard. It is the outside witness: it writes down what it began and ended, whatever the
// database says.
type process struct {
	n    *node
	name string
	wake func()
	done chan struct{}

	mu      sync.Mutex
	ready   bool
	over    bool
	closing bool
	hand    *scheduler.Line
	queue   []scheduler.Line
	events  []scheduler.ChildEvent
	guard   *time.Timer
}

// say tells the tree something. mu is held.
func (p *process) say(ev scheduler.ChildEvent) {
	ev.At = time.Now()
	p.events = append(p.events, ev)
	go p.n.act(p.wake)
}

func (p *process) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.ready = true
		p.say(scheduler.ChildEvent{Kind: scheduler.EventReady})
		p.begin()
	}
}

// begin takes up the next line. mu is held.
func (p *process) begin() {
	if p.over || p.closing || !p.ready || p.hand != nil || len(p.queue) == 0 {
		return
	}
	line := p.queue[0]
	p.hand, p.queue = &line, p.queue[1:]
	plan := p.n.w.witness.begin(p, line)
	time.AfterFunc(plan.takes, func() { p.finish(line, plan) })
}

// finish is the end of the work on a line.
func (p *process) finish(line scheduler.Line, plan plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.hand == nil || p.hand.Claim != line.Claim {
		return
	}
	switch {
	case line.Attempt <= plan.deaths:
		p.exit(died, scheduler.ChildEvent{Signal: 11, ExitCode: 139, Error: "killed by signal 11"})
		return
	case line.Attempt <= plan.deaths+plan.fails:
		p.n.w.witness.end(p, line, failed)
		p.say(scheduler.ChildEvent{Kind: scheduler.EventAnswered, Claim: line.Claim, ExitCode: 1, Error: "exit status 1"})
	default:
		p.n.w.witness.end(p, line, succeeded)
		p.say(scheduler.ChildEvent{Kind: scheduler.EventAnswered, Claim: line.Claim, OK: true})
	}
	p.hand = nil
	if p.closing {
		p.exit(killed, scheduler.ChildEvent{})
		return
	}
	p.begin()
}

// exit ends the process. mu is held.
func (p *process) exit(how ending, ev scheduler.ChildEvent) {
	if p.over {
		return
	}
	p.over = true
	if p.hand != nil {
		p.n.w.witness.end(p, *p.hand, how)
	}
	if p.guard != nil {
		p.guard.Stop()
	}
	ev.Kind = scheduler.EventExited
	p.say(ev)
	close(p.done)
	p.n.mu.Lock()
	delete(p.n.children, p)
	p.n.mu.Unlock()
}

func (p *process) die(ev scheduler.ChildEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit(killed, ev)
}

func (p *process) Feed(lines []scheduler.Line) {
	p.n.act(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = append(p.queue, lines...)
		p.begin()
	})
}

func (p *process) Recall() []scheduler.Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.queue
	p.queue = nil
	return lines
}

func (p *process) Take(into []scheduler.ChildEvent) []scheduler.ChildEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	into = append(into, p.events...)
	p.events = nil
	return into
}

func (p *process) Close() {
	p.n.act(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closing = true; p.hand == nil {
			p.exit(killed, scheduler.ChildEvent{})
		}
	})
}

func (p *process) Kill() {
	p.n.act(func() {
		time.AfterFunc(time.Millisecond, func() {
			p.die(scheduler.ChildEvent{Signal: 9, ExitCode: 137, Error: "killed on order"})
		})
	})
}

// Lease is renewed: the guard, which goes on while the node is stopped, kills when it is over.
func (p *process) Lease(d time.Duration) {
	until := time.Now().Add(d)
	p.n.act(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.guard != nil {
			p.guard.Stop()
		}
		if p.over || p.n.w.server.without == guardKills {
			return
		}
		p.guard = time.AfterFunc(time.Until(until), func() {
			p.die(scheduler.ChildEvent{Signal: 9, ExitCode: 137, Stop: scheduler.StopFenced, Error: "its lease was not renewed"})
		})
	})
}

func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) Pid() int              { return 1 }
