package e2e

import "testing"

// TestFairness_AFloodLeavesAnotherTypeItsTurn: a type with far more jobs than there are slots holds all of them. A job
// as urgent, of a type that wakes, does not wait for the flood's end; nor for its age, since min_ready is an hour.
// Afterwards the flood has all slots again.
func TestFairness_AFloodLeavesAnotherTypeItsTurn(t *testing.T) {
	t.Parallel()
	const warm, exec = "warm", "exec"
	for _, c := range []struct{ name, flood, woke, insert string }{
		{"of a warm type", warm, warm, "(type) select 'flood' from generate_series(1, 20000)"},
		{"of a warm type, for one of mode exec", warm, exec, "(type) select 'flood' from generate_series(1, 20000)"},
		{"of mode exec", exec, exec, "(type) select 'flood' from generate_series(1, 20000)"},
		{"of mode exec, for a warm type", exec, warm, "(type) select 'flood' from generate_series(1, 20000)"},
		{"of items", warm, warm, "(type, msq) values ('flood', 'select n from generate_series(1, 20000) n')"},
		{"of items of mode exec", exec, exec, "(type, msq) values ('flood', 'select n from generate_series(1, 20000) n')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			agent := func(name, mode, work string) string {
				if mode == exec {
					return "type: " + name + ", mode: exec, command: [" + e.script(name, work) + "]"
				}
				work = "echo OK; while read -r line; do " + work + "; echo OK; done"
				return "type: " + name + ", command: [" + e.script(name, work) + "]"
			}
			e.serve("limits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: 2}\n" +
				agents(agent("flood", c.flood, "echo >>$DIR/flood; sleep 0.02"), agent("woke", c.woke, "true")))
			e.sql("insert into bellhop.jobqueue " + c.insert)
			full := "select (select count(*) from bellhop.child where type = 'flood' and state = 'RUNNING') = 2"
			e.eventually("the flood has both slots", full)
			for range 2 {
				e.waitState(e.insert("type", "woke"), "succeeded")
			}
			if done := len(e.lines("flood")); done > 19000 {
				t.Errorf("%d lines of the flood came first", done)
			}
			e.eventually("the flood has both slots again", full)
		})
	}
}
