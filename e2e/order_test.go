package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// begun lists the jobs in the order in which they started.
func (b *bed) begun(where string) []int64 {
	return value[[]int64](b, "select array_agg(id order by started_at, id) from bellhop.jobqueue where started_at is not null and "+where)
}

// TestOrder_OneSlotManyTypes: what is more urgent starts first, whatever its
// type, and among equals a type whose child is READY.
func TestOrder_OneSlotManyTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("limits: {min_ready: 50ms}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+b.stamps("a")+"]", "type: b, command: ["+b.stamps("b")+"]", "type: x, mode: exec, command: [sh, -c]"))
	b.waitState(b.insert("type, args", "x", "true"), "succeeded")
	b.sql(`insert into bellhop.jobqueue (type, args, priority, held) values ('a', '', 0, true), ('b', '', -5, true), ('a', '', 5, true),
		('b', '', -5, true), ('a', '', -7, true), ('x', 'true', -6, true), ('b', '', 3, true), ('a', '', 0, true)`)
	want := value[[]int64](b, "select array_agg(id order by priority, id) from bellhop.jobqueue where held")
	b.sql("update bellhop.jobqueue set held = false where held")
	b.sql("notify bellhop")
	b.waitAll("succeeded 9")
	if got := b.begun("priority <> 0 or type <> 'x'"); !slices.Equal(got, want) {
		t.Errorf("started in the order %v, want %v", got, want)
	}
}

// TestOrder_BusyTypeMakesRoom: a type that is never idle holds every slot. What
// is more urgent than its jobs gets one as soon as the kill rules let a child go.
func TestOrder_BusyTypeMakesRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("limits: {min_ready: 300ms}\nhosts:\n  - {name: local, slots: 2}\n" +
		agents("type: a, command: ["+b.script("a", "echo OK; while read -r line; do sleep 0.02; echo OK; done")+"]", "type: b, command: ["+b.stamps("b")+"]"))
	b.sql("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 20000)")
	b.eventually("both slots are a's", "select (select count(*) from bellhop.child where type = 'a' and state = 'RUNNING') = 2")
	id := b.insert("type, priority", "b", -1)
	b.waitState(id, "succeeded")
	if left := value[int](b, "select count(*) from bellhop.jobqueue where type = 'a' and state = 'ready'"); left < 100 {
		t.Errorf("only %d jobs of a are left: b has waited for a pause", left)
	}
	was := value[int](b, "select count(*) from bellhop.jobqueue where type = 'a' and state = 'succeeded'")
	b.eventually("a works on", fmt.Sprintf("select (select count(*) from bellhop.jobqueue where type = 'a' and state = 'succeeded') > %d + 50", was))
}

// TestOrder_NobodyWaitsForEver: as urgent as what is never idle, and waiting for long.
func TestOrder_NobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("limits: {min_ready: 100ms}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+b.script("a", "echo OK; while read -r line; do sleep 0.02; echo OK; done")+"]", "type: b, command: ["+b.stamps("b")+"]"))
	b.sql("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 20000)")
	b.eventually("the slot is a's", "select exists (select from bellhop.child where type = 'a' and state = 'RUNNING')")
	begin := time.Now()
	b.waitState(b.insert("type", "b"), "succeeded")
	t.Logf("b's turn came after %v", time.Since(begin))
	if left := value[int](b, "select count(*) from bellhop.jobqueue where type = 'a' and state = 'ready'"); left < 100 {
		t.Errorf("only %d jobs of a are left: b has waited for a pause", left)
	}
}
