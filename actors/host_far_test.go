package actors

import (
	"testing"

	"bellhop/actors/port"
)

func TestHost_LocalTypesAreNotOnFarOnes(t *testing.T) {
	t.Parallel()
	inst := newInstance(Config{Agents: []port.AgentType{{Name: "a"}, {Name: "here", Local: true}}})
	for _, far := range []bool{false, true} {
		s := newHost(inst, port.HostSpec{Name: "x", Far: far})
		if s.types["a"] == nil || (s.types["here"] == nil) != far {
			t.Errorf("far %v: it has %v", far, s.types)
		}
	}
}
