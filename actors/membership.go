package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// membership keeps this instance alive in the eyes of the others, and ends
// those that are proven dead: their heartbeat is older than the lag they
// promised, on the database's clock; or they ran on this machine and their
// process is gone.
type membership struct {
	inst *instance
	// owned by Receive
	busy     bool // a beat is under way
	fenced   bool
	beats    *time.Timer
	fence    *time.Timer
	children map[string]*scheduler.ChildReport // as they last told
	shown    map[string]scheduler.ChildReport  // as the database has them
	troubles map[scheduler.TypeName]map[string]scheduler.Account
	changed  map[scheduler.TypeName]bool
	hosts    map[scheduler.HostName]*hostState // as they last told
	newHosts map[scheduler.HostName]bool       // of these, what the database does not have yet
	marking  map[scheduler.InstanceID]bool
	told     told
	ctx      context.Context
	cancel   context.CancelFunc
}

// trouble: why no child of a type comes up on a host; empty: all is well. From hosts.
type trouble struct {
	Type scheduler.TypeName
	Host scheduler.HostName
	Why  scheduler.Account
}

// Messages of membership to itself.
type (
	beatDue struct{}
	beaten  struct {
		asked    time.Time // before the statement was sent: the lease counts from here
		joined   bool
		suspects []scheduler.Suspect
		untold   error // what others were to be told of us
		err      error
	}
	fenceDue   struct{}
	markedGone struct {
		id     scheduler.InstanceID
		name   string
		why    string
		did    bool
		jobs   int
		err    error
		reaped error
		proven bool
	}
)

func newMembership(inst *instance) *membership {
	return &membership{
		inst:     inst,
		children: map[string]*scheduler.ChildReport{},
		troubles: map[scheduler.TypeName]map[string]scheduler.Account{},
		changed:  map[scheduler.TypeName]bool{},
		hosts:    map[scheduler.HostName]*hostState{},
		newHosts: map[scheduler.HostName]bool{},
		marking:  map[scheduler.InstanceID]bool{},
	}
}

func (m *membership) Receive(c actor.Context) {
	switch msg := c.Message().(type) {
	case *actor.Started:
		m.ctx, m.cancel = context.WithCancel(context.Background())
		m.fenced = m.inst.leaseLeft(time.Now()) <= 0
		m.beat(c)
	case *beatDue:
		m.beat(c)
	case *beaten:
		m.onBeaten(c, msg)
	case *fenceDue:
		m.onFenceDue(c)
	case *markedGone:
		m.onMarkedGone(msg)
	case *scheduler.ChildReport:
		m.children[string(msg.Host)+"/"+string(msg.Name)] = msg
	case *trouble:
		m.onTrouble(msg)
	case *death:
		m.told.died(msg)
	case *draining:
		m.told.draining = msg
		if m.inst.id() != 0 {
			m.beat(c)
		}
	case *hostState:
		m.hosts[msg.Host], m.newHosts[msg.Host] = msg, true
		if m.inst.id() != 0 { // people wait to see it; it is rare
			m.beat(c)
		}
	case *actor.Stopping:
		m.cancel()
		for _, t := range []*time.Timer{m.beats, m.fence} {
			if t != nil {
				t.Stop()
			}
		}
	}
}

// beat registers, or says that we live; then it looks at the others.
func (m *membership) beat(c actor.Context) {
	if m.busy {
		return
	}
	m.busy = true
	if m.beats != nil {
		m.beats.Stop() // another is set when this one is done
	}
	inst, ctx, self := m.inst, m.ctx, c.Self()
	children := m.takeChildren()
	troubles := m.takeTroubles()
	hosts := m.takeHosts()
	var rest told
	if inst.id() != 0 {
		rest = m.told.take()
	}
	go func() {
		b := &beaten{asked: time.Now()}
		if inst.id() == 0 {
			var id scheduler.InstanceID
			if id, b.err = inst.Registry.Register(ctx); b.err == nil {
				inst.me.Store(int64(id))
				inst.Launcher.Serves(id)
				b.joined = true
			}
		} else {
			b.err = inst.Registry.Beat(ctx, inst.id())
		}
		if b.err == nil {
			b.suspects, b.err = inst.Registry.Suspects(ctx, inst.id())
		}
		if b.err == nil {
			b.untold = errors.Join(inst.publish(ctx, children, troubles, hosts), rest.publish(ctx, inst))
		}
		inst.system.Root.Send(self, b)
	}()
}

// publish tells others about this instance. What fails is told once more with
// the next heartbeat; it costs no lease.
func (inst *instance) publish(
	ctx context.Context, children []scheduler.ChildReport, troubles map[scheduler.TypeName]map[string]scheduler.Account,
	hosts []*hostState,
) error {
	if children != nil {
		if err := inst.Notices.Children(ctx, inst.id(), children, time.Now()); err != nil {
			return err
		}
	}
	for typ, hosts := range troubles {
		if err := inst.Notices.Trouble(ctx, inst.id(), typ, hosts); err != nil {
			return err
		}
	}
	for _, s := range hosts {
		if err := inst.HostStates.HostState(ctx, inst.id(), s.Host, s.State, s.Message); err != nil {
			return err
		}
	}
	return nil
}

func (m *membership) onBeaten(c actor.Context, b *beaten) {
	m.busy = false
	self := c.Self()
	again := m.inst.Heartbeat
	switch {
	case errors.Is(b.err, scheduler.ErrGone):
		m.inst.Log.Error(
			"this instance was taken for dead: everything it ran is stopped, and it starts anew under another id", "instance",
			m.inst.id())
		m.inst.setLease(time.Now())
		m.onFenceDue(c)
		m.inst.me.Store(0)
		again = 100 * time.Millisecond
	case b.err != nil:
		m.inst.Log.Warn("membership: heartbeat failed", "error", b.err, "lease_left", m.inst.leaseLeft(time.Now()))
		again = min(again, 500*time.Millisecond)
		m.unpublished() // some may not have got there
	default:
		until := b.asked.Add(m.inst.Lag - m.inst.margin())
		m.inst.setLease(until)
		left := time.Until(until)
		m.inst.tell(roleHosts, &leased{until})
		if !b.joined {
			m.inst.missedRings.Add(1)
		}
		if b.joined || m.fenced {
			if b.joined {
				m.unpublished() // their rows are new
				m.inst.Log.Info("instance registered", "instance", m.inst.id())
			}
			m.fenced = false
			m.inst.tell(roleDispatcher, &joined{})
			m.inst.tell(roleMaintenance, &joined{})
		}
		if m.fence != nil {
			m.fence.Stop()
		}
		m.fence = time.AfterFunc(left, func() { m.inst.system.Root.Send(self, &fenceDue{}) })
		m.consider(c, b.suspects)
		m.inst.tell(roleHosts, &describe{})
		if b.untold != nil {
			m.inst.Log.Warn("membership: cannot tell others about this instance yet", "error", b.untold)
			m.unpublished()
		}
	}
	m.beats = time.AfterFunc(again, func() { m.inst.system.Root.Send(self, &beatDue{}) })
}

// onFenceDue: others may take us for dead soon. What runs here must be dead by then.
func (m *membership) onFenceDue(actor.Context) {
	if m.fenced || m.inst.leaseLeft(time.Now()) > 0 {
		return
	}
	m.fenced = true
	m.inst.Log.Error("lease lost: the database has not heard from this instance for too long; what runs is stopped", "lag",
		m.inst.Lag)
	m.inst.tell(roleDispatcher, &fenced{})
	m.inst.tell(roleHosts, &fenced{})
	m.inst.tell(roleMSQs, &drainMSQs{done: make(chan string, 1)})
}

// consider buries the dead among the others, and takes this instance's part of
// what is divided among the living.
func (m *membership) consider(c actor.Context, suspects []scheduler.Suspect) {
	if m.inst.quotas.divide(m.inst.id(), suspects) {
		m.inst.tell(roleHosts, &divided{})
	}
	for _, s := range suspects {
		if m.marking[s.ID] {
			continue
		}
		gone := m.inst.Reaper.Dead(s)
		if !gone && !s.Silent {
			continue
		}
		m.marking[s.ID] = true
		inst, ctx, self := m.inst, m.ctx, c.Self()
		go func() {
			b := &markedGone{id: s.ID, name: s.Name, why: "no heartbeat for longer than its lag", proven: gone}
			if gone {
				b.why = fmt.Sprintf("its process %d is gone", s.Pid)
				// Its agents die with it; that they have is made sure of first, so
				// that no job is in two processes.
				b.reaped = inst.Reaper.Reap(ctx, s)
			}
			if b.reaped == nil {
				b.did, b.jobs, b.err = inst.Reaper.MarkGone(ctx, s.ID, b.why, gone)
			}
			inst.system.Root.Send(self, b)
		}()
	}
}

func (m *membership) onMarkedGone(b *markedGone) {
	delete(m.marking, b.id)
	switch {
	case b.reaped != nil:
		m.inst.Log.Error("cannot end what a dead instance left running; its jobs wait", "instance", b.id, "error", b.reaped)
	case b.err != nil:
		m.inst.Log.Warn("cannot take over from a dead instance yet", "instance", b.id, "error", b.err)
	case b.did:
		m.inst.Log.Warn("took over from a dead instance", "instance", b.id, "name", b.name, "because", b.why, "jobs", b.jobs)
		m.inst.ring(&rang{})
	}
}

// takeChildren returns what has to be published of the children, nil for nothing new.
func (m *membership) takeChildren() []scheduler.ChildReport {
	all := map[string]scheduler.ChildReport{}
	for name, r := range m.children {
		if r.State.Live() || r.State == scheduler.Fail {
			all[name] = *r
		}
	}
	same := func(a, b scheduler.ChildReport) bool { return a == b }
	if maps.EqualFunc(all, m.shown, same) || m.inst.id() == 0 {
		return nil
	}
	m.shown = all
	list := make([]scheduler.ChildReport, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

func (m *membership) onTrouble(t *trouble) {
	hosts := m.troubles[t.Type]
	if hosts == nil {
		hosts = map[string]scheduler.Account{}
		m.troubles[t.Type] = hosts
	}
	if t.Why == (scheduler.Account{}) {
		delete(hosts, string(t.Host))
	} else {
		hosts[string(t.Host)] = t.Why
	}
	m.changed[t.Type] = true
}

func (m *membership) takeTroubles() map[scheduler.TypeName]map[string]scheduler.Account {
	if len(m.changed) == 0 || m.inst.id() == 0 {
		return nil
	}
	out := map[scheduler.TypeName]map[string]scheduler.Account{}
	for typ := range m.changed {
		out[typ] = maps.Clone(m.troubles[typ])
	}
	clear(m.changed)
	return out
}

// takeHosts returns what has to be published of the hosts.
func (m *membership) takeHosts() (list []*hostState) {
	if m.inst.id() == 0 {
		return nil
	}
	for name := range m.newHosts {
		list = append(list, m.hosts[name])
	}
	clear(m.newHosts)
	return list
}

// unpublished has everything told once more with the next heartbeat.
func (m *membership) unpublished() {
	m.shown = nil
	m.told.retry()
	for typ := range m.troubles {
		m.changed[typ] = true
	}
	for name := range m.hosts {
		m.newHosts[name] = true
	}
}
