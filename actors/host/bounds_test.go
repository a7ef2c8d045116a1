package host

import (
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// A host tells which of its types start nothing more, and why.
func TestDescribe_TellsWhichBoundsAreHit(t *testing.T) {
	t.Parallel()
	agents := []port.AgentType{{Name: "a"}, {Name: "few", Max: 1}, {Name: "none", MaxPerHost: 1}}
	h := &Ports{Live: &atomic.Pointer[port.Setup]{}, Quotas: lasting.NewQuotas(agents)}
	h.Live.Store(&port.Setup{Agents: agents})
	h.Quotas.Of("few").Alive.Store(1) // on another host
	s := New(h, port.HostSpec{Name: "x", Slots: 2})
	up := func(typ scheduler.TypeName, state scheduler.ChildState) {
		s.types[typ].children = append(s.types[typ].children, &childHandle{pool: s.types[typ], state: state, room: 1})
	}
	for _, pool := range s.pools { // there is no bar for any of them
		pool.respawn = pool.respawn.SaidOK()
	}
	check := func(want scheduler.HostBounds) {
		t.Helper()
		if got := s.describe(time.Now()).Bounds; !maps.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(scheduler.HostBounds{"few": "no_room: max is 1, and there are 1"})
	up("none", scheduler.Busy)
	check(scheduler.HostBounds{"few": "no_room: max is 1, and there are 1",
		"none": "no_room: max_per_host is 1, and x has 1"})
	up("a", scheduler.ChildReady)
	check(scheduler.HostBounds{"": "no_room: x has 2 of 2 slots taken: 1 by a, 1 by none", "a": ""})
}
