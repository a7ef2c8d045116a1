package engine

import (
	"maps"
	"testing"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// An engine tells that its type has as many jobs as it may have.
func TestDescribe_TellsWhichBoundsAreHit(t *testing.T) {
	t.Parallel()
	agents := []port.AgentType{{Name: "few", Max: 1}}
	h := &Ports{Agents: agents, Quotas: lasting.NewQuotas(agents)}
	h.Quotas.Of("few").Alive.Store(1) // on another host
	e := New(h, port.HostSpec{Name: "e", Slots: 9, Engine: &port.EngineSpec{Type: "few"}})
	want := scheduler.HostBounds{"few": "no_room: max is 1, and there are 1"}
	if got := e.describe().Bounds; !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
