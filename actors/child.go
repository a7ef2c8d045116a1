package actors

import (
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// child owns one process: it feeds scheduler.Child with what happens to it and
// runs the effects. While the process is quick, events and lines go through
// here in batches; the process itself keeps to one line at a time.
type child struct {
	h    *house
	name scheduler.ChildName
	typ  AgentType
	host scheduler.HostName
	boss *actor.PID
	// owned by Receive
	fsm      scheduler.Child
	process  Process
	fork     *fork
	berth    *berth
	events   []scheduler.ChildEvent
	received int
	returns  int // how often something went back to the host
	done     int64
	deaths   int64
	alarm    *time.Timer
	alarmAt  time.Time
	leaseEnd time.Time

	// gathered during one message, sent at its end
	owed     []scheduler.Record
	items    map[scheduler.JobID][]scheduler.Result
	returned []scheduler.Line
	handed   []scheduler.Line // returned, and on the way to the host as far as is known
	proved   bool
	died     bool
	ended    bool
	words    string
}

// fork is a launch under way. If the actor ends first, the process that comes
// out of it has nobody: it is killed.
type fork struct {
	mu        sync.Mutex
	process   Process // what came of it, should the actor end before it hears
	abandoned bool
}

func newChild(h *house, host scheduler.HostName, name scheduler.ChildName, typ AgentType, boss *actor.PID) *child {
	return &child{h: h, name: name, typ: typ, host: host, boss: boss, fsm: scheduler.Child{
		Name: name, Host: host, State: scheduler.Free, Since: time.Now(),
		Rules: scheduler.Rules{StartTimeout: typ.StartTimeout, Idle: h.Idle, KillAfter: h.KillAfter, Timeout: typ.Timeout},
	}}
}

func (k *child) Receive(c actor.Context) {
	now := time.Now()
	was := k.fsm.State
	switch m := c.Message().(type) {
	case *want:
		if k.fsm.State.Live() { // it had come up before its host knew
			k.h.census.giveBack(k.typ.Name, m.berth)
			break
		}
		k.berth = m.berth
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventWanted}, now)
	case *started:
		k.onStarted(c, m, now)
	case *woke:
		k.onWoke(c, now)
	case *give:
		k.received += len(m.Lines)
		if m.Returns != k.returns { // what the host is just getting back comes before these
			k.returned = append(k.returned, m.Lines...)
			break
		}
		k.handed = nil // the host has them
		k.onGive(c, m, now)
	case *free:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventFree, Order: m.Order}, now)
	case *kill:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventKill, Order: m.Order}, now)
	case *barred:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventBarred}, now)
	case *cancelJob:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventCancel, Claim: m.Claim, Now: m.Now}, now)
	case *drop:
		k.onDrop(c, m, now)
	case *tick:
		k.alarmAt = time.Time{}
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventTick}, now)
	case *leased:
		k.leaseEnd = m.until
		if left := m.until.Sub(now); k.process != nil && left > 0 {
			k.process.Lease(left)
		}
		return
	case *describe:
		k.h.tell(roleMembership, k.describe())
		return
	case *report:
		k.onReport(c, m)
		return
	case *actor.Stopping:
		k.h.gone(roleChild(k.host, k.name), c.Self())
		k.orphan()
		return
	default:
		return
	}
	k.flush(c, was)
}

// onGive takes lines, but none whose claim has become void on the way here.
func (k *child) onGive(c actor.Context, m *give, now time.Time) {
	lines := slices.DeleteFunc(m.Lines, func(l scheduler.Line) bool {
		void := !k.h.mayBegin(&l, now)
		if void {
			k.returned = append(k.returned, l)
		}
		return void
	})
	if len(lines) > 0 {
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventGiven, Lines: lines}, now)
	}
}

// step runs one event through the state machine and carries out what follows.
func (k *child) step(c actor.Context, ev scheduler.ChildEvent, now time.Time) {
	was := k.fsm.State
	next, effects := k.fsm.Step(ev, now)
	k.fsm = next
	if next.State != was {
		k.logMove(was, ev)
	}
	for i := range effects {
		k.run(c, &effects[i], now)
	}
}

func (k *child) run(c actor.Context, e *scheduler.Effect, now time.Time) {
	switch e.Kind {
	case scheduler.EffectLaunch:
		k.launch(c)
	case scheduler.EffectFeed:
		for _, l := range e.Lines {
			if l.Assigned && l.Item == 0 {
				k.owed = append(k.owed, scheduler.Record{Kind: scheduler.RecordStart, Claim: l.Claim})
			}
		}
		k.process.Feed(e.Lines)
	case scheduler.EffectRecall:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventReturned, Lines: k.process.Recall()}, now)
	case scheduler.EffectClose:
		k.process.Close()
	case scheduler.EffectKill:
		k.process.Kill()
	case scheduler.EffectSettle:
		k.settle(e.Result)
	case scheduler.EffectGiveBack:
		k.returned = append(k.returned, e.Lines...)
	case scheduler.EffectDied:
		k.died, k.words = true, e.Error
		k.deaths++
		k.h.Log.Warn("child died", "child", k.name, "host", k.host, "why", e.Error, "deaths", k.deaths)
	}
}

func (k *child) settle(r scheduler.Result) {
	if r.Outcome == scheduler.OutcomeSucceeded {
		k.done++
		k.proved = true
	} else if r.Outcome == scheduler.OutcomeFailed {
		k.proved = true // it did not die of it
	}
	if r.Line.Item != 0 {
		if k.items == nil {
			k.items = map[scheduler.JobID][]scheduler.Result{}
		}
		k.items[r.Line.Claim.Job] = append(k.items[r.Line.Claim.Job], r)
		return
	}
	k.owed = append(k.owed, judged(k.h, r))
}

// judged turns the end of an attempt into the record of what the job becomes.
func judged(h *house, r scheduler.Result) scheduler.Record {
	v := scheduler.Judge(r.Outcome, r.Line.Attempt, r.Line.MaxAttempts, r.Line.Deaths, h.Retry, luck())
	rec := scheduler.Record{Kind: scheduler.RecordSettle, Claim: r.Line.Claim, Attempt: r.Line.Attempt, Host: r.Host, Result: r, Verdict: v}
	if v.Release {
		rec.Kind = scheduler.RecordGiveBack
	}
	return rec
}

// flush sends what the message brought about: first to the ledger, then to
// those who count on the child, so that whoever hears from it can find the
// outcome owed.
func (k *child) flush(c actor.Context, was scheduler.ChildState) {
	if len(k.returned) > 0 {
		k.returns++
		k.handed = append(k.handed, k.returned...)
	}
	if len(k.owed) > 0 {
		k.h.owe(k.owed...)
		k.owed = k.owed[:0]
	}
	for job, results := range k.items {
		k.h.tell(roleMSQ(job), &answered{results})
		delete(k.items, job)
	}
	k.h.system.Root.Send(k.boss, &news{Name: k.name, State: k.fsm.State, Since: k.fsm.Since, Room: k.fsm.Room(), Received: k.received,
		Proved: k.proved, Died: k.died, Words: k.words, Returned: k.returned})
	if k.ended { // whoever waits for the process finds its outcomes owed
		k.h.processEnded(k.host, k.typ.Name)
	}
	k.returned, k.proved, k.died, k.ended, k.words = nil, false, false, false, ""
	k.arm(c)
}

// arm keeps one timer for the next deadline. An alarm that comes too early
// costs a look; moving it for each of thousands of lines would cost more.
func (k *child) arm(c actor.Context) {
	at := k.fsm.Deadline()
	if at.IsZero() || !k.alarmAt.IsZero() && !k.alarmAt.After(at) {
		return
	}
	if k.alarm != nil {
		k.alarm.Stop()
	}
	k.alarmAt = at
	self, root := c.Self(), k.h.system.Root
	k.alarm = time.AfterFunc(time.Until(at), func() { root.Send(self, &tick{}) })
}

func (k *child) launch(c actor.Context) {
	k.berth.settled.Store(true) // given back when the process has ended
	f := &fork{}
	k.fork = f
	self, h, typ, name, host := c.Self(), k.h, k.typ.Name, k.name, k.host
	h.yards[host].enter()
	h.alive.Add(1)
	go func() {
		wake := &woke{}
		p, err := h.Launcher.Launch(typ, name, host, max(time.Millisecond, h.leaseLeft(time.Now())), func() { h.system.Root.Send(self, wake) })
		if err != nil {
			h.processEnded(host, typ)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.abandoned {
			f.process = p
			h.system.Root.Send(self, &started{p, err})
		} else if err == nil {
			p.Kill()
			go func() { <-p.Done(); h.processEnded(host, typ) }()
		}
	}()
}

// processEnded counts a process out, when all that came of it has been seen to.
func (h *house) processEnded(host scheduler.HostName, typ scheduler.TypeName) {
	h.alive.Add(-1)
	h.census.died(typ)
	h.yards[host].leave()
}

func (k *child) onStarted(c actor.Context, m *started, now time.Time) {
	k.fork = nil
	if m.err != nil {
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventLaunchFailed, Error: m.err.Error()}, now)
		return
	}
	k.process = m.process
	if left := time.Until(k.leaseEnd); left > 0 {
		k.process.Lease(left)
	}
	k.step(c, scheduler.ChildEvent{Kind: scheduler.EventLaunched}, now)
	k.onWoke(c, now)
}

func (k *child) onWoke(c actor.Context, now time.Time) {
	if k.process == nil {
		return // before started was received, or a leftover of the last process
	}
	k.events = k.process.Take(k.events[:0])
	for i := range k.events {
		exited := k.events[i].Kind == scheduler.EventExited
		if exited { // what it was never given is not to blame for its end
			k.step(c, scheduler.ChildEvent{Kind: scheduler.EventReturned, Lines: k.process.Recall()}, now)
			k.process, k.ended = nil, true
		}
		k.step(c, k.events[i], now)
		if exited {
			return
		}
	}
}

// onDrop stops work on claims that somebody else owns now.
func (k *child) onDrop(c actor.Context, m *drop, now time.Time) {
	for i, l := range k.fsm.Lines {
		for _, claim := range m.Claims {
			if l.Claim != claim {
				continue
			}
			if i > 0 {
				k.step(c, scheduler.ChildEvent{Kind: scheduler.EventRecall}, now)
			} else {
				k.h.Log.Warn("stale owner: stopping a child whose job is not ours any more", "child", k.name, "job", claim.Job, "fence", claim.Fence)
				k.step(c, scheduler.ChildEvent{Kind: scheduler.EventKill, Order: scheduler.OrderStale}, now)
			}
			return
		}
	}
}

func (k *child) onReport(c actor.Context, m *report) {
	r := &reported{Of: m.Of, From: string(k.host) + "/" + string(k.name)}
	r.add(k.fsm.Lines)
	r.add(k.handed)
	k.h.system.Root.Send(m.To, r)
}

// add reports what is held of lines.
func (r *reported) add(lines []scheduler.Line) {
	for _, l := range lines {
		if l.Item != 0 {
			r.Items = append(r.Items, l.Claim)
		} else {
			r.Claims = append(r.Claims, l.Claim)
		}
	}
}

func (k *child) describe() *scheduler.ChildReport {
	r := &scheduler.ChildReport{Host: k.host, Name: k.name, Type: k.typ.Name, State: k.fsm.State, Since: k.fsm.Since, Done: k.done, Deaths: k.deaths}
	if k.process != nil {
		r.Pid = k.process.Pid()
	}
	if len(k.fsm.Lines) > 0 {
		r.Job = k.fsm.Lines[0].Claim.Job
	}
	return r
}

// orphan sees to the process when the actor ends before it: it is killed, and
// only when it is dead goes its work back, so that no job is ever in two
// processes. What the process had answered is not lost.
func (k *child) orphan() {
	if k.alarm != nil {
		k.alarm.Stop()
	}
	if k.fork != nil {
		k.fork.mu.Lock()
		k.fork.abandoned = true
		if k.process == nil {
			k.process = k.fork.process
		}
		k.fork.mu.Unlock()
	}
	h, fsm, process := k.h, k.fsm, k.process
	owed := k.owed
	if len(owed) > 0 {
		h.owe(owed...)
	}
	for job, results := range k.items {
		h.tell(roleMSQ(job), &answered{results})
	}
	for _, l := range k.returned { // in nobody's hands
		h.giveBack(l, "")
	}
	if k.ended { // it panicked over the end of its process
		defer h.processEnded(k.host, k.typ.Name)
	}
	if process == nil {
		return
	}
	lines, host, typ := fsm.Lines, k.host, k.typ.Name
	h.orphans.add(lines, 1)
	go func() {
		defer h.processEnded(host, typ)
		defer h.orphans.add(lines, -1)
		process.Kill()
		<-process.Done()
		now := time.Now()
		if fsm.State == scheduler.Busy || fsm.State == scheduler.Freeing {
			fsm.Order = scheduler.OrderReplaced
			fsm.State = scheduler.Freeing
		}
		last := process.Take(nil)
		returned := scheduler.ChildEvent{Kind: scheduler.EventReturned, Lines: process.Recall()}
		for _, ev := range append([]scheduler.ChildEvent{returned}, last...) {
			var effects []scheduler.Effect
			fsm, effects = fsm.Step(ev, now)
			for _, e := range effects {
				switch {
				case e.Kind == scheduler.EffectSettle && e.Result.Line.Item == 0:
					h.owe(judged(h, e.Result))
				case e.Kind == scheduler.EffectSettle:
					h.tell(roleMSQ(e.Result.Line.Claim.Job), &answered{[]scheduler.Result{e.Result}})
				case e.Kind == scheduler.EffectGiveBack:
					for _, l := range e.Lines {
						h.giveBack(l, "")
					}
				}
			}
		}
	}()
}

// giveBack returns a line to where it came from: the queue, or its msq.
func (h *house) giveBack(l scheduler.Line, why string) {
	if l.Item != 0 {
		h.tell(roleMSQ(l.Claim.Job), &unplaced{[]scheduler.Line{l}})
		return
	}
	h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: l.Claim, Attempt: l.Attempt, Why: why})
}

func (k *child) logMove(was scheduler.ChildState, ev scheduler.ChildEvent) {
	now := k.fsm.State
	level := k.h.Log.Info
	if was == scheduler.ChildReady && now == scheduler.Busy || was == scheduler.Busy && now == scheduler.ChildReady {
		return // thousands a second; a debug level that nobody reads still costs
	}
	if was == scheduler.Free || now == scheduler.Prep || now == scheduler.Spawned {
		level = k.h.Log.Debug
	}
	reason := ev.Kind.String()
	if k.fsm.Order != scheduler.OrderNone {
		reason += ": " + k.fsm.Order.String()
	}
	job := scheduler.JobID(0)
	if len(k.fsm.Lines) > 0 {
		job = k.fsm.Lines[0].Claim.Job
	}
	level("child", "child", k.name, "host", k.host, "from", was.String(), "to", now.String(), "reason", reason, "job", job)
}
