package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

func ids(jobs []scheduler.Job) []scheduler.JobID {
	list := make([]scheduler.JobID, len(jobs))
	for i, j := range jobs {
		list[i] = j.Claim.Job
	}
	return list
}

func TestClaim_InOrderOfPriorityThenID(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	type job struct {
		priority int
		id       scheduler.JobID
	}
	var want []job
	for i := range 40 {
		p := i*7%5 - 2
		want = append(want, job{p, e.insert("type, priority", "'cat', "+[]string{"-2", "-1", "0", "1", "2"}[p+2])})
	}
	slices.SortFunc(want,
		func(a, b job) int { return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id)) })
	for len(want) > 0 {
		n := min(7, len(want))
		d := demand(n)
		d.Assigned = len(want)%2 == 0 // one way and the other
		for i, j := range e.claim(d) {
			if j.Claim.Job != want[i].id || j.Priority != want[i].priority {
				t.Errorf("job %d of priority %d, want %d of %d", j.Claim.Job, j.Priority, want[i].id, want[i].priority)
			}
			if state := e.column(j.Claim.Job, "state"); j.Assigned != d.Assigned || (state == "assigned") != j.Assigned {
				t.Errorf("assigned %v, want %v; state %s", j.Assigned, d.Assigned, state)
			}
		}
		want = want[n:]
	}
}

func TestClaim_BringsAllThatStartsAJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("set bellhop.traceparent = '00-aa-bb-01'")
	full := e.insert("type, args, key, vars, timeout, max_attempts, run_on, priority", `'cat', 'a "b"', 'k', '{"A": "1"}', '1 min 2 s', 3, 'local', -5`)
	empty := e.insert("type, args, priority", "'cat', '', -4")
	none := e.insert("type, timeout, priority", "'cat', '100 years', -3")
	msq := e.insert("type, msq, repeat", "'cat', 'select 1', 'once'")
	jobs := e.claim(demand(9))
	if !slices.Equal(ids(jobs), []scheduler.JobID{full, empty, none, msq}) {
		t.Fatalf("claimed %v", ids(jobs))
	}
	j := jobs[0]
	if j.Args != `a "b"` || !j.HasArgs || j.Key != "k" || j.Vars.Map()["A"] != "1" || j.Timeout != 62*time.Second ||
		j.MaxAttempts != 3 ||
		j.Attempt != 1 || j.Fence != 1 || j.Trace != "00-aa-bb-01" || j.Host != "local" || j.MSQ != "" ||
		j.Deaths != 0 ||
		j.Item != 0 {
		t.Errorf("%+v", j)
	}
	if !jobs[1].HasArgs || jobs[1].Args != "" || jobs[2].HasArgs || jobs[2].Timeout < 99*365*24*time.Hour {
		t.Errorf("%+v\n%+v", jobs[1], jobs[2])
	}
	if jobs[3].MSQ != "select 1" || jobs[3].Repeat != scheduler.RepeatOnce || jobs[3].HasArgs {
		t.Errorf("%+v", jobs[3])
	}
	e.want(full, "instance", e.one("select $1::bigint", int64(e.me)))
	e.want(full, "started_at is not null and attempt_at is null", "true")
}

func TestClaim_NeverTakesWhatMayNotStart(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("alter table bellhop.jobqueue disable trigger user") // the claim tests for itself
	e.insert("type, held", "'cat', true")
	e.insert("type, run_at", "'cat', clock_timestamp() + interval '1 hour'")
	e.insert("type", "'dog'")
	e.insert("type, run_on", "'cat', 'elsewhere'")
	e.insert("type, priority", "'cat', 6")
	e.insert("type, msq", "'cat', 'select 1'")
	for _, state := range scheduler.JobStates {
		if state != scheduler.Ready {
			e.insert("type, state", "'cat', '"+string(state)+"'")
		}
	}
	d := demand(100)
	d.Types[0].MaxPriority, d.MSQ = 5, false
	if jobs := e.claim(d); len(jobs) > 0 {
		t.Errorf("claimed %v", ids(jobs))
	}
	past := e.insert("type, run_at", "'cat', clock_timestamp() - interval '1 ms'")
	if jobs := e.claim(d); !slices.Equal(ids(jobs), []scheduler.JobID{past}) {
		t.Errorf("claimed %v, want %d whose time has come", ids(jobs), past)
	}
	if jobs := e.claim(demand(100)); len(jobs) != 2 {
		t.Errorf("claimed %d, want the MSQ job and the one of a worse priority", len(jobs))
	}
}

func TestClaim_OnlyForWhoLives(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	if _, _, err := e.registry.MarkGone(t.Context(), e.me, "the test says so", true); err != nil {
		t.Fatal(err)
	}
	if jobs := e.claim(demand(1)); len(jobs) > 0 {
		t.Error("one that was taken for dead claims")
	}
	e.want(id, "state", "ready")
}

func TestClaim_KeepsToItsBounds(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type) select unnest(array['a', 'b', 'c']) from generate_series(1, 10)")
	count := func(d scheduler.Demand) map[scheduler.TypeName]int {
		n := map[scheduler.TypeName]int{}
		for _, j := range e.claim(d) {
			n[j.Type]++
		}
		return n
	}
	d := scheduler.Demand{
		Host:  "local",
		Total: 5,
		Types: []scheduler.TypeDemand{{Type: "a", Limit: 2, MaxPriority: 19}, {Type: "b", Limit: 3, MaxPriority: 19}},
	}
	if n := count(d); !maps.Equal(n, map[scheduler.TypeName]int{"a": 2, "b": 3}) {
		t.Errorf("%v", n)
	}
	// Of those that wait for children, no more in all than there is room, in the order of the queue.
	d = scheduler.Demand{
		Host:     "local",
		Total:    5,
		Assigned: true,
		Types:    []scheduler.TypeDemand{{Type: "a", Limit: 3, MaxPriority: 19}, {Type: "b", Limit: 4, MaxPriority: 19}},
	}
	if n := count(d); n["a"]+n["b"] != 5 || n["a"] > 3 || n["a"] < 2 {
		t.Errorf("%v", n)
	}
}

func TestClaim_TwoAtOnceNeverShareAJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	const n = 600
	e.exec("insert into bellhop.jobqueue (type, priority) select 'cat', g % 3 from generate_series(1, $1) g", n)
	other := desk(e, NewClaimer)
	second := e.register("second", time.Minute)
	e.assert(other, second)
	var mu sync.Mutex
	taken := map[scheduler.JobID]scheduler.InstanceID{}
	var all sync.WaitGroup
	for _, who := range []struct {
		desk *Claimer
		id   scheduler.InstanceID
	}{{e.claimer, e.me}, {other, second}} {
		all.Go(func() {
			for {
				jobs, err := who.desk.Claim(t.Context(), who.id, demand(9))
				if err != nil {
					t.Error(err)
				}
				if err != nil || len(jobs) == 0 {
					return
				}
				mu.Lock()
				for _, j := range jobs {
					if by, twice := taken[j.Claim.Job]; twice || j.Fence != 1 {
						t.Errorf("job %d was claimed by %d and by %d (fence %d)", j.Claim.Job, by, who.id, j.Fence)
					}
					taken[j.Claim.Job] = who.id
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(taken) != n {
		t.Errorf("%d of %d jobs claimed", len(taken), n)
	}
}

func TestClaim_DoesNotWaitForALockedRow(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	locked, next := e.insert("type", "'cat'"), e.insert("type", "'cat'")
	err := pgx.BeginFunc(t.Context(), e.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "select 1 from bellhop.jobqueue where id = $1 for update",
			int64(locked)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		jobs, err := e.claimer.Claim(ctx, e.me, demand(5))
		if !slices.Equal(ids(jobs), []scheduler.JobID{next}) {
			t.Errorf("claimed %v, want %d", ids(jobs), next)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if jobs := e.claim(demand(5)); !slices.Equal(ids(jobs), []scheduler.JobID{locked}) {
		t.Errorf("then claimed %v, want %d", ids(jobs), locked)
	}
}

func TestReassert_TakesOnlyRowsAsTheyWereBeforeTheClaim(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	hold := func(j scheduler.Job) scheduler.Hold {
		return scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local", CreatedAt: j.Submitted()}
	}
	lost, fine, elsewhere, deleted, changed, held, givenBack := e.running(), e.running(), e.running(), e.running(),
		e.running(), e.running(), e.running()
	// What a crash of the database undoes is a claim that was committed asynchronously.
	undo := `update bellhop.jobqueue set state = 'ready', fence = fence - 1, attempt = attempt - 1, instance = null, host = null, started_at = null where id = any ($1)`
	e.exec(undo,
		[]int64{int64(lost.Claim.Job), int64(elsewhere.Claim.Job), int64(changed.Claim.Job), int64(held.Claim.Job)})
	second := e.register("second", time.Minute)
	e.exec("update bellhop.jobqueue set state = 'running', fence = fence + 1, attempt = attempt + 1, instance = $2 where id = $1", int64(elsewhere.Claim.Job), int64(second))
	// Another instance has had it since, and given it back: that took no attempt.
	e.exec("update bellhop.jobqueue set state = 'ready', fence = fence + 1, attempt = attempt - 1, instance = null where id = $1",
		int64(givenBack.Claim.Job))
	e.exec("delete from bellhop.jobqueue where id = $1", int64(deleted.Claim.Job))
	e.exec("update bellhop.jobqueue set state = 'cancelled' where id = $1", int64(changed.Claim.Job))
	e.exec("update bellhop.jobqueue set state = 'held', held = true where id = $1", int64(held.Claim.Job))
	var holds []scheduler.Hold
	before := map[scheduler.JobID]string{}
	for _, j := range []scheduler.Job{lost, fine, elsewhere, deleted, changed, held, givenBack} {
		holds = append(holds, hold(j))
		if j.Claim.Job != deleted.Claim.Job {
			before[j.Claim.Job] = e.row(j.Claim.Job)
		}
	}
	n, err := e.claimer.Reassert(t.Context(), e.me, holds)
	if err != nil || n != 1 {
		t.Errorf("%d re-asserted, want one (%v)", n, err)
	}
	e.want(lost.Claim.Job, "format('%s %s %s %s', state, fence, attempt, instance)", e.one("select format('running 1 1 %s', $1::bigint)", int64(e.me)))
	for id, row := range before {
		if id != lost.Claim.Job && e.row(id) != row {
			t.Errorf("job %d was changed:\n%s\n%s", id, row, e.row(id))
		}
	}
	e.mustWrite(succeeded(lost)) // under its own fence
	if _, _, err := e.registry.MarkGone(t.Context(), e.me, "dead", true); err != nil {
		t.Fatal(err)
	}
	e.exec("update bellhop.jobqueue set state = 'ready', fence = 0, attempt = 0, instance = null where id = $1",
		int64(fine.Claim.Job))
	if n, err := e.claimer.Reassert(t.Context(), e.me, holds); err != nil || n != 0 {
		t.Errorf("one that was taken for dead re-asserted %d (%v)", n, err)
	}
}

func TestClaims_AreWhatTheInstanceHoldsNow(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a, b, over := e.running(), e.running(), e.running()
	e.insert("type", "'cat'") // ready: nobody's
	e.mustWrite(succeeded(over))
	e.exec("select bellhop.cancel($1)", int64(a.Claim.Job))
	e.exec("select bellhop.cancel($1, now => true)", int64(b.Claim.Job))
	holds, err := e.claimer.Claims(t.Context(), e.me, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(holds, func(x, y scheduler.Hold) int { return cmp.Compare(x.Job, y.Job) })
	want := []scheduler.Hold{{Claim: a.Claim, Cancel: true}, {Claim: b.Claim, Cancel: true, CancelNow: true}}
	if !slices.Equal(holds, want) {
		t.Errorf("held %+v, want %+v", holds, want)
	}
}

// Where all that an instance holds takes long to read, new claims do not wait for that: the claims it knows are read by
// their ids, and the others on a connection of their own; or, where there is none, as ever.
func TestClaims_AreReadBesideNewClaims(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	stopped, known, unknown, over := e.running(), e.running(), e.running(), e.running()
	e.mustWrite(succeeded(over))
	e.exec("select bellhop.cancel($1)", int64(stopped.Claim.Job))
	of := []scheduler.Claim{stopped.Claim, known.Claim, over.Claim}
	held := func(others bool) string {
		t.Helper()
		holds, err := e.claimer.Claims(t.Context(), e.me, of, others)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(holds, func(x, y scheduler.Hold) int { return cmp.Compare(x.Job, y.Job) })
		return fmt.Sprint(holds)
	}
	asked := []scheduler.Hold{{Claim: stopped.Claim, Cancel: true}, {Claim: known.Claim}}
	all := fmt.Sprint(append(slices.Clone(asked), scheduler.Hold{Claim: unknown.Claim}))
	dials := 0
	tune := e.claimer.below.way.Tune
	e.claimer.below.way.Tune = func(c *pgx.ConnConfig) { tune(c); dials++ }
	if got := held(false); got != fmt.Sprint(asked) {
		t.Errorf("of those that were asked for it says %s", got)
	}
	for _, c := range []struct {
		read  time.Duration
		dials int
	}{{0, 0}, {time.Minute, 1}, {0, 1}} {
		e.claimer.reads.Store(int64(c.read))
		if got := held(true); got != all || dials != c.dials {
			t.Errorf("after a read of %s it says %s, and connected %d times; want %s, %d", c.read, got, dials, all, c.dials)
		}
		if e.claimer.reads.Load() >= int64(time.Minute) {
			t.Error("what the next read takes is not known")
		}
	}
	e.claimer.reads.Store(int64(time.Minute))
	e.claimer.below.way.URL = "postgres://127.0.0.1:1/none"
	if got := held(true); got != all {
		t.Errorf("without another connection it says %s, want %s", got, all)
	}
}

func TestDesk_AConnectionThatBrokeIsReplaced(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	e.drop("claimer")
	if _, err := e.claimer.Claims(t.Context(), e.me, nil, true); err == nil {
		t.Error("no error, though the connection is gone")
	}
	e.assert(e.claimer, e.me, scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local", CreatedAt: j.Submitted()})
	holds, err := e.claimer.Claims(t.Context(), e.me, nil, true)
	if err != nil || len(holds) != 1 || holds[0].Claim != j.Claim {
		t.Errorf("on the next connection: %v, %v", holds, err)
	}
}

// Nor is it said before that what runs here is not ours: a crash of the database
// may have un-claimed it, and whoever used the connection since would have met
// the loss and told nobody.
func TestClaims_NotBeforeWhatRunsIsAsserted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	e.drop("claimer")
	for range 3 { // the loss; a connection that is new
		if holds, err := e.claimer.Claims(t.Context(), e.me, nil, true); err == nil {
			t.Errorf("held %v, before anything was asserted", holds)
		}
	}
	e.assert(e.claimer, e.me, scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local", CreatedAt: j.Submitted()})
	if holds, err := e.claimer.Claims(t.Context(), e.me, nil, true); err != nil || len(holds) != 1 {
		t.Errorf("held %v, %v", holds, err)
	}
}

// On a connection that was made behind everybody's back nothing is claimed:
// the database may have crashed in between, and a ready job be running here.
func TestClaim_NotBeforeWhatRunsIsAsserted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	id := e.insert("type", "'cat'")
	e.drop("claimer")
	_, _ = e.claimer.Claims(t.Context(), e.me, nil, true) // it meets the loss, and whoever comes next a new connection
	for range 2 {
		if jobs, err := e.claimer.Claim(t.Context(), e.me, demand(1)); err == nil || len(jobs) > 0 {
			t.Errorf("claimed %v, %v", ids(jobs), err)
		}
	}
	if _, err := e.claimer.Reassert(t.Context(), e.me, nil); err != nil { // a part is not all
		t.Fatal(err)
	}
	if _, err := e.claimer.Claim(t.Context(), e.me, demand(1)); err == nil {
		t.Error("claimed after a part was asserted")
	}
	e.assert(e.claimer, e.me, scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local", CreatedAt: j.Submitted()})
	if jobs := e.claim(demand(1)); len(jobs) != 1 || jobs[0].Claim.Job != id {
		t.Errorf("claimed %v", ids(jobs))
	}
}

// After a crash, which empties unlogged tables, whoever may still run jobs that
// are ready is waited for; not those that are gone.
func TestClaim_OthersThatHaveNotAsserted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	other := desk(e, NewClaimer)
	second, third := e.register("second", time.Minute), e.register("third", time.Minute)
	e.assert(other, second)
	if _, not := e.assert(e.claimer, e.me); !slices.Equal(not, []string{"third"}) {
		t.Errorf("not asserted: %v", not)
	}
	e.exec("truncate bellhop.asserted")
	if _, not := e.assert(e.claimer, e.me); !slices.Equal(not, []string{"second", "third"}) {
		t.Errorf("not asserted: %v", not)
	}
	if _, _, err := e.registry.MarkGone(t.Context(), third, "a test", true); err != nil {
		t.Fatal(err)
	}
	if _, not := e.assert(other, second); len(not) > 0 {
		t.Errorf("not asserted: %v", not)
	}
}
