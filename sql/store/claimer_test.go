package store

import (
	"cmp"
	"context"
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
	o := openOffice(t)
	type job struct {
		priority int
		id       scheduler.JobID
	}
	var want []job
	for i := range 40 {
		p := i*7%5 - 2
		want = append(want, job{p, o.insert("type, priority", "'cat', "+[]string{"-2", "-1", "0", "1", "2"}[p+2])})
	}
	slices.SortFunc(want, func(a, b job) int { return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id)) })
	for len(want) > 0 {
		n := min(7, len(want))
		d := demand(n)
		d.Assigned = len(want)%2 == 0 // one way and the other
		for i, j := range o.claim(d) {
			if j.Claim.Job != want[i].id || j.Priority != want[i].priority {
				t.Errorf("job %d of priority %d, want %d of %d", j.Claim.Job, j.Priority, want[i].id, want[i].priority)
			}
			if state := o.column(j.Claim.Job, "state"); j.Assigned != d.Assigned || (state == "assigned") != j.Assigned {
				t.Errorf("assigned %v, want %v; state %s", j.Assigned, d.Assigned, state)
			}
		}
		want = want[n:]
	}
}

func TestClaim_BringsAllThatStartsAJob(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("set bellhop.traceparent = '00-aa-bb-01'")
	full := o.insert("type, args, key, vars, timeout, max_attempts, run_on, priority", `'cat', 'a "b"', 'k', '{"A": "1"}', '1 min 2 s', 3, 'local', -5`)
	empty := o.insert("type, args, priority", "'cat', '', -4")
	none := o.insert("type, timeout, priority", "'cat', '100 years', -3")
	msq := o.insert("type, msq, repeat", "'cat', 'select 1', 'once'")
	jobs := o.claim(demand(9))
	if !slices.Equal(ids(jobs), []scheduler.JobID{full, empty, none, msq}) {
		t.Fatalf("claimed %v", ids(jobs))
	}
	j := jobs[0]
	if j.Args != `a "b"` || !j.HasArgs || j.Key != "k" || j.Vars.Map()["A"] != "1" || j.Timeout != 62*time.Second || j.MaxAttempts != 3 ||
		j.Attempt != 1 || j.Fence != 1 || j.Trace != "00-aa-bb-01" || j.Host != "local" || j.MSQ != "" || j.Deaths != 0 || j.Item != 0 {
		t.Errorf("%+v", j)
	}
	if !jobs[1].HasArgs || jobs[1].Args != "" || jobs[2].HasArgs || jobs[2].Timeout < 99*365*24*time.Hour {
		t.Errorf("%+v\n%+v", jobs[1], jobs[2])
	}
	if jobs[3].MSQ != "select 1" || jobs[3].Repeat != scheduler.RepeatOnce || jobs[3].HasArgs {
		t.Errorf("%+v", jobs[3])
	}
	o.want(full, "instance", o.one("select $1::bigint", int64(o.me)))
	o.want(full, "started_at is not null and attempt_at is null", "true")
}

func TestClaim_NeverTakesWhatMayNotStart(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("alter table bellhop.jobqueue disable trigger user") // the claim tests for itself
	o.insert("type, held", "'cat', true")
	o.insert("type, run_at", "'cat', clock_timestamp() + interval '1 hour'")
	o.insert("type", "'dog'")
	o.insert("type, run_on", "'cat', 'elsewhere'")
	o.insert("type, priority", "'cat', 6")
	o.insert("type, msq", "'cat', 'select 1'")
	for _, state := range scheduler.JobStates {
		if state != scheduler.Ready {
			o.insert("type, state", "'cat', '"+string(state)+"'")
		}
	}
	d := demand(100)
	d.Types[0].Worst, d.MSQ = 5, false
	if jobs := o.claim(d); len(jobs) > 0 {
		t.Errorf("claimed %v", ids(jobs))
	}
	past := o.insert("type, run_at", "'cat', clock_timestamp() - interval '1 ms'")
	if jobs := o.claim(d); !slices.Equal(ids(jobs), []scheduler.JobID{past}) {
		t.Errorf("claimed %v, want %d whose time has come", ids(jobs), past)
	}
	if jobs := o.claim(demand(100)); len(jobs) != 2 {
		t.Errorf("claimed %d, want the MSQ job and the one of a worse priority", len(jobs))
	}
}

func TestClaim_OnlyForWhoLives(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	id := o.insert("type", "'cat'")
	if _, _, err := o.registry.Bury(t.Context(), o.me, "the test says so", true); err != nil {
		t.Fatal(err)
	}
	if jobs := o.claim(demand(1)); len(jobs) > 0 {
		t.Error("one that was taken for dead claims")
	}
	o.want(id, "state", "ready")
}

func TestClaim_KeepsToItsBounds(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("insert into bellhop.jobqueue (type) select unnest(array['a', 'b', 'c']) from generate_series(1, 10)")
	count := func(d scheduler.Demand) map[scheduler.TypeName]int {
		n := map[scheduler.TypeName]int{}
		for _, j := range o.claim(d) {
			n[j.Type]++
		}
		return n
	}
	d := scheduler.Demand{Host: "local", Total: 5, Types: []scheduler.TypeDemand{{Type: "a", Most: 2, Worst: 19}, {Type: "b", Most: 3, Worst: 19}}}
	if n := count(d); !maps.Equal(n, map[scheduler.TypeName]int{"a": 2, "b": 3}) {
		t.Errorf("%v", n)
	}
	// Of those that wait for children, no more in all than there is room, in the order of the queue.
	d = scheduler.Demand{Host: "local", Total: 5, Assigned: true, Types: []scheduler.TypeDemand{{Type: "a", Most: 3, Worst: 19}, {Type: "b", Most: 4, Worst: 19}}}
	if n := count(d); n["a"]+n["b"] != 5 || n["a"] > 3 || n["a"] < 2 {
		t.Errorf("%v", n)
	}
}

func TestClaim_TwoAtOnceNeverShareAJob(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	const n = 600
	o.exec("insert into bellhop.jobqueue (type, priority) select 'cat', g % 3 from generate_series(1, $1) g", n)
	other := desk(o, NewClaimer)
	second := o.register("second", time.Minute)
	o.assert(other, second)
	var mu sync.Mutex
	taken := map[scheduler.JobID]scheduler.InstanceID{}
	var all sync.WaitGroup
	for _, who := range []struct {
		desk *Claimer
		id   scheduler.InstanceID
	}{{o.claimer, o.me}, {other, second}} {
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
	o := openOffice(t)
	locked, next := o.insert("type", "'cat'"), o.insert("type", "'cat'")
	err := pgx.BeginFunc(t.Context(), o.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "select 1 from bellhop.jobqueue where id = $1 for update", int64(locked)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		jobs, err := o.claimer.Claim(ctx, o.me, demand(5))
		if !slices.Equal(ids(jobs), []scheduler.JobID{next}) {
			t.Errorf("claimed %v, want %d", ids(jobs), next)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if jobs := o.claim(demand(5)); !slices.Equal(ids(jobs), []scheduler.JobID{locked}) {
		t.Errorf("then claimed %v, want %d", ids(jobs), locked)
	}
}

func TestReassert_TakesOnlyRowsAsTheyWereBeforeTheClaim(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	hold := func(j scheduler.Job) scheduler.Hold {
		return scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local"}
	}
	lost, fine, elsewhere, deleted, changed, held := o.running(), o.running(), o.running(), o.running(), o.running(), o.running()
	// What a crash of the database undoes is a claim that was committed asynchronously.
	undo := `update bellhop.jobqueue set state = 'ready', fence = fence - 1, attempt = attempt - 1, instance = null, host = null, started_at = null where id = any ($1)`
	o.exec(undo, []int64{int64(lost.Claim.Job), int64(elsewhere.Claim.Job), int64(changed.Claim.Job), int64(held.Claim.Job)})
	second := o.register("second", time.Minute)
	o.exec("update bellhop.jobqueue set state = 'running', fence = fence + 1, attempt = attempt + 1, instance = $2 where id = $1", int64(elsewhere.Claim.Job), int64(second))
	o.exec("delete from bellhop.jobqueue where id = $1", int64(deleted.Claim.Job))
	o.exec("update bellhop.jobqueue set state = 'cancelled' where id = $1", int64(changed.Claim.Job))
	o.exec("update bellhop.jobqueue set state = 'held', held = true where id = $1", int64(held.Claim.Job))
	var holds []scheduler.Hold
	before := map[scheduler.JobID]string{}
	for _, j := range []scheduler.Job{lost, fine, elsewhere, deleted, changed, held} {
		holds = append(holds, hold(j))
		if j.Claim.Job != deleted.Claim.Job {
			before[j.Claim.Job] = o.row(j.Claim.Job)
		}
	}
	n, err := o.claimer.Reassert(t.Context(), o.me, holds)
	if err != nil || n != 1 {
		t.Errorf("%d re-asserted, want one (%v)", n, err)
	}
	o.want(lost.Claim.Job, "format('%s %s %s %s', state, fence, attempt, instance)", o.one("select format('running 1 1 %s', $1::bigint)", int64(o.me)))
	for id, row := range before {
		if id != lost.Claim.Job && o.row(id) != row {
			t.Errorf("job %d was changed:\n%s\n%s", id, row, o.row(id))
		}
	}
	o.mustWrite(succeeded(lost)) // under its own fence
	if _, _, err := o.registry.Bury(t.Context(), o.me, "dead", true); err != nil {
		t.Fatal(err)
	}
	o.exec("update bellhop.jobqueue set state = 'ready', fence = 0, attempt = 0, instance = null where id = $1", int64(fine.Claim.Job))
	if n, err := o.claimer.Reassert(t.Context(), o.me, holds); err != nil || n != 0 {
		t.Errorf("one that was taken for dead re-asserted %d (%v)", n, err)
	}
}

func TestHeld_IsWhatTheInstanceHoldsNow(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a, b, over := o.running(), o.running(), o.running()
	o.insert("type", "'cat'") // ready: nobody's
	o.mustWrite(succeeded(over))
	o.exec("select bellhop.cancel($1)", int64(a.Claim.Job))
	o.exec("select bellhop.cancel($1, now => true)", int64(b.Claim.Job))
	holds, err := o.claimer.Held(t.Context(), o.me)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(holds, func(x, y scheduler.Hold) int { return cmp.Compare(x.Job, y.Job) })
	want := []scheduler.Hold{{Claim: a.Claim, Cancel: true}, {Claim: b.Claim, Cancel: true, CancelNow: true}}
	if !slices.Equal(holds, want) {
		t.Errorf("held %+v, want %+v", holds, want)
	}
}

func TestDesk_AConnectionThatBrokeIsReplaced(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	j := o.running()
	o.drop("claimer")
	if _, err := o.claimer.Held(t.Context(), o.me); err == nil {
		t.Error("no error, though the connection is gone")
	}
	if holds, err := o.claimer.Held(t.Context(), o.me); err != nil || len(holds) != 1 || holds[0].Claim != j.Claim {
		t.Errorf("on the next connection: %v, %v", holds, err)
	}
}

// On a connection that was made behind everybody's back nothing is claimed:
// the database may have crashed in between, and a ready job be running here.
func TestClaim_NotBeforeWhatRunsIsAsserted(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	j := o.running()
	id := o.insert("type", "'cat'")
	o.drop("claimer")
	_, _ = o.claimer.Held(t.Context(), o.me) // it meets the loss, and whoever comes next a new connection
	for range 2 {
		if jobs, err := o.claimer.Claim(t.Context(), o.me, demand(1)); err == nil || len(jobs) > 0 {
			t.Errorf("claimed %v, %v", ids(jobs), err)
		}
	}
	if _, err := o.claimer.Reassert(t.Context(), o.me, nil); err != nil { // a part is not all
		t.Fatal(err)
	}
	if _, err := o.claimer.Claim(t.Context(), o.me, demand(1)); err == nil {
		t.Error("claimed after a part was asserted")
	}
	o.assert(o.claimer, o.me, scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local"})
	if jobs := o.claim(demand(1)); len(jobs) != 1 || jobs[0].Claim.Job != id {
		t.Errorf("claimed %v", ids(jobs))
	}
}

// After a crash, which empties unlogged tables, whoever may still run jobs that
// are ready is waited for; not those that are gone.
func TestClaim_OthersThatHaveNotAsserted(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	other := desk(o, NewClaimer)
	second, third := o.register("second", time.Minute), o.register("third", time.Minute)
	o.assert(other, second)
	if _, not := o.assert(o.claimer, o.me); !slices.Equal(not, []string{"third"}) {
		t.Errorf("not asserted: %v", not)
	}
	o.exec("truncate bellhop.asserted")
	if _, not := o.assert(o.claimer, o.me); !slices.Equal(not, []string{"second", "third"}) {
		t.Errorf("not asserted: %v", not)
	}
	if _, _, err := o.registry.Bury(t.Context(), third, "a test", true); err != nil {
		t.Fatal(err)
	}
	if _, not := o.assert(other, second); len(not) > 0 {
		t.Errorf("not asserted: %v", not)
	}
}
