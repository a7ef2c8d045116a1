package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// itemWorker is an agent that holds a file's lock while it has a line, a shared one
// where the line says so: those that have at once what does not go together are seen
// by the kernel. A line with a file waits until that is there.
const itemWorker = `c=${line##*c=\"} c=${c%%\"*}
how=-x; [[ $line == *shared* ]] && how=-s
exec 9>"$DIR/lock.$c"
flock -n $how 9 || echo "$line" >>$DIR/conflicts
echo "$line" >>$DIR/ran
if [[ $line == *until=* ]]; then
  f=${line##*until=\"} f=${f%%\"*}
  until [[ -e $DIR/$f ]]; do sleep 0.01; done
fi
sleep 0.01
exec 9>&-`

func (e *env) itemWorkers(slots int) string {
	return quick(slots) + agents(fmt.Sprintf("type: work, command: [%s]", e.worker("agent", itemWorker)))
}

// TestItemLocks_OneAtATimeBesideOthers: rows that want the same lock run one at a
// time, in order, and others beside them; agents are told nothing of locks.
func TestItemLocks_OneAtATimeBesideOthers(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.itemWorkers(4))
	id := e.insert("type, msq", "work", `
		select n, 'same' as c, case n when 1 then 'go' end as until, 'customer:42=exclusive' as locks from generate_series(1, 20) n
		union all select n, 'own' || n, null, format('customer:%s=exclusive', n) from generate_series(100, 140) n
		union all select n, 'free' || n, null, null from generate_series(200, 210) n
		union all select n, 'bad' || n, null, 'customer' from generate_series(300, 300) n`)
	pgtest.Eventually(t, patience, "all others are done beside the first", func() bool {
		return value[int](e, "select coalesce(items_done, 0)::int from bellhop.jobqueue where id = $1", id) == 52
	})
	if ran := e.lines("ran"); len(ran) != 53 {
		t.Errorf("%d ran before the first has ended", len(ran))
	}
	e.mark("go")
	e.counts(e.waitState(id, "failed"), 73, 72, 1)
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("at once: %v", conflicts)
	}
	last := 0
	for _, line := range e.lines("ran") {
		if strings.Contains(line, "locks=") {
			t.Errorf("the agent was told of locks: %s", line)
		}
		var n int
		if strings.Contains(line, `c="same"`) {
			if _, err := fmt.Sscanf(line, `n="%d"`, &n); err != nil || n != last+1 {
				t.Errorf("after %d came %s", last, line)
			}
			last = n
		}
	}
	why := value[string](e, "select error from bellhop.item where job = $1", id)
	has(t, why, "locks_malformed", `lock "customer", character 9`, "no colon")
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
	e.healthy("work")
}

// TestItemLocks_NeverBesideOtherJobs: two queries on two instances, one of which is
// killed, and jobs with locks, all on the same few names.
func TestItemLocks_NeverBesideOtherJobs(t *testing.T) {
	t.Parallel()
	e := setup(t)
	first, second := e.serve(e.itemWorkers(3)), e.serve(e.itemWorkers(3))
	const query = `select n, 'c' || n % 3 as c, case n % 4 when 0 then 'shared' else 'exclusive' end as how,
		array[format('customer:%s=%s', n % 3, case n % 4 when 0 then 'shared' else 'exclusive' end)] as locks
		from generate_series(1, 150) n`
	e.sql("insert into bellhop.jobqueue (type, msq) select 'work', $1 from generate_series(1, 2)", query)
	e.sql(`insert into bellhop.jobqueue (type, args, locks) select 'work', format('c="c%s"', g % 3),
		array[format('customer:%s=exclusive', g % 3)] from generate_series(1, 30) g`)
	const holders = "select coalesce(min(l.instance), 0) from bellhop.lock l join bellhop.jobqueue j on j.id = l.job where j.msq is not null"
	victim := first
	pgtest.Eventually(t, patience, "items hold some", func() bool {
		has := value[int64](e, holders)
		if has == second.id {
			victim = second
		}
		return has != 0
	})
	victim.kill()
	e.waitAll("succeeded 32")
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("%d at once: %v", len(conflicts), conflicts)
	}
	if ran := len(e.lines("ran")); ran < 330 {
		t.Errorf("%d runs", ran)
	}
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
}

// TestItemLocks_SaysForWhomItWaits: all items wait for another job, take no slot, and
// say so; big is alone among all that have locks.
func TestItemLocks_SaysForWhomItWaits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.itemWorkers(2))
	e.sql(`insert into bellhop.jobqueue (type, args, locks) values ('work', 'c="x" until="end"', '{customer:x=shared}')`)
	holder := value[int64](e, "select max(id) from bellhop.jobqueue")
	e.waitState(holder, "running")
	id := e.insert("type, msq", "work", "select 'y' as c, 'big' as locks union all select 'x', 'customer:x=exclusive'")
	e.because(id, "lock_held/items", "2 of its items wait, the first for big",
		fmt.Sprintf("job %d has customer:x=shared", holder))
	e.ok("wait", strings.TrimSpace(e.ok("submit", "work", `c="z"`))) // the other slot is free
	if _, err := os.Stat(filepath.Join(e.dir, "lock.y")); err == nil {
		t.Error("the item with the big lock has run")
	}
	e.mark("end")
	e.counts(e.waitState(id, "succeeded"), 2, 2, 0)
	if n := value[int](e, "select count(*) from bellhop.jobqueue where waiting_for is not null"); n != 0 {
		t.Errorf("%d jobs say that they wait", n)
	}
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("at once: %v", conflicts)
	}
}

// TestItemLocks_NobodyWaitsForTheEndOfAQuery: items without end need one lock, and
// another query's too; a job that needs it gets its turn, and both queries go on.
func TestItemLocks_NobodyWaitsForTheEndOfAQuery(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.itemWorkers(3))
	const endless = "select n, 'x' as c, 'customer:x=exclusive' as locks from generate_series(1, 100000000) n"
	queries := []int64{e.insert("type, msq", "work", endless), e.insert("type, msq", "work", endless)}
	goOn := func() {
		for _, id := range queries {
			done := value[int64](e, "select coalesce(items_done, 0) from bellhop.jobqueue where id = $1", id)
			e.eventually("its items go on", "select coalesce(items_done, 0) > $2 from bellhop.jobqueue where id = $1", id, done)
		}
	}
	for range 2 {
		goOn()
		id := strings.TrimSpace(e.ok("submit", "work", `n="0" c="x"`, "--lock", "customer:x=exclusive"))
		e.ok("wait", id)
	}
	goOn()
	for _, id := range queries {
		e.ok("cancel", fmt.Sprint(id))
		e.waitState(id, "cancelled")
	}
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("at once: %v", conflicts)
	}
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
}
