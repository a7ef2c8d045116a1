package store

import (
	"testing"

	"bellhop/scheduler"
)

// Of the jobs of one priority, those of the type whose turn it is start first. What is more urgent goes before,
// whatever its type's turn. The same holds where a host chooses.
func TestClaim_TypesInTurn(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		columns, flood string
		only           *scheduler.Only
	}{
		"plain":                   {"type, priority", "'cat', 0", nil},
		"for a host that chooses": {"type, priority", "'cat', 0", &scheduler.Only{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.insert(way.columns, way.flood)
			e.claim(demand(1)) // it has heard of shares
			flood := e.insert(way.columns, way.flood)
			woke := e.insert("type", "'dog'")
			urgent := e.insert("type, priority", "'cat', -1")
			d := with(demand(1), func(d *scheduler.Demand) {
				d.Assigned, d.Only = true, way.only
				d.Types = []scheduler.TypeDemand{{Type: "cat", Limit: 1, MaxPriority: 19, Turn: 2},
					{Type: "dog", Limit: 1, MaxPriority: 19, Turn: 1}}
			})
			for _, want := range []scheduler.JobID{urgent, woke, flood} {
				if got := ids(e.claim(d)); len(got) != 1 || got[0] != want {
					t.Fatalf("%v start, want %d (urgent %d, in turn %d, flood %d)", got, want, urgent, woke, flood)
				}
			}
		})
	}
}
