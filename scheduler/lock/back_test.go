package lock

import (
	"testing"
	"time"
)

// A job that waits and holds its locks already, since what it has begun runs on,
// is not in its own way: it starts, and keeps back all with whom it does not share.
func TestChoose_WhoHoldsItsLocksAlready(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	pass := Pass{Now: now, Total: 10, Most: map[string]int{"a": 10},
		Held: []Grant{{Job: 1, Level: "db", Name: "x", Mode: "exclusive"}, {Job: 1, Level: "db", Name: "y", Mode: "shared"},
			{Job: 1, Level: limitLevel, Name: "1:few", Mode: Slot}},
		Waiting: []Waiting{
			{Job: 1, Type: "a", Priority: 10, Since: now, Locks: []string{"db:x=exclusive", "db:y=shared"}, Reasons: []string{"rate-limit:1:few"}},
			{Job: 2, Type: "a", Since: now, Locks: []string{"db:x=exclusive"}},
			{Job: 3, Type: "a", Since: now, Locks: []string{"db:y=shared"}},
			{Job: 4, Type: "a", Since: now, Reasons: []string{"rate-limit:1:few"}}}}
	c := Policy{Order: Predictive, Constants: GanetiConstants}.Choose(pass)
	started := map[ID]int{}
	for _, s := range c.Start {
		started[s.Job] = len(s.Grants)
	}
	if len(started) != 2 || started[1] != 3 || started[3] != 1 {
		t.Errorf("started with so many grants: %v", started)
	}
	if len(c.Wait) != 2 || c.Wait[0].Job != 2 || c.Wait[1].Job != 4 {
		t.Errorf("waiting: %+v", c.Wait)
	}
}
