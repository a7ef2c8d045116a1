package host

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/lasting"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// child owns one process: it feeds scheduler.Child with what happens to it and
// runs the effects. While the process is quick, events and lines go through
// here in batches; the process itself keeps to one line at a time.
type child struct {
	inst   *Ports
	name   scheduler.ChildName
	typ    port.AgentType
	host   scheduler.HostName
	retry  scheduler.RetryPolicy
	parent *actor.PID
	// owned by Receive
	fsm         scheduler.Child
	process     port.Process
	launched    time.Time
	up          time.Time // when it said its first OK
	fork        *fork
	reservation *lasting.Reservation
	events      []scheduler.ChildEvent
	acked       int
	returns     int // how often something went back to the host
	done        int64
	deaths      int64
	kept        kept
	last        scheduler.ChildReport // when its process ended, or did not come up
	trace       string                // and of what it had in hand then
	alarm       *time.Timer
	alarmAt     time.Time
	leaseEnd    time.Time

	// gathered during one message, sent at its end
	owed      []scheduler.Record
	items     map[scheduler.JobID][]scheduler.Result
	returned  []scheduler.Line
	handed    []scheduler.Line // returned, and on the way to the host as far as is known
	healthy   bool
	rose      bool // it has said its first OK
	died      bool
	notUp     bool // before it had
	unguarded bool // its guard died
	ended     bool
	blame     scheduler.Account
	cut       string // why the line to its host broke
}

func newChild(
	inst *Ports, host scheduler.HostName, name scheduler.ChildName, typ port.AgentType, parent *actor.PID,
) *child {
	retry := inst.Retry(typ.Name)
	return &child{inst: inst, name: name, typ: typ, host: host, retry: retry, parent: parent, fsm: scheduler.Child{
		Name: name, Host: host, State: scheduler.Free, Since: time.Now(),
		Rules: rulesOf(inst, typ),
	}}
}

func (k *child) Receive(c actor.Context) {
	now := time.Now()
	was := k.fsm.State
	switch m := c.Message().(type) {
	case *want:
		k.onWant(c, m, now)
	case *started:
		k.onStarted(c, m, now)
	case *woke:
		k.onWoke(c, now)
	case *assign:
		k.onAssign(c, m, now)
	case *dismiss:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventDismiss, Stop: m.Stop}, now)
	case *kill:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventKill, Stop: m.Stop}, now)
	case *reruled:
		k.rerule(m.typ)
		return
	case *kept:
		k.kept = *m
		return
	case *tripped:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventTripped}, now)
	case *message.CancelJob:
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventCancel, Claim: m.Claim, Now: m.Now}, now)
	case *message.Drop:
		k.onDrop(c, m, now)
	case *tick:
		k.alarmAt = time.Time{}
		k.onWoke(c, now) // it may have answered in time
		k.step(c, scheduler.ChildEvent{Kind: scheduler.EventTick}, now)
	case *message.Leased:
		k.leaseEnd = m.Until
		if left := m.Until.Sub(now); k.process != nil && left > 0 {
			k.process.Lease(left)
		}
		return
	case *message.Describe:
		if r := k.describe(); !m.Tell(r) {
			k.inst.Tell(message.RoleMembership, r)
		}
		return
	case *message.Report:
		k.onReport(c, m)
		return
	case *actor.Stopping:
		k.inst.Forget(message.RoleChild(k.host, k.name), c.Self())
		k.orphan()
		return
	default:
		return
	}
	k.flush(c, was)
}

func (k *child) onWant(c actor.Context, m *want, now time.Time) {
	if k.fsm.State.Live() { // it had come up before its host knew
		k.inst.Quotas.Of(k.typ.Name).Release(m.reservation)
		return
	}
	k.reservation = m.reservation
	k.step(c, scheduler.ChildEvent{Kind: scheduler.EventWanted}, now)
}

// onAssign takes lines, but none whose claim has become void on the way here.
func (k *child) onAssign(c actor.Context, m *assign, now time.Time) {
	k.acked += len(m.Lines)
	if m.Returns != k.returns { // what the host is just getting back comes before these
		k.returned = append(k.returned, m.Lines...)
		return
	}
	k.handed = nil // the host has them
	lines := slices.DeleteFunc(m.Lines, func(l scheduler.Line) bool {
		void := !k.inst.MayBegin(&l, now)
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
	job, trace := inHand(k.fsm.Lines) // when it moves they may be gone
	next, effects := k.fsm.Step(ev, now)
	k.fsm = next
	if next.State != was {
		if len(next.Lines) > 0 {
			job, trace = inHand(next.Lines)
		}
		k.logMove(was, ev, job, trace)
		if was == scheduler.Spawned && ev.Kind == scheduler.EventReady {
			k.rose, k.up = true, now
			if k.inst.Observer != nil {
				k.inst.Observer.Up(k.host, k.name, k.typ.Name, k.launched, now)
			}
		}
	}
	for i := range effects {
		k.run(c, &effects[i], now)
	}
}

func (k *child) run(c actor.Context, e *scheduler.Effect, now time.Time) {
	switch e.Kind {
	case scheduler.EffectLaunch:
		k.launched = now
		k.launch(c)
	case scheduler.EffectFeed:
		for _, l := range e.Lines {
			if l.Assigned && l.Item == 0 {
				start := scheduler.Record{Kind: scheduler.RecordStart, Claim: l.Claim, Attempt: l.Attempt, Host: k.host,
					CreatedAt: l.Submitted(), Given: now}
				if o := l.Origin; o != nil && k.up.After(o.Claimed) {
					start.Launched = k.launched
				}
				k.owed = append(k.owed, start)
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
	case scheduler.EffectUnguarded:
		k.unguarded, k.blame = true, e.Account
		k.inst.Log.Warn(
			"the guard of a child died",
			tree.Traced(k.trace, "child", k.name, "host", k.host, "why", e.Account.Reason, "job", k.last.Job, "pid",
				k.last.Pid)...)
	case scheduler.EffectDied:
		k.died, k.notUp, k.blame = true, e.NotUp, e.Account
		k.deaths++
		if k.inst.Observer != nil {
			k.inst.Observer.Died(k.typ.Name)
		}
		last := k.last // what it was doing
		k.inst.Log.Warn(
			"child died",
			tree.Traced(k.trace, "child", k.name, "host", k.host, "why", e.Account.Told(), "deaths", k.deaths, "state",
				last.State.String(), "for", now.Sub(last.Since), "job", last.Job, "pid", last.Pid, "done", last.Done)...)
	}
}

// flush sends what the message brought about: first to the ledger, then to the actors that count on the child. So a
// receiver of its messages finds the outcome owed.
func (k *child) flush(c actor.Context, was scheduler.ChildState) {
	if len(k.returned) > 0 {
		k.returns++
		k.handed = append(k.handed, k.returned...)
	}
	if len(k.owed) > 0 {
		k.inst.Outbox.Owe(k.owed...)
		clear(k.owed) // each holds the list that its line is in
		k.owed = k.owed[:0]
	}
	for job, results := range k.items {
		if k.inst.Observer != nil {
			k.inst.Observer.Ran(results)
		}
		k.inst.Tell(message.RoleMSQ(job), &message.Answered{Results: results})
		delete(k.items, job)
	}
	k.inst.Send(k.parent, &news{
		Name:      k.name,
		State:     k.fsm.State,
		Since:     k.fsm.Since,
		Room:      k.fsm.Room(),
		Held:      min(1, len(k.fsm.Lines)) + k.fsm.Behind(),
		Acked:     k.acked,
		Healthy:   k.healthy,
		Rose:      k.rose,
		LineTime:  k.fsm.LineTime,
		Died:      k.died,
		NotUp:     k.notUp,
		Unguarded: k.unguarded,
		Blame:     k.blame,
		Cut:       k.cut,
		Returned:  k.returned,
	})
	if k.ended { // an actor that waits for the process finds its outcomes owed
		k.inst.processEnded(k.host, k.typ.Name)
	}
	k.returned, k.healthy, k.rose, k.died, k.notUp, k.unguarded, k.ended, k.blame, k.cut = nil, false, false, false, false,
		false, false, scheduler.Account{}, ""
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
	self, root := c.Self(), k.inst.System.Root
	k.alarm = time.AfterFunc(time.Until(at), func() { root.Send(self, &tick{}) })
}

func (k *child) onWoke(c actor.Context, now time.Time) {
	if k.process == nil {
		return // before started was received, or a leftover of the last process
	}
	k.events = k.process.Take(k.events[:0])
	for i := range k.events {
		exited := k.events[i].Kind == scheduler.EventExited
		if exited { // what it was never given is not to blame for its end
			if k.last, k.trace = *k.describe(), ""; len(k.fsm.Lines) > 0 {
				k.trace = k.fsm.Lines[0].Trace
			}
			k.step(c, scheduler.ChildEvent{Kind: scheduler.EventReturned, Lines: k.process.Recall()}, now)
			k.process, k.ended = nil, true
			if k.events[i].Stop == scheduler.StopUnreached && !k.fsm.Stop.Ours() {
				k.cut = k.events[i].Error
			}
		}
		k.step(c, k.events[i], now)
		if exited {
			return
		}
	}
}

// onDrop stops work on claims that now belong to another owner, or end here.
func (k *child) onDrop(c actor.Context, m *message.Drop, now time.Time) {
	for i, l := range k.fsm.Lines {
		for _, claim := range m.Claims {
			if l.Claim != claim {
				continue
			}
			if i >= max(1, k.fsm.InHand) {
				k.step(c, scheduler.ChildEvent{Kind: scheduler.EventRecall}, now)
			} else {
				k.sayDropped(m, l.Trace, claim)
				k.step(c, scheduler.ChildEvent{Kind: scheduler.EventKill, Stop: scheduler.StopStale}, now)
			}
			return
		}
	}
}

func (k *child) sayDropped(m *message.Drop, trace string, claim scheduler.Claim) {
	about := tree.Traced(trace, "child", k.name, "job", claim.Job, "fence", claim.Fence)
	if m.Ends != "" {
		k.inst.Log.Info("stopping a child: its job ends here", append(about, "because", m.Ends)...)
		return
	}
	k.inst.Log.Warn("stale owner: stopping a child whose job is not ours any more", about...)
}

// onReport says what is held here. Lines given back were reported by the host, if it knew of them when it answered:
// since then another child may have them, or none.
func (k *child) onReport(c actor.Context, m *message.Report) {
	if m.Returns == k.returns {
		k.handed = nil
	}
	r := &message.Reported{Of: m.Of, From: string(k.host) + "/" + string(k.name)}
	r.Add(k.fsm.Lines)
	r.Add(k.handed)
	k.inst.Send(m.To, r)
}

func (k *child) describe() *scheduler.ChildReport {
	r := &scheduler.ChildReport{
		Host:   k.host,
		Name:   k.name,
		Type:   k.typ.Name,
		State:  k.fsm.State,
		Since:  k.fsm.Since,
		Done:   k.done,
		Deaths: k.deaths,
	}
	if k.process != nil {
		r.Pid = k.process.Pid()
	}
	if k.fsm.State == scheduler.ChildReady {
		r.Kept = k.kept.Kept
	}
	if len(k.fsm.Lines) > 0 {
		r.Job = k.fsm.Lines[0].Claim.Job
	}
	return r
}

// inHand is the first of a child's lines, as far as a log line tells of it.
func inHand(lines []scheduler.Line) (job scheduler.JobID, trace string) {
	if len(lines) > 0 {
		return lines[0].Job, lines[0].Trace
	}
	return 0, ""
}

func (k *child) logMove(was scheduler.ChildState, ev scheduler.ChildEvent, job scheduler.JobID, trace string) {
	now := k.fsm.State
	if was == scheduler.ChildReady && now == scheduler.Busy || was == scheduler.Busy && now == scheduler.ChildReady {
		return // thousands a second; an unread debug level still costs
	}
	reason := ev.Kind.String()
	if k.fsm.Stop != scheduler.StopNone {
		reason += ": " + k.fsm.Stop.String()
	}
	args := []any{"child", k.name, "host", k.host, "from", was.String(), "to", now.String(), "reason", reason}
	if job != 0 { // it had or has one
		args = append(args, "job", job)
	}
	k.inst.Log.Debug("child", tree.Traced(trace, args...)...)
}
