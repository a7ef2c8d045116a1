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
func (e *env) needs(needs ...scheduler.JobID) scheduler.JobID {
	e.Helper()
	return e.needing("type", "'cat'", needs...)
}

func (e *env) needing(columns, values string, needs ...scheduler.JobID) scheduler.JobID {
	e.Helper()
	tx, err := e.conn.Begin(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	id := e.insert(columns, values)
	for _, n := range needs {
		e.depend(id, n)
	}
	if err := tx.Commit(e.Context()); err != nil {
		e.Fatal(err)
	}
	return id
}

func (e *env) depend(job, needs scheduler.JobID) {
	e.Helper()
	e.exec("insert into bellhop.dependency (job, needs) values ($1, $2)", int64(job), int64(needs))
}

// end claims everything that is ready, expects it to be these, and ends all of them in one state.
func (e *env) end(state scheduler.JobState, want ...scheduler.JobID) {
	e.Helper()
	jobs := e.claim(demand(100))
	if fmt.Sprint(ids(jobs)) != fmt.Sprint(want) {
		e.Fatalf("claimed %v, want %v", ids(jobs), want)
	}
	var records []scheduler.Record
	for _, j := range jobs {
		records = append(records,
			settle(j, scheduler.Result{Child: "cat.1", Error: "no luck", ExitCode: 3, Ended: time.Now()},
				scheduler.Verdict{State: state, Counts: true}))
	}
	e.mustWrite(records...)
}

func (e *env) states(want string, jobs ...scheduler.JobID) {
	e.Helper()
	var got []string
	for _, id := range jobs {
		got = append(got, e.column(id, "state"))
	}
	if s := strings.Join(got, " "); s != want {
		e.Errorf("jobs %v are %s, want %s", jobs, s, want)
	}
}

// fails runs a statement that must be refused, and gives the message.
func (e *env) fails(text string, args ...any) string {
	e.Helper()
	_, err := e.conn.Exec(e.Context(), text, args...)
	if err == nil {
		e.Fatalf("%s was not refused", text)
	}
	return err.Error()
}

func TestDependency_IsWaitedFor(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	source := e.needs()
	left, right := e.needs(source), e.needs(source)
	sink := e.needs(left, right)
	e.states("ready blocked blocked blocked", source, left, right, sink)
	e.want(sink, "unmet", "2")
	e.end(scheduler.Succeeded, source)
	e.states("succeeded ready ready blocked", source, left, right, sink)
	e.end(scheduler.Succeeded, left, right)
	e.want(sink, "unmet", "")
	e.want(sink, "waiting_for", "")
	e.end(scheduler.Succeeded, sink)
}

func TestDependency_InOneStatementWithItsJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.needs()
	e.exec(`with j as (insert into bellhop.jobqueue (type, key, priority_name, run_at) values ('cat', 'k', 'a', now() + interval '1 hour') returning id)
	        insert into bellhop.dependency (job, needs) select id, $1 from j`, int64(first))
	id := first + 1
	e.states("ready blocked", first, id)
	e.want(id, "priority", "-13")
	e.end(scheduler.Succeeded, first)
	e.states("succeeded scheduled", first, id)
}

func TestDependency_WhatBecomesOfAJobWhenOneItNeedsFails(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ ends, wanted, onFailure, state, error, waits string }{
		{"succeeded", "{succeeded}", "fail", "ready", "", ""},
		{"failed", "{succeeded}", "fail", "failed", "job 1 (a), which it needs, failed", ""},
		{"cancelled", "{succeeded}", "fail", "failed", "job 1 (a), which it needs, was cancelled", ""},
		{"quarantined", "{succeeded}", "fail", "failed", "job 1 (a), which it needs, is quarantined", ""},
		{"failed", "{succeeded}", "block", "blocked", "", "failed_dependency: job 1 (a)"},
		{"failed", "{succeeded}", "run", "ready", "", ""},
		{"failed", "{failed,quarantined}", "fail", "ready", "", ""},
		{"succeeded", "{failed}", "fail", "failed", "job 1 (a), which it needs, succeeded", ""},
		{"succeeded", "{failed,succeeded}", "fail", "ready", "", ""},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s wanted %s on_failure %s late %v", how.ends, how.wanted, how.onFailure, late),
				func(t *testing.T) {
					t.Parallel()
					e := openEnv(t)
					a := e.insert("type, key", "'cat', 'a'")
					depend := func() (b scheduler.JobID) {
						b = e.insert("type, run_at, on_failure", "'dog', null, '"+how.onFailure+"'")
						e.exec("insert into bellhop.dependency (job, needs, wanted) values ($1, $2, $3)", int64(b), int64(a), how.wanted)
						return b
					}
					var b scheduler.JobID
					if !late {
						b = depend()
						e.states("blocked", b)
					}
					e.end(scheduler.JobState(how.ends), a)
					if late {
						b = depend()
					}
					e.states(how.state, b)
					e.want(b, "error", how.error)
					e.want(b, "waiting_for", how.waits)
					if e.due(); how.state == "ready" && e.one("select bool_and(met) from bellhop.dependency") != "true" {
						t.Error("the dependency is not met")
					}
				})
		}
	}
}

func TestDependency_NamesTheFailedAncestor(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.insert("type, key", "'cat', 'billing'")
	second := e.needing("type, key", "'cat', 'shipping'", first)
	third := e.needing("type, key", "'cat', 'notify'", second)
	anyway := e.needing("type, on_failure", "'cat', 'run'", third)
	e.end(scheduler.Failed, first)
	e.states("failed failed failed ready", first, second, third, anyway)
	e.want(second, "error", "job 1 (billing), which it needs, failed")
	e.want(third, "error", "job 2 (shipping), which it needs, failed because of job 1 (billing)")
	e.want(third, "ended_by", "1")
	late := e.needs(third)
	e.want(late, "error", "job 3 (notify), which it needs, failed because of job 1 (billing)")
}

func TestDependency_ARetryOfWhatFailedReleasesWhoeverWasBlocked(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first, other := e.needs(), e.needs()
	blocked := e.needing("type, on_failure", "'cat', 'block'", first, other)
	e.end(scheduler.Failed, first, other)
	e.exec("select bellhop.retry($1)", int64(first))
	e.end(scheduler.Succeeded, first)
	e.states("succeeded failed blocked", first, other, blocked)
	// Once met, always met.
	e.exec("select bellhop.retry($1)", int64(first))
	e.end(scheduler.Failed, first)
	e.exec("select bellhop.retry($1)", int64(other))
	e.end(scheduler.Succeeded, other)
	e.end(scheduler.Succeeded, blocked)
}

func TestDependency_ARetryOfWhoeverFailedWaitsForWhatItNeeds(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.needs()
	second := e.needs(first)
	e.end(scheduler.Failed, first)
	if s := e.one("bellhop.retry($1)", int64(second)); s != "failed" {
		t.Errorf("while what it needs has failed, it is %s", s)
	}
	e.exec("select bellhop.retry($1)", int64(first))
	if s := e.one("bellhop.retry($1)", int64(second)); s != "blocked" {
		t.Errorf("while what it needs is tried again, it is %s", s)
	}
	e.due()
	e.end(scheduler.Succeeded, first)
	e.end(scheduler.Succeeded, second)
}

func TestDependency_ReleaseIsRecursive(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a := e.needing("type, held", "'cat', true")
	b := e.needing("type, held", "'cat', true", a)
	c := e.needing("type, held", "'cat', true", b)
	dummy := e.needing("type, held", "'cat', true")
	e.depend(c, dummy)
	e.states("held held held held", a, b, c, dummy)
	e.exec("select bellhop.release($1)", int64(a))
	e.states("ready blocked blocked held", a, b, c, dummy)
	e.end(scheduler.Succeeded, a)
	e.end(scheduler.Succeeded, b)
	e.states("blocked held", c, dummy)
	// The real parent of the dummy comes later.
	real := e.needing("type, held", "'cat', true")
	e.depend(dummy, real)
	e.exec("select bellhop.release($1)", int64(real))
	e.end(scheduler.Succeeded, real)
	e.end(scheduler.Succeeded, dummy)
	e.end(scheduler.Succeeded, c)
}

func TestDependency_OfAJobThatHasStartedComesTooLate(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a := e.running()
	b := e.needing("type, held", "'cat', true")
	insert := "insert into bellhop.dependency (job, needs) values ($1, $2)"
	has(t, e.fails(insert, int64(a.Claim.Job), int64(b)), "a dependency of job 1 comes too late: it has started")
	e.mustWrite(succeeded(a))
	has(t, e.fails(insert, int64(a.Claim.Job), int64(b)), "too late: it is succeeded")
	has(t, e.fails(insert, int64(b), 77), "there is no job 77 that job 2 could need")
	has(t, e.fails(insert, 77, int64(b)), "there is no job 77")
}

func has(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("no %q in %q", part, text)
	}
}

func TestDependency_CyclesAreRefusedAndPrinted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a, b, c := e.insert("type, key", "'cat', 'a'"), e.insert("type, key", "'cat', 'b'"), e.insert("type", "'cat'")
	e.depend(b, a)
	e.depend(c, b)
	insert := "insert into bellhop.dependency (job, needs) values ($1, $2)"
	has(t, e.fails(insert, int64(a), int64(c)), "job 1 (a) needs job 3 needs job 2 (b) needs job 1 (a)")
	has(t, e.fails(insert, int64(a), int64(a)), "a job cannot need itself, and job 1 would")
	// All at once.
	has(t, e.fails(`with j as (insert into bellhop.jobqueue (type) values ('cat'), ('cat') returning id)
		insert into bellhop.dependency (job, needs) select x.id, y.id from j x, j y where x.id <> y.id`), "wait for each other for ever")
	e.states("ready blocked blocked", a, b, c)
}

// Two sessions that each add half of a cycle meet: one of them is refused.
func TestDependency_CyclesOfTwoSessionsAreRefused(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a, b := e.needing("type, held", "'cat', true"), e.needing("type, held", "'cat', true")
	other, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	tx, err := e.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.depend(a, b)
	refused := make(chan error, 1)
	go func() {
		_, err := other.Exec(t.Context(), "insert into bellhop.dependency (job, needs) values ($1, $2)", int64(b), int64(a))
		refused <- err
	}()
	e.eventually("the second waits", "select exists (select from pg_locks where relation = 'bellhop.dependency_turn'::regclass and not granted)")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; err == nil || !strings.Contains(err.Error(), "wait for each other") {
		t.Errorf("the second was told: %v", err)
	}
}

// eventually waits for a condition, on a connection of its own.
func (e *env) eventually(what, query string) {
	e.Helper()
	conn, err := pgx.Connect(e.Context(), e.url)
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for deadline := time.Now().Add(time.Minute); ; {
		var is bool
		if err := conn.QueryRow(e.Context(), query).Scan(&is); err != nil {
			e.Fatal(err)
		}
		if is {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("not in a minute: %s", what)
		}
	}
}

// Whatever the triggers would have done: a job is not claimed before what it needs has ended well.
func TestDependency_HoldsWithEveryTriggerDisabled(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("alter table bellhop.jobqueue disable trigger all; alter table bellhop.dependency disable trigger all")
	first, second := e.needs(), e.needs()
	wants := e.needs(first)
	doomed := e.needs(second)
	lost := e.needs(999)
	round1, round2 := e.needs(), e.needs()
	e.depend(round1, round2)
	e.depend(round2, round1)
	e.states("ready ready ready ready", first, wants, doomed, lost)
	jobs := e.claim(demand(100))
	if fmt.Sprint(ids(jobs)) != fmt.Sprint([]scheduler.JobID{first, second}) {
		t.Fatalf("claimed %v", ids(jobs))
	}
	e.mustWrite(succeeded(jobs[0]))
	e.mustWrite(settle(jobs[1], scheduler.Result{}, scheduler.Verdict{State: scheduler.Failed}))
	e.states("ready failed", wants, doomed)
	e.due()
	e.states("ready failed failed failed", wants, doomed, lost, round1)
	e.want(lost, "error", "job 999, which it needs, was deleted")
	has(t, e.column(round1, "error"), "these jobs wait for each other for ever: job 6 needs job 7 needs job 6")
	e.states("failed", round2)
	e.end(scheduler.Succeeded, wants)
}

// A round of held jobs is found while they are held: when they are released, their dependencies are counted
// already, and nobody looks at them again.
func TestDependency_ARoundOfHeldJobs(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("alter table bellhop.dependency disable trigger all")
	one, two := e.insert("type, held", "'cat', true"), e.insert("type, held", "'cat', true")
	e.depend(one, two)
	e.depend(two, one)
	e.due()
	has(t, e.column(one, "error"), "these jobs wait for each other for ever: job 1 needs job 2 needs job 1")
	e.exec("select bellhop.release(id) from bellhop.jobqueue")
	e.due()
	e.states("failed failed", one, two)
}

// A dependency that is committed while the outcome of what it is on is being recorded is not missed.
func TestDependency_ThatCameWhileWhatItNeedsEnded(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"outcome", "dependency"} {
		t.Run(first+" committed first", func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			a := e.running()
			tx, err := e.conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b := e.insert("type", "'cat'")
			e.depend(b, a.Claim.Job)
			e.states("blocked", b)
			if first == "outcome" {
				e.mustWrite(succeeded(a)) // does not wait for the app's transaction
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if first == "dependency" {
				e.mustWrite(succeeded(a))
			} else {
				e.states("blocked", b)
				e.due() // the transaction rang for it
			}
			e.end(scheduler.Succeeded, b)
		})
	}
}

// An outcome does not wait for an app that has a waiting job in hand.
func TestDependency_OutcomesWaitForNobody(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a := e.running()
	b := e.needs(a.Claim.Job)
	other := e.needing("type, held", "'cat', true")
	e.due()
	tx, err := e.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.depend(b, other) // locks b until the app commits
	e.mustWrite(succeeded(a))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.want(b, "unmet", "2")
	e.due()
	e.want(b, "unmet", "1")
	e.exec("select bellhop.release($1)", int64(other))
	e.end(scheduler.Succeeded, other)
	e.end(scheduler.Succeeded, b)
}

// Two instances that each end one of two jobs that a third needs: whichever is last releases it.
func TestDependency_TwoParentsEndAtOnce(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	second := e.register("second", time.Minute)
	e.assert(e.claimer, second)
	recorder := desk(e, NewRecorder)
	for range 50 {
		a, b := e.running(), scheduler.Job{}
		e.insert("type", "'cat'")
		jobs, err := e.claimer.Claim(t.Context(), second, demand(1))
		if err != nil {
			t.Fatal(err)
		}
		b = jobs[0]
		c := e.needs(a.Claim.Job, b.Claim.Job)
		e.due()
		end := make(chan error)
		go func() {
			_, _, err := recorder.Write(t.Context(), second, scheduler.Batch{Records: []scheduler.Record{succeeded(b)}},
				time.Now())
			end <- err
		}()
		e.mustWrite(succeeded(a))
		if err := <-end; err != nil {
			t.Fatal(err)
		}
		e.due() // one that met the other's lock left it to this
		e.end(scheduler.Succeeded, c)
	}
}

func TestDependency_DeletedJobs(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a, b := e.needs(), e.needs()
	fails, waits := e.needs(a), e.needs(b)
	e.exec("delete from bellhop.jobqueue where id = $1", int64(a))
	e.due()
	e.states("failed", fails)
	e.exec("delete from bellhop.dependency where job = $1", int64(waits))
	e.end(scheduler.Succeeded, b, waits)
	e.exec("truncate bellhop.jobqueue, bellhop.dependency")
	e.needs(e.needs())
	e.exec("truncate bellhop.jobqueue")
	if n := e.one("select count(*) from bellhop.dependency"); n != "0" {
		t.Errorf("%s dependencies of no job", n)
	}
}

func TestSubmit_WithWhatItNeeds(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a, b := e.insert("type, key", "'cat', 'a'"), e.insert("type, key", "'cat', 'b'")
	submit := "select bellhop.submit('cat', 'x', key => 'k', after => $1, after_keys => $2, wanted => $3)"
	id := e.one("bellhop.submit('cat', 'x', key => 'k', after => $1, after_keys => $2)", []int64{int64(a)}, []string{"b"})
	e.states("blocked", 3)
	e.want(3, "unmet", "2")
	e.end(scheduler.Succeeded, a, b)
	e.end(scheduler.Succeeded, 3)
	if again := e.one("bellhop.submit('cat', 'x', key => 'k', after => $1, after_keys => $2)", []int64{int64(a)}, []string{"b"}); again != id {
		t.Errorf("submitted again it is job %s, not %s", again, id)
	}
	e.states("succeeded", 3)
	c := e.needs()
	has(t, e.fails(submit, []int64{int64(c)}, nil, []string{"succeeded"}), "it has no need of job "+fmt.Sprint(c))
	has(t, e.fails(submit, []int64{int64(a)}, nil, []string{"failed"}), "need of job 1 (a) as {succeeded}, not {failed}")
	has(t, e.fails("select bellhop.submit('cat', after_keys => '{zz}')"), "there is no job with the key \"zz\"")
	has(t, e.fails("select bellhop.submit('cat', after => '{77}')"), "there is no job 77")
	has(t, e.fails("select bellhop.submit('cat', after => '{1}', wanted => '{done}')"), "dependency_wanted_ends")
}

// A long chain of failures does not hold up the outcomes behind it: the rest of it is the keeper's.
func TestDependency_ALongChainFailsInParts(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	const long = 180
	e.exec("insert into bellhop.jobqueue (type) select 'cat' from generate_series(1, $1::int)", long)
	e.exec("insert into bellhop.dependency (job, needs) select g, g - 1 from generate_series(2, $1::int) g", long)
	failed := func() string { return e.one("select count(*) from bellhop.jobqueue where state = 'failed'") }
	e.due()
	e.end(scheduler.Failed, 1)
	if n := failed(); n == fmt.Sprint(long) || n == "1" {
		t.Errorf("%s failed at once", n)
	}
	for rounds := 0; failed() != fmt.Sprint(long); rounds++ {
		if rounds > long {
			t.Fatalf("after %d rounds %s have failed", rounds, failed())
		}
		if _, next := e.due(); next < 0 && failed() != fmt.Sprint(long) {
			t.Fatalf("nobody would look again, and %s have failed", failed())
		}
	}
	e.want(long, "ended_by", "1")
}

// Whatever ends a job deals with those who need it.
func TestDependency_WhateverEndsAJob(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(e *env, j scheduler.Job){
		"cancelled while it runs, and given back": func(e *env, j scheduler.Job) {
			e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim, Attempt: 1})
		},
		"cancelled while it runs, and its instance dies": func(e *env, _ scheduler.Job) {
			if did, _, err := e.registry.MarkGone(e.Context(), e.me, "dead", true); err != nil || !did {
				e.Fatal(did, err)
			}
		},
		"cancelled while it runs, claimed by one that was gone": func(e *env, _ scheduler.Job) {
			e.exec("update bellhop.instance set state = 'gone'")
			e.due()
		},
		"cancelled instead of being tried again": func(e *env, j scheduler.Job) {
			e.mustWrite(settle(j, scheduler.Result{Ended: time.Now()}, scheduler.Verdict{State: scheduler.Scheduled}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			j := e.running()
			fails, runs := e.needs(j.Claim.Job), e.needing("type, on_failure", "'cat', 'run'", j.Claim.Job)
			e.due()
			e.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
			e.states("running blocked blocked", j.Claim.Job, fails, runs)
			end(e, j)
			e.states("cancelled failed ready", j.Claim.Job, fails, runs)
		})
	}
}
