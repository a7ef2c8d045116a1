package simulation

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"bellhop/actors/memory"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// ports are what a tree is handed. What the database decides goes over one of four connections to the model, as in
// sql/store; the rest (explanations, names of hosts, reports) says nothing.
type ports struct {
	*memory.Queue
	n                                   *node
	claimer, recorder, registry, keeper *session
	asserted                            int // since which opening of the claimer's connection
	era                                 scheduler.Era
}

func newPorts(n *node) *ports {
	return &ports{Queue: memory.New(func(scheduler.Entry) {}, func(*memory.Job) {}), n: n, asserted: -1,
		claimer: newSession(n, "claimer"), recorder: newSession(n, "recorder"),
		registry: newSession(n, "registry"), keeper: newSession(n, "keeper")}
}

var errNotAsserted = errors.New("a new connection: running jobs must be asserted first")

func (p *ports) Claim(
	ctx context.Context, me scheduler.InstanceID, d scheduler.Demand,
) (jobs []scheduler.Job, err error) {
	most := 0
	for _, t := range d.Types {
		most = max(most, min(t.Limit, d.Total))
	}
	if d.Locked || most == 0 {
		return nil, nil
	}
	err = p.claimer.use(ctx, func() error {
		if p.asserted != p.claimer.opened && p.n.w.server.without != assertBeforeClaim {
			return &scheduler.Unreachable{Err: errNotAsserted}
		}
		asked := time.Now()
		floor := p.era.Floor
		taken, err := ask(ctx, p.claimer, false, func(s *server) []row { return s.claim(me, most, d.Assigned, floor) })
		if err != nil {
			return err
		}
		for _, j := range taken {
			jobs = append(jobs, scheduler.Job{Type: typ, Host: d.Host, Line: scheduler.Line{Args: j.name, HasArgs: true,
				Claim: j.claim(), Instance: me, Attempt: j.attempt, MaxAttempts: -j.most,
				Deaths: j.deaths, Assigned: d.Assigned,
				Origin: &scheduler.Origin{Type: typ, CreatedAt: j.created, Created: j.created, Asked: asked,
					Claimed: time.Now()}}})
		}
		return nil
	})
	return jobs, err
}

func (p *ports) Claims(
	ctx context.Context, me scheduler.InstanceID, _ []scheduler.Claim, _ bool,
) (holds []scheduler.Hold, err error) {
	err = p.claimer.use(ctx, func() (err error) {
		if p.asserted != p.claimer.opened && p.n.w.server.without != assertBeforeClaim {
			return &scheduler.Unreachable{Err: errNotAsserted}
		}
		holds, err = ask(ctx, p.claimer, false, func(s *server) []scheduler.Hold { return s.claims(me) })
		return err
	})
	return holds, err
}

func (p *ports) Reassert(ctx context.Context, me scheduler.InstanceID, holds []scheduler.Hold) (n int, err error) {
	err = p.claimer.use(ctx, func() (err error) {
		n, err = ask(ctx, p.claimer, false, func(s *server) int { return s.reassert(me, holds) })
		return err
	})
	return n, err
}

func (p *ports) Assert(
	ctx context.Context, me scheduler.InstanceID, all []scheduler.Hold,
) (a scheduler.Asserted, err error) {
	err = p.claimer.use(ctx, func() (err error) {
		if p.n.w.server.without != assertBeforeClaim {
			if a.Again, err = ask(ctx, p.claimer, false, func(s *server) int { return s.reassert(me, all) }); err != nil {
				return err
			}
		}
		holds, err := ask(ctx, p.claimer, false, func(s *server) []scheduler.Hold { return s.claims(me) })
		if err != nil {
			return err
		}
		if a.Lost = lostOf(all, holds); len(a.Lost) > 0 && p.n.w.server.without != lostRunsEndFirst {
			return nil
		}
		a.Lost = nil
		if p.era, err = ask(ctx, p.claimer, false, (*server).beginEra); err != nil {
			return err
		}
		if _, err = ask(ctx, p.claimer, false, func(s *server) bool { return s.assertedBy(me) }); err != nil {
			return err
		}
		if a.Not, err = ask(ctx, p.claimer, false, (*server).notAsserted); err != nil {
			return err
		}
		p.asserted = p.claimer.opened
		return nil
	})
	if p.n.w.server.without == waitForOthers {
		a.Not = nil
	}
	return a, err
}

// lostOf lists what runs here and is not ours.
func lostOf(all, ours []scheduler.Hold) (lost []scheduler.Claim) {
	for _, h := range all {
		if !h.Over && !slices.ContainsFunc(ours, func(o scheduler.Hold) bool { return o.Claim == h.Claim }) {
			lost = append(lost, h.Claim)
		}
	}
	return lost
}

func (p *ports) LookBack(
	ctx context.Context, _ scheduler.InstanceID, b scheduler.LookBack,
) (gone, again int, err error) {
	err = p.claimer.use(ctx, func() error {
		fates, err := ask(ctx, p.claimer, false, func(s *server) []scheduler.Fate { return s.fates(b.Runs) })
		if err == nil {
			gone, again = scheduler.Missing(b.Runs, fates, b.Asked)
			p.n.w.tell("%s: %q has lost %d runs, and repeats %d", p.n.name, b.Server, gone, again)
		}
		return err
	})
	return gone, again, err
}

func (p *ports) Write(ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, _ time.Time) (
	stale []scheduler.Claim, released bool, err error) {
	if len(b.Records) == 0 {
		return nil, false, nil
	}
	b.Records = slices.Clone(b.Records)
	err = p.recorder.use(ctx, func() error {
		w, err := ask(ctx, p.recorder, p.n.w.server.without != outcomesWaitForTheDisk,
			func(s *server) written { return s.write(me, b) })
		stale, released = w.stale, w.released
		if err == nil {
			p.n.w.acknowledged(b.Records, stale)
		}
		return err
	})
	return stale, released, err
}

func (p *ports) Register(ctx context.Context) (id scheduler.InstanceID, err error) {
	err = p.registry.use(ctx, func() (err error) {
		m := member{lag: lag, Suspect: scheduler.Suspect{Name: p.n.name, Machine: p.n.machine, Pid: p.n.pid,
			Types: []scheduler.TypeName{typ}}}
		id, err = ask(ctx, p.registry, true, func(s *server) scheduler.InstanceID { return s.register(m) })
		return err
	})
	if err == nil {
		p.n.w.tell("%s is instance %d", p.n.name, id)
	}
	return id, err
}

func (p *ports) Beat(ctx context.Context, me scheduler.InstanceID) (b scheduler.Beat, err error) {
	err = p.registry.use(ctx, func() (err error) {
		b, err = ask(ctx, p.registry, true, func(s *server) scheduler.Beat { return s.beat(me) })
		return err
	})
	if err == nil && b.Server == "" {
		return b, scheduler.ErrGone
	}
	return b, err
}

func (p *ports) Suspects(ctx context.Context, me scheduler.InstanceID) (list []scheduler.Suspect, err error) {
	err = p.registry.use(ctx, func() (err error) {
		list, err = ask(ctx, p.registry, true, func(s *server) []scheduler.Suspect { return s.suspects(me) })
		return err
	})
	return list, err
}

func (p *ports) Dead(s scheduler.Suspect) bool {
	other := p.n.w.process(s.Pid)
	return other != nil && other.machine == p.n.machine && other.isDead()
}

func (p *ports) Reap(ctx context.Context, s scheduler.Suspect) error {
	other := p.n.w.process(s.Pid)
	for _, c := range other.living() {
		c.die(scheduler.ChildEvent{})
	}
	return p.n.pause(ctx, time.Millisecond)
}

func (p *ports) MarkGone(ctx context.Context, id scheduler.InstanceID, why string, proven bool) (bool, int, error) {
	var b burial
	err := p.registry.use(ctx, func() (err error) {
		b, err = ask(ctx, p.registry, true, func(s *server) burial { return s.bury(id, proven) })
		return err
	})
	if b.did {
		p.n.w.tell("%s takes over %d jobs of instance %d: %s", p.n.name, b.jobs, id, why)
	}
	return b.did, b.jobs, err
}

func (p *ports) Due(ctx context.Context) (n int, next time.Duration, err error) {
	next = -1
	err = p.keeper.use(ctx, func() error {
		d, err := ask(ctx, p.keeper, true, (*server).due)
		if err != nil {
			return err
		}
		n, next = d.n, d.next
		strays, err := ask(ctx, p.keeper, true, (*server).strays)
		n += strays
		return err
	})
	if err != nil {
		return n, -1, err
	}
	return n, next, nil
}

// bell is the connection that listens.
type bell struct {
	n     *node
	mu    sync.Mutex
	ears  map[channel]func()
	rang  func()
	count uint64 // of what came
}

func (p *ports) Run(
	ctx context.Context, rang func(bool), _, cancelled, due, beat func(), _, _ func([]scheduler.JobID),
) error {
	b := &p.n.bell
	b.mu.Lock()
	b.rang = func() { rang(false) }
	b.ears = map[channel]func(){inserted: func() { rang(true) }, readied: b.rang, cancelRang: cancelled, dueRang: due,
		beatRang: beat}
	b.mu.Unlock()
	b.reconnected()
	<-ctx.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ears, b.rang = nil, func() {}
	return ctx.Err()
}

func (p *ports) Cut() { p.n.cut() }

// reconnected: what was said before is lost.
func (b *bell) reconnected() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rang := b.rang; rang != nil {
		time.AfterFunc(10*time.Millisecond, func() { b.n.act(rang) })
	}
}

// hears brings a notification, late perhaps.
func (b *bell) hears(c channel) {
	b.mu.Lock()
	b.count++
	number := b.count
	ear := b.ears[c]
	b.mu.Unlock()
	b.n.mu.Lock()
	deaf := b.n.deaf || b.n.dead || time.Until(b.n.away) > 0
	b.n.mu.Unlock()
	dice := b.n.dice("bell", number)
	wait := latency(dice)
	if dice.IntN(20) == 0 {
		wait += time.Duration(dice.Int64N(int64(time.Second)))
	}
	if ear == nil || deaf || dice.IntN(50) == 0 {
		return
	}
	time.AfterFunc(wait, func() { b.n.act(ear) })
}

// launcher starts the children of a node.
type launcher struct{ n *node }

func (l launcher) Reach(context.Context, scheduler.HostName) error { return nil }
func (l launcher) Serves(scheduler.InstanceID)                     {}

func (l launcher) Launch(_ scheduler.TypeName, name scheduler.ChildName, _ scheduler.HostName, lease time.Duration,
	wake func()) (port.Process, error) {
	dice := l.n.dice("launch "+string(name), l.n.launches.Add(1))
	if err := l.n.pause(context.Background(), 2*time.Millisecond+latency(dice)); err != nil {
		return nil, err
	}
	p := &process{n: l.n, name: string(name), wake: wake, done: make(chan struct{})}
	p.Lease(lease)
	l.n.mu.Lock()
	l.n.children[p] = true
	l.n.mu.Unlock()
	time.AfterFunc(20*time.Millisecond+10*latency(dice), p.up)
	return p, nil
}
