// Package member keeps this instance alive in the eyes of the others, and takes
// over from those that are dead.
package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// membership keeps this instance alive in the eyes of the others, and ends
// those that are proven dead: their heartbeat is older than the lag they
// promised, on the database's clock; or they ran on this machine and their
// process is gone.
type membership struct {
	Ports
	// owned by Receive
	busy      bool // a beat is under way
	fenced    bool
	beats     *time.Timer
	fence     *time.Timer
	children  map[string]*scheduler.ChildReport // as they last told
	shown     map[string]scheduler.ChildReport  // as the database has them
	hit       scheduler.AllBounds               // as hosts last told
	shownHit  scheduler.AllBounds               // as the database has it
	troubles  map[scheduler.TypeName]map[string]scheduler.Account
	changed   map[scheduler.TypeName]bool
	hosts     map[scheduler.HostName]*message.HostState // as they last told
	newHosts  map[scheduler.HostName]bool               // of these, what the database does not have yet
	marking   map[scheduler.InstanceID]bool
	reshaped  bool // agents and hosts have changed, and the database does not know
	told      told
	last      scheduler.Beat // the last beat that went well
	lastAsked time.Time      // and when it was sent
	reborn    bool           // an earlier self's row is gone
	ctx       context.Context
	cancel    context.CancelFunc
}

// Messages of membership to itself.
type (
	beatDue struct{}
	beaten  struct {
		asked    time.Time // before the statement was sent: the lease counts from here
		joined   bool
		beat     scheduler.Beat
		suspects []scheduler.Suspect
		reshaped bool  // others were to be told of agents and hosts
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

func New(h Ports) *membership {
	return &membership{
		Ports:    h,
		children: map[string]*scheduler.ChildReport{},
		hit:      scheduler.AllBounds{},
		troubles: map[scheduler.TypeName]map[string]scheduler.Account{},
		changed:  map[scheduler.TypeName]bool{},
		hosts:    map[scheduler.HostName]*message.HostState{},
		newHosts: map[scheduler.HostName]bool{},
		marking:  map[scheduler.InstanceID]bool{},
	}
}

func (m *membership) Receive(c actor.Context) {
	switch msg := c.Message().(type) {
	case *actor.Started:
		m.ctx, m.cancel = context.WithCancel(context.Background())
		m.fenced = m.LeaseLeft(time.Now()) <= 0
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
	case *scheduler.HostReport:
		m.hit[msg.Name] = msg.Bounds
	case *message.Trouble:
		m.onTrouble(msg)
	case *message.Death:
		m.told.died(msg)
	case *message.Reshaped:
		m.reshaped = true
		if m.ID() != 0 {
			m.beat(c)
		}
	case *message.Draining:
		m.told.draining = msg
		if m.ID() != 0 {
			m.beat(c)
		}
	case *message.HostState:
		m.hosts[msg.Host], m.newHosts[msg.Host] = msg, true
		if m.ID() != 0 { // people wait to see it; it is rare
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
	h, ctx, self := m.Ports, m.ctx, c.Self()
	children, hit := m.takeChildren(), m.shownHit
	troubles := m.takeTroubles()
	hosts := m.takeHosts()
	var rest told
	reshaped := m.reshaped
	if m.reshaped = false; h.ID() != 0 {
		rest = m.told.take()
	}
	go func() {
		b := &beaten{asked: time.Now(), reshaped: reshaped}
		if h.ID() == 0 {
			var id scheduler.InstanceID
			if id, b.err = h.Registry.Register(ctx); b.err == nil {
				h.Become(id)
				h.Serves(id)
				b.joined = true
				b.beat, _ = h.Registry.Beat(ctx, id) // the first to be compared with; should it fail, the next one is
			}
		} else {
			b.beat, b.err = h.Registry.Beat(ctx, h.ID())
		}
		if b.err == nil && reshaped && !b.joined {
			b.err = h.reintroduce(ctx)
		}
		if b.err == nil {
			b.suspects, b.err = h.Registry.Suspects(ctx, h.ID())
		}
		if b.err == nil || h.ID() != 0 && b.unbeaten() {
			b.untold = errors.Join(h.publish(ctx, children, hit, troubles, hosts), rest.publish(ctx, h))
		}
		h.Send(self, b)
	}()
}

// reintroduce tells others of the agents and hosts that there are now.
func (h Ports) reintroduce(ctx context.Context) error {
	if registry, can := h.Registry.(port.Introducer); can {
		return registry.Reintroduce(ctx, h.ID())
	}
	return nil
}

// lease gives the times of this instance's lease.
func (h Ports) lease() scheduler.Lease { return scheduler.Lease{Heartbeat: h.Heartbeat, Lag: h.Lag} }

// publish tells others about this instance. What fails is told once more with
// the next heartbeat; it costs no lease.
func (h Ports) publish(
	ctx context.Context, children []scheduler.ChildReport, hit scheduler.AllBounds,
	troubles map[scheduler.TypeName]map[string]scheduler.Account, hosts []*message.HostState,
) error {
	if children != nil {
		if err := h.Reports.Children(ctx, h.ID(), children, hit, time.Now()); err != nil {
			return err
		}
	}
	for typ, hosts := range troubles {
		if err := h.Reports.Trouble(ctx, h.ID(), typ, hosts); err != nil {
			return err
		}
	}
	for _, s := range hosts {
		if err := h.HostStates.HostState(ctx, h.ID(), s.Host, s.State, s.Message); err != nil {
			return err
		}
	}
	return nil
}

func (m *membership) onBeaten(c actor.Context, b *beaten) {
	m.busy = false
	self := c.Self()
	again := m.lease().Next(b.err != nil)
	m.Suffers(b.err)
	switch {
	case errors.Is(b.err, scheduler.ErrGone):
		m.Log.Error(
			"this instance was taken for dead: it stopped all its jobs, and starts again under another id", "instance",
			m.ID())
		m.SetLease(time.Now())
		m.onFenceDue(c)
		m.Become(0)
		m.reborn = true
		again = 100 * time.Millisecond
	case b.err != nil:
		m.Log.Warn("membership: heartbeat failed", "error", b.err, "lease_left", m.LeaseLeft(time.Now()))
		m.unpublished() // some may not have got there
		if b.unbeaten() {
			m.Tell(message.RoleHosts, &message.Describe{})
		}
		m.reshaped = m.reshaped || b.reshaped
	default:
		until := m.lease().Until(b.asked)
		m.SetLease(until)
		left := time.Until(until)
		m.Tell(message.RoleHosts, &message.Leased{Until: until})
		if !b.joined {
			m.Missed.Add(1)
		}
		m.compare(b)
		if b.joined || m.fenced {
			if b.joined {
				m.unpublished() // their rows are new
				m.Log.Info("instance registered", "instance", m.ID())
			} else {
				m.Log.Info("the lease is back: new work begins", "heartbeat_took", time.Since(b.asked).Round(time.Millisecond),
					"lag", m.Lag)
			}
			m.fenced = false
			m.Tell(message.RoleDispatcher, &message.Joined{})
			m.Tell(message.RoleMaintenance, &message.Joined{})
		}
		if m.fence != nil {
			m.fence.Stop()
		}
		m.fence = m.Later(self, left, &fenceDue{})
		m.consider(c, b.suspects)
		m.Tell(message.RoleHosts, &message.Describe{})
		if b.untold != nil {
			m.Log.Warn("membership: cannot tell others about this instance yet", "error", b.untold)
			m.unpublished()
		}
	}
	m.beats = m.Later(self, again, &beatDue{})
}

// onFenceDue: others may take us for dead soon. What runs here must be dead by then.
func (m *membership) onFenceDue(actor.Context) {
	if m.fenced || m.LeaseLeft(time.Now()) > 0 {
		return
	}
	m.fenced = true
	m.Log.Error("lease lost: the database has not heard from this instance for too long; what runs is stopped", "lag",
		m.Lag)
	m.Tell(message.RoleDispatcher, &message.Fenced{})
	m.Tell(message.RoleHosts, &message.Fenced{})
	m.Tell(message.RoleMSQs, &message.DrainMSQs{Done: make(chan string, 1)})
}

// consider buries the dead among the others, and takes this instance's part of
// what is divided among the living.
func (m *membership) consider(c actor.Context, suspects []scheduler.Suspect) {
	if m.Quotas.Divide(m.ID(), suspects) {
		m.Tell(message.RoleHosts, &message.Divided{})
	}
	for _, s := range suspects {
		if m.marking[s.ID] {
			continue
		}
		gone := m.Reaper.Dead(s)
		if !gone && !s.Silent {
			continue
		}
		m.marking[s.ID] = true
		h, ctx, self := m.Ports, m.ctx, c.Self()
		go func() {
			b := &markedGone{id: s.ID, name: s.Name, why: "no heartbeat for longer than its lag", proven: gone}
			if gone {
				b.why = fmt.Sprintf("its process %d is gone", s.Pid)
				// Its agents die with it; that they have is made sure of first, so
				// that no job is in two processes.
				b.reaped = h.Reaper.Reap(ctx, s)
			}
			if b.reaped == nil {
				b.did, b.jobs, b.err = h.Reaper.MarkGone(ctx, s.ID, b.why, gone)
			}
			h.Send(self, b)
		}()
	}
}

func (m *membership) onMarkedGone(b *markedGone) {
	delete(m.marking, b.id)
	switch {
	case b.reaped != nil:
		m.Log.Error("cannot end what a dead instance left running; its jobs wait", "instance", b.id, "error", b.reaped)
	case b.err != nil:
		m.Log.Warn("cannot take over from a dead instance yet", "instance", b.id, "error", b.err)
	case b.did:
		m.Log.Warn("took over from a dead instance", "instance", b.id, "name", b.name, "because", b.why, "jobs", b.jobs)
		m.Ring(&message.Rang{})
	}
}

// takeChildren returns what has to be published of the children, nil for nothing new. Bounds (shownHit) go with them.
func (m *membership) takeChildren() []scheduler.ChildReport {
	all := map[string]scheduler.ChildReport{}
	for name, r := range m.children {
		if r.State.Live() || r.State == scheduler.Fail {
			all[name] = *r
		}
	}
	same := func(a, b scheduler.ChildReport) bool { return a == b }
	news := !maps.EqualFunc(m.hit, m.shownHit, maps.Equal[scheduler.HostBounds, scheduler.HostBounds])
	if !news && maps.EqualFunc(all, m.shown, same) || m.ID() == 0 {
		return nil
	}
	m.shown, m.shownHit = all, maps.Clone(m.hit)
	list := make([]scheduler.ChildReport, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

func (m *membership) onTrouble(t *message.Trouble) {
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
	if len(m.changed) == 0 || m.ID() == 0 {
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
func (m *membership) takeHosts() (list []*message.HostState) {
	if m.ID() == 0 {
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
	m.shown, m.shownHit = nil, nil
	m.told.retry()
	for typ := range m.troubles {
		m.changed[typ] = true
	}
	for name := range m.hosts {
		m.newHosts[name] = true
	}
}
