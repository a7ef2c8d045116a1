package host

import (
	"sync/atomic"
	"testing"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

func TestHost_LocalTypesAreNotOnFarOnes(t *testing.T) {
	t.Parallel()
	agents := []port.AgentType{{Name: "a"}, {Name: "here", Local: true}}
	h := &Ports{Live: &atomic.Pointer[port.Setup]{}, Quotas: lasting.NewQuotas(agents)}
	h.Live.Store(&port.Setup{Agents: agents})
	for _, far := range []bool{false, true} {
		s := New(h, port.HostSpec{Name: "x", Terms: scheduler.Terms{Far: far}})
		if s.types["a"] == nil || (s.types["here"] == nil) != far {
			t.Errorf("far %v: it has %v", far, s.types)
		}
	}
}
