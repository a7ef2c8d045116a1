package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// needs makes a job that needs others.
func (o *office) needs(needs ...scheduler.JobID) scheduler.JobID {
	o.Helper()
	return o.needing("type", "'cat'", needs...)
}

func (o *office) needing(columns, values string, needs ...scheduler.JobID) scheduler.JobID {
	o.Helper()
	tx, err := o.conn.Begin(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	id := o.insert(columns, values)
	for _, n := range needs {
		o.depend(id, n)
	}
	if err := tx.Commit(o.Context()); err != nil {
		o.Fatal(err)
	}
	return id
}

func (o *office) depend(job, needs scheduler.JobID) {
	o.Helper()
	o.exec("insert into bellhop.dependency (job, needs) values ($1, $2)", int64(job), int64(needs))
}

// end claims everything that is ready, expects it to be these, and ends all of them in one state.
func (o *office) end(state scheduler.JobState, want ...scheduler.JobID) {
	o.Helper()
	jobs := o.claim(demand(100))
	if fmt.Sprint(ids(jobs)) != fmt.Sprint(want) {
		o.Fatalf("claimed %v, want %v", ids(jobs), want)
	}
	var records []scheduler.Record
	for _, j := range jobs {
		records = append(records, settle(j, scheduler.Result{Child: "cat.1", Error: "no luck", ExitCode: 3, Ended: time.Now()}, scheduler.Verdict{State: state, Counts: true}))
	}
	o.mustWrite(records...)
}

func (o *office) states(want string, jobs ...scheduler.JobID) {
	o.Helper()
	var got []string
	for _, id := range jobs {
		got = append(got, o.column(id, "state"))
	}
	if s := strings.Join(got, " "); s != want {
		o.Errorf("jobs %v are %s, want %s", jobs, s, want)
	}
}

// fails runs a statement that must be refused, and gives the message.
func (o *office) fails(text string, args ...any) string {
	o.Helper()
	_, err := o.conn.Exec(o.Context(), text, args...)
	if err == nil {
		o.Fatalf("%s was not refused", text)
	}
	return err.Error()
}

func TestDependency_IsWaitedFor(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	source := o.needs()
	left, right := o.needs(source), o.needs(source)
	sink := o.needs(left, right)
	o.states("ready blocked blocked blocked", source, left, right, sink)
	o.want(sink, "unmet", "2")
	o.end(scheduler.Succeeded, source)
	o.states("succeeded ready ready blocked", source, left, right, sink)
	o.end(scheduler.Succeeded, left, right)
	o.want(sink, "unmet", "")
	o.want(sink, "waiting_for", "")
	o.end(scheduler.Succeeded, sink)
}

func TestDependency_InOneStatementWithItsJob(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	first := o.needs()
	o.exec(`with j as (insert into bellhop.jobqueue (type, key, priority_name, run_at) values ('cat', 'k', 'a', now() + interval '1 hour') returning id)
	        insert into bellhop.dependency (job, needs) select id, $1 from j`, int64(first))
	id := first + 1
	o.states("ready blocked", first, id)
	o.want(id, "priority", "-13")
	o.end(scheduler.Succeeded, first)
	o.states("succeeded scheduled", first, id)
}

func TestDependency_WhatBecomesOfAJobWhenOneItNeedsFails(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ ends, wanted, onFailure, state, error, waits string }{
		{"succeeded", "{succeeded}", "fail", "ready", "", ""},
		{"failed", "{succeeded}", "fail", "failed", "it needs job 1 (a), which is failed", ""},
		{"cancelled", "{succeeded}", "fail", "failed", "it needs job 1 (a), which is cancelled", ""},
		{"quarantined", "{succeeded}", "fail", "failed", "it needs job 1 (a), which is quarantined", ""},
		{"failed", "{succeeded}", "block", "blocked", "", "failed_dependency: job 1 (a)"},
		{"failed", "{succeeded}", "run", "ready", "", ""},
		{"failed", "{failed,quarantined}", "fail", "ready", "", ""},
		{"succeeded", "{failed}", "fail", "failed", "it needs job 1 (a), which is succeeded", ""},
		{"succeeded", "{failed,succeeded}", "fail", "ready", "", ""},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s wanted %s on_failure %s late %v", how.ends, how.wanted, how.onFailure, late), func(t *testing.T) {
				t.Parallel()
				o := openOffice(t)
				a := o.insert("type, key", "'cat', 'a'")
				depend := func() (b scheduler.JobID) {
					b = o.insert("type, run_at, on_failure", "'dog', null, '"+how.onFailure+"'")
					o.exec("insert into bellhop.dependency (job, needs, wanted) values ($1, $2, $3)", int64(b), int64(a), how.wanted)
					return b
				}
				var b scheduler.JobID
				if !late {
					b = depend()
					o.states("blocked", b)
				}
				o.end(scheduler.JobState(how.ends), a)
				if late {
					b = depend()
				}
				o.states(how.state, b)
				o.want(b, "error", how.error)
				o.want(b, "waiting_for", how.waits)
				if o.due(); how.state == "ready" && o.one("select bool_and(met) from bellhop.dependency") != "true" {
					t.Error("the dependency is not met")
				}
			})
		}
	}
}

func TestDependency_NamesTheFailedAncestor(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	first := o.insert("type, key", "'cat', 'billing'")
	second := o.needing("type, key", "'cat', 'shipping'", first)
	third := o.needing("type, key", "'cat', 'notify'", second)
	anyway := o.needing("type, on_failure", "'cat', 'run'", third)
	o.end(scheduler.Failed, first)
	o.states("failed failed failed ready", first, second, third, anyway)
	o.want(second, "error", "it needs job 1 (billing), which is failed")
	o.want(third, "error", "it needs job 2 (shipping), which is failed because of job 1 (billing)")
	o.want(third, "ended_by", "1")
	late := o.needs(third)
	o.want(late, "error", "it needs job 3 (notify), which is failed because of job 1 (billing)")
}

func TestDependency_ARetryOfWhatFailedReleasesWhoeverWasBlocked(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	first, other := o.needs(), o.needs()
	blocked := o.needing("type, on_failure", "'cat', 'block'", first, other)
	o.end(scheduler.Failed, first, other)
	o.exec("select bellhop.retry($1)", int64(first))
	o.end(scheduler.Succeeded, first)
	o.states("succeeded failed blocked", first, other, blocked)
	// Once met, always met.
	o.exec("select bellhop.retry($1)", int64(first))
	o.end(scheduler.Failed, first)
	o.exec("select bellhop.retry($1)", int64(other))
	o.end(scheduler.Succeeded, other)
	o.end(scheduler.Succeeded, blocked)
}

func TestDependency_ARetryOfWhoeverFailedWaitsForWhatItNeeds(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	first := o.needs()
	second := o.needs(first)
	o.end(scheduler.Failed, first)
	if s := o.one("bellhop.retry($1)", int64(second)); s != "failed" {
		t.Errorf("while what it needs has failed, it is %s", s)
	}
	o.exec("select bellhop.retry($1)", int64(first))
	if s := o.one("bellhop.retry($1)", int64(second)); s != "blocked" {
		t.Errorf("while what it needs is tried again, it is %s", s)
	}
	o.due()
	o.end(scheduler.Succeeded, first)
	o.end(scheduler.Succeeded, second)
}

func TestDependency_ReleaseIsRecursive(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.needing("type, held", "'cat', true")
	b := o.needing("type, held", "'cat', true", a)
	c := o.needing("type, held", "'cat', true", b)
	dummy := o.needing("type, held", "'cat', true")
	o.depend(c, dummy)
	o.states("held held held held", a, b, c, dummy)
	o.exec("select bellhop.release($1)", int64(a))
	o.states("ready blocked blocked held", a, b, c, dummy)
	o.end(scheduler.Succeeded, a)
	o.end(scheduler.Succeeded, b)
	o.states("blocked held", c, dummy)
	// The real parent of the dummy comes later.
	real := o.needing("type, held", "'cat', true")
	o.depend(dummy, real)
	o.exec("select bellhop.release($1)", int64(real))
	o.end(scheduler.Succeeded, real)
	o.end(scheduler.Succeeded, dummy)
	o.end(scheduler.Succeeded, c)
}

func TestDependency_OfAJobThatHasStartedComesTooLate(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.running()
	b := o.needing("type, held", "'cat', true")
	insert := "insert into bellhop.dependency (job, needs) values ($1, $2)"
	has(t, o.fails(insert, int64(a.Claim.Job), int64(b)), "a dependency of job 1 comes too late: it has started")
	o.mustWrite(succeeded(a))
	has(t, o.fails(insert, int64(a.Claim.Job), int64(b)), "too late: it is succeeded")
	has(t, o.fails(insert, int64(b), 77), "there is no job 77 that job 2 could need")
	has(t, o.fails(insert, 77, int64(b)), "there is no job 77")
}

func has(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("no %q in %q", part, text)
	}
}

func TestDependency_CyclesAreRefusedAndPrinted(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a, b, c := o.insert("type, key", "'cat', 'a'"), o.insert("type, key", "'cat', 'b'"), o.insert("type", "'cat'")
	o.depend(b, a)
	o.depend(c, b)
	insert := "insert into bellhop.dependency (job, needs) values ($1, $2)"
	has(t, o.fails(insert, int64(a), int64(c)), "job 1 (a) needs job 3 needs job 2 (b) needs job 1 (a)")
	has(t, o.fails(insert, int64(a), int64(a)), "a job cannot wait for itself: job 1")
	// All at once.
	has(t, o.fails(`with j as (insert into bellhop.jobqueue (type) values ('cat'), ('cat') returning id)
		insert into bellhop.dependency (job, needs) select x.id, y.id from j x, j y where x.id <> y.id`), "wait for each other for ever")
	o.states("ready blocked blocked", a, b, c)
}

// Two sessions that each add half of a cycle meet: one of them is refused.
func TestDependency_CyclesOfTwoSessionsAreRefused(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a, b := o.needing("type, held", "'cat', true"), o.needing("type, held", "'cat', true")
	other, err := pgx.Connect(t.Context(), o.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	tx, err := o.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.depend(a, b)
	refused := make(chan error, 1)
	go func() {
		_, err := other.Exec(t.Context(), "insert into bellhop.dependency (job, needs) values ($1, $2)", int64(b), int64(a))
		refused <- err
	}()
	o.eventually("the second waits", "select exists (select from pg_locks where relation = 'bellhop.dependency_turn'::regclass and not granted)")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; err == nil || !strings.Contains(err.Error(), "wait for each other") {
		t.Errorf("the second was told: %v", err)
	}
}

// eventually waits for a condition, on a connection of its own.
func (o *office) eventually(what, query string) {
	o.Helper()
	conn, err := pgx.Connect(o.Context(), o.url)
	if err != nil {
		o.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for deadline := time.Now().Add(time.Minute); ; {
		var is bool
		if err := conn.QueryRow(o.Context(), query).Scan(&is); err != nil {
			o.Fatal(err)
		}
		if is {
			return
		}
		if time.Now().After(deadline) {
			o.Fatalf("not in a minute: %s", what)
		}
	}
}

// Whatever the triggers would have done: a job is not claimed before what it needs has ended well.
func TestDependency_HoldsWithEveryTriggerDisabled(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("alter table bellhop.jobqueue disable trigger all; alter table bellhop.dependency disable trigger all")
	first, second := o.needs(), o.needs()
	wants := o.needs(first)
	doomed := o.needs(second)
	lost := o.needs(999)
	round1, round2 := o.needs(), o.needs()
	o.depend(round1, round2)
	o.depend(round2, round1)
	o.states("ready ready ready ready", first, wants, doomed, lost)
	jobs := o.claim(demand(100))
	if fmt.Sprint(ids(jobs)) != fmt.Sprint([]scheduler.JobID{first, second}) {
		t.Fatalf("claimed %v", ids(jobs))
	}
	o.mustWrite(succeeded(jobs[0]))
	o.mustWrite(settle(jobs[1], scheduler.Result{}, scheduler.Verdict{State: scheduler.Failed}))
	o.states("ready failed", wants, doomed)
	o.due()
	o.states("ready failed failed failed", wants, doomed, lost, round1)
	o.want(lost, "error", "it needs job 999, which was deleted")
	has(t, o.column(round1, "error"), "these jobs wait for each other for ever: job 6 needs job 7 needs job 6")
	o.states("failed", round2)
	o.end(scheduler.Succeeded, wants)
}

// A round of held jobs is found while they are held: when they are released, their dependencies are counted
// already, and nobody looks at them again.
func TestDependency_ARoundOfHeldJobs(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("alter table bellhop.dependency disable trigger all")
	one, two := o.insert("type, held", "'cat', true"), o.insert("type, held", "'cat', true")
	o.depend(one, two)
	o.depend(two, one)
	o.due()
	has(t, o.column(one, "error"), "these jobs wait for each other for ever: job 1 needs job 2 needs job 1")
	o.exec("select bellhop.release(id) from bellhop.jobqueue")
	o.due()
	o.states("failed failed", one, two)
}

// A dependency that is committed while the outcome of what it is on is being recorded is not missed.
func TestDependency_ThatCameWhileWhatItNeedsEnded(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"outcome", "dependency"} {
		t.Run(first+" committed first", func(t *testing.T) {
			t.Parallel()
			o := openOffice(t)
			a := o.running()
			tx, err := o.conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b := o.insert("type", "'cat'")
			o.depend(b, a.Claim.Job)
			o.states("blocked", b)
			if first == "outcome" {
				o.mustWrite(succeeded(a)) // does not wait for the app's transaction
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if first == "dependency" {
				o.mustWrite(succeeded(a))
			} else {
				o.states("blocked", b)
				o.due() // the transaction rang for it
			}
			o.end(scheduler.Succeeded, b)
		})
	}
}

// An outcome does not wait for an app that has a waiting job in hand.
func TestDependency_OutcomesWaitForNobody(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.running()
	b := o.needs(a.Claim.Job)
	other := o.needing("type, held", "'cat', true")
	o.due()
	tx, err := o.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.depend(b, other) // locks b until the app commits
	o.mustWrite(succeeded(a))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.want(b, "unmet", "2")
	o.due()
	o.want(b, "unmet", "1")
	o.exec("select bellhop.release($1)", int64(other))
	o.end(scheduler.Succeeded, other)
	o.end(scheduler.Succeeded, b)
}

// Two instances that each end one of two jobs that a third needs: whichever is last releases it.
func TestDependency_TwoParentsEndAtOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	second := o.register("second", time.Minute)
	o.assert(o.claimer, second)
	recorder := desk(o, NewRecorder)
	for range 50 {
		a, b := o.running(), scheduler.Job{}
		o.insert("type", "'cat'")
		jobs, err := o.claimer.Claim(t.Context(), second, demand(1))
		if err != nil {
			t.Fatal(err)
		}
		b = jobs[0]
		c := o.needs(a.Claim.Job, b.Claim.Job)
		o.due()
		end := make(chan error)
		go func() {
			_, _, err := recorder.Write(t.Context(), second, scheduler.Batch{Records: []scheduler.Record{succeeded(b)}}, time.Now())
			end <- err
		}()
		o.mustWrite(succeeded(a))
		if err := <-end; err != nil {
			t.Fatal(err)
		}
		o.due() // one that met the other's lock left it to this
		o.end(scheduler.Succeeded, c)
	}
}

func TestDependency_DeletedJobs(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a, b := o.needs(), o.needs()
	fails, waits := o.needs(a), o.needs(b)
	o.exec("delete from bellhop.jobqueue where id = $1", int64(a))
	o.due()
	o.states("failed", fails)
	o.exec("delete from bellhop.dependency where job = $1", int64(waits))
	o.end(scheduler.Succeeded, b, waits)
	o.exec("truncate bellhop.jobqueue, bellhop.dependency")
	o.needs(o.needs())
	o.exec("truncate bellhop.jobqueue")
	if n := o.one("select count(*) from bellhop.dependency"); n != "0" {
		t.Errorf("%s dependencies of no job", n)
	}
}

func TestSubmit_WithWhatItNeeds(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a, b := o.insert("type, key", "'cat', 'a'"), o.insert("type, key", "'cat', 'b'")
	submit := "select bellhop.submit('cat', 'x', key => 'k', after => $1, after_keys => $2, wanted => $3)"
	id := o.one("bellhop.submit('cat', 'x', key => 'k', after => $1, after_keys => $2)", []int64{int64(a)}, []string{"b"})
	o.states("blocked", 3)
	o.want(3, "unmet", "2")
	o.end(scheduler.Succeeded, a, b)
	o.end(scheduler.Succeeded, 3)
	if again := o.one("bellhop.submit('cat', 'x', key => 'k', after => $1, after_keys => $2)", []int64{int64(a)}, []string{"b"}); again != id {
		t.Errorf("submitted again it is job %s, not %s", again, id)
	}
	o.states("succeeded", 3)
	c := o.needs()
	has(t, o.fails(submit, []int64{int64(c)}, nil, []string{"succeeded"}), "it has no need of job "+fmt.Sprint(c))
	has(t, o.fails(submit, []int64{int64(a)}, nil, []string{"failed"}), "need of job 1 (a) as {succeeded}, not {failed}")
	has(t, o.fails("select bellhop.submit('cat', after_keys => '{zz}')"), "there is no job with the key \"zz\"")
	has(t, o.fails("select bellhop.submit('cat', after => '{77}')"), "there is no job 77")
	has(t, o.fails("select bellhop.submit('cat', after => '{1}', wanted => '{done}')"), "dependency_wanted_ends")
}

// A long chain of failures does not hold up the outcomes behind it: the rest of it is the keeper's.
func TestDependency_ALongChainFailsInParts(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	const long = 180
	o.exec("insert into bellhop.jobqueue (type) select 'cat' from generate_series(1, $1::int)", long)
	o.exec("insert into bellhop.dependency (job, needs) select g, g - 1 from generate_series(2, $1::int) g", long)
	failed := func() string { return o.one("select count(*) from bellhop.jobqueue where state = 'failed'") }
	o.due()
	o.end(scheduler.Failed, 1)
	if n := failed(); n == fmt.Sprint(long) || n == "1" {
		t.Errorf("%s failed at once", n)
	}
	for rounds := 0; failed() != fmt.Sprint(long); rounds++ {
		if rounds > long {
			t.Fatalf("after %d rounds %s have failed", rounds, failed())
		}
		if _, next := o.due(); next < 0 && failed() != fmt.Sprint(long) {
			t.Fatalf("nobody would look again, and %s have failed", failed())
		}
	}
	o.want(long, "ended_by", "1")
}

// Whatever ends a job deals with those who need it.
func TestDependency_WhateverEndsAJob(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(o *office, j scheduler.Job){
		"cancelled while it runs, and given back": func(o *office, j scheduler.Job) {
			o.mustWrite(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim, Attempt: 1})
		},
		"cancelled while it runs, and its instance dies": func(o *office, _ scheduler.Job) {
			if did, _, err := o.registry.Bury(o.Context(), o.me, "dead", true); err != nil || !did {
				o.Fatal(did, err)
			}
		},
		"cancelled while it runs, claimed by one that was gone": func(o *office, _ scheduler.Job) {
			o.exec("update bellhop.instance set state = 'gone'")
			o.due()
		},
		"cancelled instead of being tried again": func(o *office, j scheduler.Job) {
			o.mustWrite(settle(j, scheduler.Result{Ended: time.Now()}, scheduler.Verdict{State: scheduler.Scheduled}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t)
			j := o.running()
			fails, runs := o.needs(j.Claim.Job), o.needing("type, on_failure", "'cat', 'run'", j.Claim.Job)
			o.due()
			o.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
			o.states("running blocked blocked", j.Claim.Job, fails, runs)
			end(o, j)
			o.states("cancelled failed ready", j.Claim.Job, fails, runs)
		})
	}
}
