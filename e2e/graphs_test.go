package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// insertGraph adds a graph of n jobs in layers of a width, each job but those
// of the first layer needing some of the layer before, in one transaction.
func (e *env) insertGraph(name string, n, width int, args string, attempts int) {
	e.t.Helper()
	tx, err := e.pool.Begin(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	for _, statement := range []string{
		`insert into bellhop.jobqueue (type, args, key, max_attempts) select 'work', $4, $1 || '.' || g, $5 from generate_series(1, $2::int) g where $3 > 0`,
		`insert into bellhop.dependency (job, needs)
		 select distinct j.id, p.id
		   from generate_series($3::int + 1, $2::int) g
		  cross join lateral (select 1 + ((g - 1) / $3 - 1) * $3 + (g * 7 + k * 13) % $3 as parent from generate_series(1, 3) k) w
		   join bellhop.jobqueue j on j.key = $1 || '.' || g
		   join bellhop.jobqueue p on p.key = $1 || '.' || w.parent
		  where $4 <> '' and $5 > 0`,
	} {
		if _, err := tx.Exec(e.t.Context(), statement, name, n, width, args, attempts); err != nil {
			e.t.Fatal(err)
		}
	}
	if err := tx.Commit(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
}

// inOrder fails the test when a job was begun before what it needs had been
// finished under the fence that counts.
func (j *journal) inOrder(e *env) {
	j.t.Helper()
	begun, ended := map[int64]time.Time{}, map[string]time.Time{}
	for _, e := range j.entries() {
		if e.what == "end" {
			ended[fmt.Sprint(e.job, " ", e.fence)] = e.at
		} else if _, again := begun[e.job]; !again {
			begun[e.job] = e.at
		}
	}
	fence := map[int64]string{}
	for _, claim := range column[string](e, "select id || ' ' || fence from bellhop.jobqueue where state = 'succeeded'") {
		var id int64
		fmt.Sscan(claim, &id)
		fence[id] = claim
	}
	wrong := 0
	for _, edge := range column[string](e, "select job || ' ' || needs from bellhop.dependency") {
		var job, needs int64
		fmt.Sscan(edge, &job, &needs)
		start, end := begun[job], ended[fence[needs]]
		if start.IsZero() || end.IsZero() || start.Before(end) {
			if wrong++; wrong < 5 {
				j.t.Errorf("job %d was begun at %v, what it needs, job %d, ended at %v", job, start, needs, end)
				j.tell(job)
				j.tell(needs)
			}
		}
	}
}

func TestGraphs_ADiamondOf10000Jobs(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	n := 10_000
	if raceEnabled {
		n = 2_000
	}
	e.serve(agents(j.agent("work", "warm")))
	e.sql(`with source as (insert into bellhop.jobqueue (type, args) values ('work', '0s') returning id),
	            middle as (insert into bellhop.jobqueue (type, args) select 'work', '0s' from generate_series(1, $1::int) returning id),
	            sink as (insert into bellhop.jobqueue (type, args) values ('work', '0s') returning id)
	       insert into bellhop.dependency (job, needs)
	       select m.id, s.id from middle m, source s union all select k.id, m.id from middle m, sink k`, n)
	e.waitAll(fmt.Sprintf("succeeded %d", n+2))
	j.once()
	j.inOrder(e)
}

// No hop of a chain waits for a scan: it would take 5 s.
func TestGraphs_AChainIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	e.serve(agents(j.agent("work", "warm")))
	began := time.Now()
	e.insertGraph("chain", 50, 1, "0s", 1)
	e.waitAll("succeeded 50")
	if took := time.Since(began); took > 100*time.Second {
		t.Errorf("50 hops took %v", took)
	}
	j.inOrder(e)
}

// Two instances, each of which serves what the other's jobs need.
func TestGraphs_AcrossInstances(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("a", note) + "]"))
	e.serve(agents("type: b, command: [" + e.worker("b", note) + "]"))
	last := e.ok("submit", "a", "0", "--key", "hop.0")
	for i := range 10 {
		last = e.ok("submit", string('a'+rune((i+1)%2)), fmt.Sprint(i+1), "--after", fmt.Sprintf("hop.%d", i), "--key",
			fmt.Sprintf("hop.%d", i+1))
	}
	e.ok("wait", strings.TrimSpace(last))
	if got := strings.Join(e.lines("ran"), " "); got != "0 1 2 3 4 5 6 7 8 9 10" {
		t.Errorf("ran %s", got)
	}
	// From the end of what a job needs, or its own coming, to its start; with scans it would be 25 s, and more than 10 s
	// nearly always.
	if took := value[float64](e, `select sum(extract(epoch from j.started_at - greatest(j.created_at, n.ended_at)))::float8
		from bellhop.jobqueue j join bellhop.dependency d on d.job = j.id join bellhop.jobqueue n on n.id = d.needs`); took > 10 {
		t.Errorf("10 hops took %.1f s", took)
	}
}

// With every trigger disabled, and so without any bell, what is inserted is
// found by the safety scan, and is run in its order all the same.
func TestGraphs_WithEveryTriggerDisabled(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	e.sql("alter table bellhop.jobqueue disable trigger all")
	e.sql("alter table bellhop.dependency disable trigger all")
	e.insertGraph("g", 30, 5, "1ms", 1)
	e.sql("insert into bellhop.jobqueue (type, args) values ('work', '1ms fail')")
	e.sql("insert into bellhop.jobqueue (type, args) values ('work', '1ms')")
	e.sql("insert into bellhop.dependency (job, needs) values (32, 31)")
	e.serve(agents(j.agent("work", "warm")))
	e.waitAll("succeeded 30, failed 2")
	has(t, e.job(32).Error, "job 31, which it needs, failed")
	e.sql("delete from bellhop.dependency where job = 32")
	j.inOrder(e)
}

// Schedulers and agents are killed at random while graphs of 2,000 jobs run.
func TestGraphs_KilledAtRandom(t *testing.T) {
	t.Parallel()
	seed := *nemesisSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./e2e -run Graphs_KilledAtRandom -seed %d -nemesis-duration %s", seed, *nemesisDuration)
	luck := rand.New(rand.NewPCG(seed, 0))
	e, j := setup(t), newJournal(t)
	yaml := "instance: {heartbeat: 200ms, lag: 3s}\nhosts:\n  - {name: local, slots: 3}\n" +
		"limits: {kill_after: 1s, min_ready: 100ms, window: 3s, deaths: 0}\n" + agents(j.agent("work", "warm"))
	running := []*instance{e.serve(yaml), e.serve(yaml)}
	size := 2000
	if raceEnabled {
		size = 500
	}
	graphs, schedulers, workers := 0, 0, 0
	more := func() {
		graphs++
		e.insertGraph(fmt.Sprintf("graph%d", graphs), size, 40, "1ms", nemesisAttempts)
	}
	more()
	for end := time.Now().Add(*nemesisDuration); time.Now().Before(end); {
		if value[bool](e, "select count(*) < 400 from bellhop.jobqueue where state in ('blocked', 'ready')") {
			more()
		}
		if i := luck.IntN(len(running)); luck.IntN(3) == 0 {
			j.killAndTime(running[i])
			running[i] = e.serve(yaml)
			schedulers++
		} else {
			for pid := range j.alive() { // any
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				workers++
				break
			}
		}
		time.Sleep(time.Duration(100+luck.IntN(400)) * time.Millisecond) // the pace of the harm, no event to wait for
	}
	pgtest.Eventually(t, 4*patience, "every job is over", func() bool {
		return value[int](e, "select count(*) from bellhop.jobqueue where state not in ('succeeded', 'failed', 'cancelled', 'quarantined')") == 0
	})
	e.waitAll(fmt.Sprintf("succeeded %d", graphs*size))
	for _, root := range column[string](e, "select j::text from bellhop.jobqueue j where state <> 'succeeded' order by ended_at limit 6") {
		t.Log(root)
	}
	j.check(nemesisAttempts)
	j.proves(e)
	j.inOrder(e)
	t.Logf("%d graphs of %d jobs; %d schedulers and %d agents killed; %d jobs begun again", graphs, size, schedulers,
		workers, again(j.starts()))
}

func TestHosts_TakeOnlyTheirTypes(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: one, slots: 2, only_types: [a]}\n  - {name: two, slots: 2, only_types: [b]}\n" +
		agents("type: a, command: ["+e.worker("a", note)+"]", "type: b, command: ["+e.worker("b", note)+"]"))
	e.sql("insert into bellhop.jobqueue (type) select t from unnest(array['a', 'b']) t, generate_series(1, 20)")
	e.waitAll("succeeded 40")
	if got := strings.Join(column[string](e, "select distinct type || ' on ' || host from bellhop.jobqueue order by 1"), ", "); got != "a on one, b on two" {
		t.Errorf("ran %s", got)
	}
}

func TestHosts_TakeOnlyTheirPriorities(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: one, slots: 2, only_priorities: [\"ur*\", -3]}\n  - {name: two, slots: 2, only_types: [a, q], only_priorities: [z, 0]}\n" +
		agents("type: a, command: ["+e.worker("a", note)+"]", "type: q, command: ["+e.worker("q", note)+"]"))
	e.sql("insert into bellhop.jobqueue (type, priority_name, priority) select 'a', n, p from (values ('urgent', 0), (null, -3), ('z', 0), (null, 0)) v (n, p), generate_series(1, 20)")
	e.sql("insert into bellhop.jobqueue (type, msq, priority) values ('q', 'select g from generate_series(1, 40) g', -3)")
	nobody := e.insert("type, priority", "a", 5)
	e.eventually("what hosts take is done", "select count(*) = 81 from bellhop.jobqueue where state = 'succeeded'")
	if got := strings.Join(column[string](e, "select distinct coalesce(priority_name, priority::text) || ' on ' || host from bellhop.jobqueue where type = 'a' and host is not null order by 1"), ", "); got != "-3 on one, 0 on two, urgent on one, z on two" {
		t.Errorf("ran %s", got)
	}
	if j := e.job(nobody); j.State != "ready" {
		t.Errorf("nobody takes it: %+v", j)
	}
}

// A program that is replaced finishes its jobs, and the new one goes on as the same process.
func TestServe_ReplacedProgramFinishesItsJobsAndGoesOn(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve(agents(j.agent("work", "warm")))
	held := e.insert("type, args", "work", "hold")
	e.waitState(held, "running")
	program := filepath.Join(i.dir, "bellhop")
	replace := func(text []byte) {
		if err := os.WriteFile(program+".new", text, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(program+".new", program); err != nil {
			t.Fatal(err)
		}
	}
	replace([]byte("#!/bin/sh\nexit 1\n")) // no program that runs: this one goes on
	pgtest.Eventually(t, patience, "it has seen the bad one", func() bool { return strings.Contains(i.said(), "does not run; this one goes on") })
	replace([]byte("#!/bin/sh\necho '{\"version\": \"9.0\", \"schema\": 9999}'\n")) // before its migrations: this one goes on
	pgtest.Eventually(t, patience, "it has seen the early one", func() bool { return strings.Contains(i.said(), "this binary needs 9999") })
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	replace(text)
	pgtest.Eventually(t, patience, "it has seen the good one", func() bool { return strings.Contains(i.said(), "finishing running jobs") })
	waits := e.insert("type, args", "work", "1ms")
	if s := e.state(held); s != "running" {
		t.Errorf("what ran is %s", s)
	}
	j.letGo()
	e.waitState(held, "succeeded")
	e.waitState(waits, "succeeded") // by the new one
	if n := value[int](e, "select count(*) from bellhop.instance where pid = $1", i.cmd.Process.Pid); n != 2 {
		t.Errorf("%d instances had its pid, want 2", n)
	}
	j.once()
	i.stop()
}
