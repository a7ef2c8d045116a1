// Package engine has the hosts that are engines: their jobs run elsewhere, and
// commands submit, find, poll and kill them.
package engine

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/lasting"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// How engines are paced.
const (
	engineTickEvery = time.Second      // deadlines of jobs are looked at
	engineBackoff   = time.Minute      // the longest pause while an engine does not answer
	engineFindEvery = 2 * time.Second  // while it is not known whether jobs were submitted
	engineSweep     = 30 * time.Second // between looks for what is left of jobs that are over
	engineSweepSoon = time.Second      // after an outcome
	engineAhead     = 64               // jobs that are held and not submitted yet
	engineAsk       = 512              // jobs of one claim
	engineFollow    = 2 * time.Second  // between calls of logs for a job with a follower
)

// host is to its type what a host is to others: it gives out credits, is dealt jobs, and owes their outcomes. But
// its jobs run elsewhere. What becomes of each engine.Remote says; this carries it out, in few calls for many jobs. It
// takes no slot of any host and has no children; what it runs are short commands.
type host struct {
	inst  *Ports
	spec  port.HostSpec
	conf  port.EngineSpec
	typ   port.AgentType
	quota *lasting.Quota
	// owned by Receive
	jobs    map[scheduler.Claim]*watched
	waiting []*watched // for their turn to be submitted, in the order in which they came
	before  int        // of jobs: not with the engine yet
	busy    int        // of jobs: being recorded or submitted
	unsure  int        // of jobs: find is asked about them
	books   books
	calls   calls
	epoch   uint64
	granted int // credits that are out
	asleep  bool
	leaving bool
	trouble string
	alarm   *time.Timer
	parent  *actor.PID
	ctx     context.Context
	cancel  context.CancelFunc
}

// watched is one job on its way.
type watched struct {
	line   scheduler.Line
	remote engine.Remote
	tag    string
	dirty  bool              // it is to be saved
	saving bool              // it is being saved
	judged *scheduler.Record // what its job becomes
	began  time.Time
	log    remoteLog
}

func New(inst *Ports, spec port.HostSpec) *host {
	s := &host{inst: inst, spec: spec, conf: *spec.Engine, quota: inst.Quotas.Of(spec.Engine.Type),
		jobs: map[scheduler.Claim]*watched{}, epoch: uint64(time.Now().UnixNano())}
	for _, a := range inst.Agents {
		if a.Name == s.conf.Type {
			s.typ = a
		}
	}
	s.calls = newCalls(s.conf)
	s.books.sweep = engine.Pace{Every: engineSweep, Most: 4 * engineSweep}
	s.books.pace = engine.Pace{Most: engineBackoff}
	return s
}

// awake: no call runs that was begun before. To itself.
type awake struct{}

// tick: time has passed. To itself.
type tick struct{}

func (s *host) Receive(c actor.Context) {
	now := time.Now()
	switch m := c.Message().(type) {
	case *actor.Started:
		s.onStarted(c)
		return
	case *awake:
		s.asleep = false
		if s.ctx.Err() != nil {
			s.ctx, s.cancel = context.WithCancel(context.Background())
		}
		s.inst.Tell(message.RoleMSQs, &message.HostRestarted{Host: s.spec.Name, At: c.Self()})
		s.resync()
	case *actor.Stopping:
		s.cancel()
		s.disarm()
		s.quota.Alive.Add(-int64(len(s.jobs)))
		return
	case *message.Deal:
		s.onDeal(m, now)
	case message.Deals:
		for _, one := range m {
			s.onDeal(one, now)
		}
	case *tick:
		s.onTick(now)
	case *booked:
		s.onBooked(m, now)
	case *answered:
		s.onAnswered(m, now)
	case *message.Divided, *message.Leased:
	case *message.MSQEnded:
		s.resync()
	case *message.Report:
		s.onReport(c, m)
	case *message.Describe:
		if r := s.describe(); !m.Tell(r) {
			s.inst.Tell(message.RoleMembership, &r)
		}
		return
	case *message.CancelJob:
		if w := s.jobs[m.Claim]; w != nil {
			s.step(w, engine.Event{Kind: engine.CancelAsked}, now)
		}
	case *message.Drop:
		for _, claim := range m.Claims {
			s.forget(s.jobs[claim])
		}
	case *message.Fenced:
		s.onFenced(c, now)
	case *message.Finish:
		s.leaving = true
	case *message.Leave:
		s.onLeave(m, now)
	default:
		return
	}
	s.next(c, now)
}

func (s *host) onStarted(c actor.Context) {
	s.parent = c.Parent()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.sleep(c)
}

// onFenced: all of it is for others now. Calls that run die, and before they are dead
// nothing is begun: the next lease may come before they have noticed.
func (s *host) onFenced(c actor.Context, now time.Time) {
	for _, w := range s.jobs {
		s.step(w, engine.Event{Kind: engine.Leave}, now)
	}
	s.waiting, s.calls.toSubmit, s.calls.toKill, s.calls.toFetch, s.calls.toSweep = nil, nil, nil, nil, nil
	s.cancel()
	s.sleep(c)
}

// sleep is until no call runs that was begun before.
func (s *host) sleep(c actor.Context) {
	s.asleep = true
	self, root, empty := c.Self(), s.inst.System.Root, s.inst.Processes.WhenEmpty()
	go func() { <-empty; root.Send(self, &awake{}) }()
}

// next does what can be done now.
func (s *host) next(c actor.Context, now time.Time) {
	if s.asleep {
		return
	}
	if s.leaving {
		s.letGo(now)
	}
	if s.inst.ID() != 0 && s.inst.LeaseLeft(now) > 0 {
		s.submitSome(now)
		s.call(c, now)
		s.book(c, now)
	}
	s.ask()
	s.arm(c, now)
}

func (s *host) onDeal(m *message.Deal, now time.Time) {
	if m.Epoch == s.epoch {
		s.granted = max(0, s.granted-len(m.Lines))
	}
	for _, l := range m.Lines {
		switch {
		case l.Item != 0:
			s.inst.Tell(message.RoleMSQ(l.Claim.Job), &message.Answered{Results: []scheduler.Result{{Line: &l,
				Outcome: scheduler.OutcomeFailed,
				Error:   "engines take single jobs: submit one for each row", ExitCode: 1,
				Host: s.spec.Name, Began: now, Ended: now}}})
		case s.leaving || s.asleep || !s.inst.MayBegin(&l, now):
			s.inst.requeue(l, "")
		default:
			w := &watched{line: l, tag: l.Claim.Tag(), began: now}
			w.log.pace = engine.Pace{Every: max(engineFollow, s.conf.Poll), Most: engineBackoff}
			if w.remote.Timeout = s.typ.Timeout; l.Timeout > 0 {
				w.remote.Timeout = l.Timeout
			}
			s.jobs[l.Claim] = w
			s.before++
			s.quota.Alive.Add(1)
			s.books.look = append(s.books.look, l.Claim)
		}
	}
}

// resync forgets the credits that are out.
func (s *host) resync() {
	s.epoch++
	s.granted = 0
	s.inst.Tell(message.RoleDispatcher, &message.Credits{Host: s.spec.Name, Epoch: s.epoch})
}

func (s *host) describe() scheduler.HostReport {
	slots := scheduler.Slots{All: s.spec.Slots, Taken: len(s.jobs)}
	r := scheduler.HostReport{Name: s.spec.Name, Slots: slots.All, Taken: slots.Taken, Waiting: s.before,
		Bounds: scheduler.BoundsOf(s.spec.Name, slots)}
	r.Bounds.Note(s.conf.Type, s.quota.Bounds().Hit(s.conf.Type, s.spec.Name, slots, ""))
	return r
}

// ask gives out credits: for jobs that are submitted soon, as far as max goes.
func (s *host) ask() {
	if s.leaving || s.asleep {
		return
	}
	ahead := engineAhead
	if s.calls.submit.Fails > 0 { // one tries whether it takes jobs again, and the others are not held for that long
		ahead = 1
	}
	room := min(s.spec.Slots-len(s.jobs), s.quota.Bounds().More(), ahead-s.before, engineAsk) - s.granted
	if room <= 0 {
		return
	}
	s.granted += room
	now := map[scheduler.TypeName]int{s.conf.Type: room}
	s.inst.Tell(message.RoleDispatcher, &message.Credits{Host: s.spec.Name, Epoch: s.epoch, Now: now})
}

func (s *host) onReport(c actor.Context, m *message.Report) {
	r := &message.Reported{Of: m.Of, From: string(s.spec.Name)}
	for claim := range s.jobs {
		r.Claims = append(r.Claims, claim)
	}
	c.Send(m.To, r)
	s.resync()
}

func (s *host) onTick(now time.Time) {
	for _, w := range s.jobs {
		s.step(w, engine.Event{Kind: engine.Tick}, now)
	}
}

// arm wakes it: often while it has jobs, and else for the next sweep.
func (s *host) arm(c actor.Context, now time.Time) {
	s.disarm()
	at := s.books.sweep.Next
	if len(s.jobs) > 0 {
		at = s.soonest(now)
	} else if s.leaving {
		return
	}
	if !at.After(now) { // something under way comes first
		at = now.Add(engineTickEvery)
	}
	s.alarm = s.inst.Later(c.Self(), at.Sub(now)+time.Millisecond, &tick{})
}

func (s *host) disarm() {
	if s.alarm != nil {
		s.alarm.Stop()
	}
}

// onLeave: what runs elsewhere goes on running there; commands that run are waited for, and killed when all is to be.
func (s *host) onLeave(m *message.Leave, now time.Time) {
	s.leaving = true
	if m.All {
		s.cancel()
		return
	}
	parent, root, empty := s.parent, s.inst.System.Root, s.inst.Processes.WhenEmpty()
	go func() { <-empty; root.Send(parent, &message.HostLeft{}) }()
}

// letGo requeues jobs that no call is working on.
func (s *host) letGo(now time.Time) {
	for _, w := range s.jobs {
		switch {
		case w.remote.State == engine.Submitting && s.ctx.Err() == nil:
		case w.remote.State == engine.Recording && s.books.turn:
		case w.saving || w.dirty && s.books.pace.Fails == 0:
		default:
			s.step(w, engine.Event{Kind: engine.Leave}, now)
		}
	}
}
