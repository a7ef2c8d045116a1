package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestOrder_OneSlotManyTypes: what is more urgent starts first, whatever its type, and among equals a type whose child
// is READY. An idle child may go after 50 ms, or at once, as if the machine were slow.
func TestOrder_OneSlotManyTypes(t *testing.T) {
	t.Parallel()
	for _, minReady := range []string{"50ms", "1ms"} {
		t.Run(minReady, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			// The agents tell in which order they got their work: started_at of a job whose child had to come up
			// is written later.
			notes := `echo OK; while IFS= read -r line; do echo "$line" >>$DIR/order; echo OK; done`
			e.serve("limits: {min_ready: " + minReady + "}\nhosts:\n  - {name: local, slots: 1}\n" +
				agents("type: a, command: ["+e.script("a", notes)+"]", "type: b, command: ["+e.script("b", notes)+"]",
					"type: x, mode: exec, command: ["+e.script("x", `echo "$1" >>$DIR/order`)+"]"))
			e.waitState(e.insert("type, args", "x", "first"), "succeeded")
			e.sql(`insert into bellhop.jobqueue (type, args, priority, held) values ('a', 'a1', 1, true), ('b', 'b1', -6, true),
				('a', 'a2', 15, true), ('b', 'b2', -6, true), ('a', 'a3', -20, true), ('x', 'x1', -13, true), ('b', 'b3', 8, true),
				('a', 'a4', 1, true)`)
			e.sql("update bellhop.jobqueue set held = false where held")
			e.sql("notify bellhop")
			e.waitAll("succeeded 9")
			want := []string{"first", "a3", "x1", "b1", "b2", "a1", "a4", "b3", "a2"}
			if got := e.lines("order"); !slices.Equal(got, want) {
				t.Errorf("started in the order %v, want %v", got, want)
			}
		})
	}
}

// TestOrder_BusyTypeMakesRoom: a type that is never idle holds every slot. What
// is more urgent than its jobs gets one as soon as the kill rules let a child go.
func TestOrder_BusyTypeMakesRoom(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("limits: {min_ready: 300ms}\nhosts:\n  - {name: local, slots: 2}\n" +
		agents("type: a, command: ["+e.script("a", "echo OK; while read -r line; do sleep 0.02; echo OK; done")+"]", "type: b, command: ["+e.stamps("b")+"]"))
	e.sql("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 20000)")
	e.eventually("both slots are a's", "select (select count(*) from bellhop.child where type = 'a' and state = 'RUNNING') = 2")
	id := e.insert("type, priority", "b", -1)
	e.waitState(id, "succeeded")
	if left := value[int](e, "select count(*) from bellhop.jobqueue where type = 'a' and state = 'ready'"); left < 100 {
		t.Errorf("only %d jobs of a are left: b has waited for a pause", left)
	}
	was := value[int](e, "select count(*) from bellhop.jobqueue where type = 'a' and state = 'succeeded'")
	e.eventually("a works on", fmt.Sprintf("select (select count(*) from bellhop.jobqueue where type = 'a' and state = 'succeeded') > %d + 50", was))
}

// TestOrder_NobodyWaitsForEver: as urgent as what is never idle, and waiting for long.
func TestOrder_NobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("limits: {min_ready: 100ms}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+e.script("a", "echo OK; while read -r line; do sleep 0.02; echo OK; done")+"]", "type: b, command: ["+e.stamps("b")+"]"))
	e.sql("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 20000)")
	e.eventually("the slot is a's", "select exists (select from bellhop.child where type = 'a' and state = 'RUNNING')")
	begin := time.Now()
	e.waitState(e.insert("type", "b"), "succeeded")
	t.Logf("b's turn came after %v", time.Since(begin))
	if left := value[int](e, "select count(*) from bellhop.jobqueue where type = 'a' and state = 'ready'"); left < 100 {
		t.Errorf("only %d jobs of a are left: b has waited for a pause", left)
	}
}
