package store

import (
	"strconv"
	"strings"
	"testing"

	"bellhop/scheduler"
)

// endAs claims a job, which must be the only one that is ready, and ends it so.
func (e *env) endAs(as scheduler.EndedAs, want scheduler.JobID) {
	e.Helper()
	jobs := e.claim(demand(100))
	if len(jobs) != 1 || jobs[0].Claim.Job != want {
		e.Fatalf("claimed %v, want %d", ids(jobs), want)
	}
	r := succeeded(jobs[0])
	r.Result.Answer, r.Result.ExitCode = &scheduler.Answer{EndedAs: as}, 3
	e.mustWrite(r)
}

// endings are states with what stands beside them.
func (e *env) endings(want string, jobs ...scheduler.JobID) {
	e.Helper()
	var got []string
	for _, id := range jobs {
		got = append(got, e.column(id, "concat_ws('/', state, ended_as)"))
	}
	if s := strings.Join(got, " "); s != want {
		e.Errorf("jobs %v are %s, want %s", jobs, s, want)
	}
}

func TestEnds_NoDataIsASuccess(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.needs()
	second := e.needs(first)
	e.endAs(scheduler.NoData, first)
	e.endings("succeeded/no_data ready", first, second)
	e.want(first, "exit_code || ' ' || coalesce(error, 'none')", "3 none")
	e.exec("select bellhop.retry($1)", int64(first))
	e.endings("ready", first)
}

// Who needs one that said skipped to have succeeded, and nothing else, never runs, and neither does who needs that one.
func TestEnds_SkippedPassesOver(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.needs()
	second := e.needs(first)
	third := e.needs(second)
	blocks := e.needing("type, on_failure", "'cat', 'block'", first)
	runs := e.needing("type, on_failure", "'cat', 'run'", second)
	held := e.needing("type, held", "'cat', true", first)
	other := e.needing("type, run_on", "'cat', 'elsewhere'")
	both := e.needs(first, other)
	anyway, afterFailure := e.insert("type, held", "'cat', true"), e.insert("type, held", "'cat', true")
	e.exec("insert into bellhop.dependency (job, needs, wanted) values ($1, $2, '{succeeded,failed}'), ($3, $2, '{failed}')",
		int64(anyway), int64(first), int64(afterFailure))
	e.exec("update bellhop.jobqueue set held = false, state = 'blocked' where id = any ($1)", []int64{int64(anyway), int64(afterFailure)})
	e.exec("select bellhop.look_again(1000)")
	e.endAs(scheduler.Skipped, first)
	e.endings("succeeded/skipped succeeded/skipped succeeded/skipped succeeded/skipped succeeded/skipped", first, second, third, blocks, both)
	e.endings("ready held ready ready failed", runs, held, other, anyway, afterFailure)
	e.want(third, "concat_ws(' ', ended_by, attempt, exit_code, error, ended_at is not null)", e.column(first, "id")+" 0 t")

	e.exec("select bellhop.release($1)", int64(held)) // what it needs has ended meanwhile
	e.endings("succeeded/skipped", held)
	late := e.needs(second)
	e.exec("select bellhop.look_again(1000)")
	e.endings("succeeded/skipped", late)
	lateRuns := e.needing("type, on_failure", "'cat', 'run'", third)
	e.exec("select bellhop.look_again(1000)")
	e.endings("ready", lateRuns)
}

// A second attempt is recorded by another statement.
func TestEnds_OfALaterAttempt(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.needs()
	e.end(scheduler.Failed, first)
	second := e.needing("type, on_failure", "'cat', 'block'", first)
	e.exec("select bellhop.retry($1)", int64(first))
	e.endAs(scheduler.Skipped, first)
	e.endings("succeeded/skipped succeeded/skipped", first, second)
	j := e.running()
	r := settle(j, scheduler.Result{ExitCode: 3, Error: "x", Answer: &scheduler.Answer{EndedAs: scheduler.Skipped}},
		scheduler.Verdict{State: scheduler.Failed, Counts: true})
	e.mustWrite(r)
	e.endings("failed", j.Claim.Job)
}

// A run of which no step had anything to do is skipped, and no other workflow starts by it.
func TestEnds_OfRuns(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.apply("next", `{"workflow":"w"}`, chain)
	job := func(step string) scheduler.JobID {
		id, err := strconv.ParseInt(e.one("select job from bellhop.run_step s where s.step = $1 order by run desc limit 1", step), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return scheduler.JobID(id)
	}
	step := func(as scheduler.EndedAs, want string) {
		t.Helper()
		e.endAs(as, job(want))
	}
	e.exec("select bellhop.workflow_run('w')")
	for _, name := range []string{"a", "b", "c"} {
		step(scheduler.NoData, name)
	}
	e.runs("1 skipped")
	got := e.one("select reason from bellhop.run")
	if !strings.HasPrefix(got, "no step had anything to do: step a (job ") || !strings.HasSuffix(got, "said no data") {
		t.Error(got)
	}
	e.exec("select bellhop.workflow_run('w')")
	step("", "a")
	step(scheduler.Skipped, "b")
	e.runs("1 skipped, 2 succeeded")
	e.exec("select bellhop.workflow_run('w')")
	step(scheduler.Skipped, "a")
	e.runs("1 skipped, 2 succeeded, 3 skipped")
	if got := e.one("select string_agg(event, ' ') from bellhop.event where workflow = 'next'"); got != "run=2" {
		t.Errorf("what starts the next: %s", got)
	}
	// A step of it is run again: the run is open until then.
	e.exec("select bellhop.retry(job) from bellhop.run_step where run = 3 and step = 'a'")
	e.runs("1 skipped, 2 succeeded, 3 running")
	step("", "a")
	step(scheduler.Skipped, "b")
	e.runs("1 skipped, 2 succeeded, 3 succeeded")
	// So is one that was passed over: the run goes on with it when the one that said skipped is run again.
	e.exec("select bellhop.retry(job) from bellhop.run_step where run = 3 and step = 'b'")
	step("", "b")
	e.runs("1 skipped, 2 succeeded, 3 running")
	step("", "c")
	e.runs("1 skipped, 2 succeeded, 3 succeeded")
}

// Whoever was passed over waits again for the one that said skipped, when that is tried again; and is passed over again
// where another one has said so, too.
func TestEnds_RetryOfASkippedOneBringsBackWhoWasPassedOver(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.needs()
	e.endAs(scheduler.Skipped, first)
	other := e.needs()
	e.endAs(scheduler.Skipped, other)
	second := e.needs(first)
	third := e.needs(second)
	both := e.needs(second, other)
	ofOther := e.needs(other)
	e.exec("select bellhop.submit('cat', after => array[$1::bigint], wanted => '{failed}')", int64(first))
	fallen := ofOther + 1 // is not wanted when the first succeeds, and stays failed
	e.exec("select bellhop.look_again(1000)")
	all := "succeeded/skipped succeeded/skipped succeeded/skipped succeeded/skipped failed"
	e.endings(all, second, third, both, ofOther, fallen)

	e.exec("select bellhop.retry($1)", int64(first))
	e.exec("select bellhop.look_again(1000)")
	e.endings("ready blocked blocked succeeded/skipped succeeded/skipped failed", first, second, third, both, ofOther, fallen)
	e.want(second, "concat_ws(' ', ended_by, ended_at, unmet, waiting_for)", "1 dependencies")
	e.endAs(scheduler.Skipped, first)
	e.endings(all, second, third, both, ofOther, fallen)
	e.exec("select bellhop.retry($1)", int64(first))
	e.endAs("", first)
	e.endAs("", second)
	e.endAs("", third)
	e.exec("select bellhop.retry($1)", int64(other))
	e.endAs("", other)
	jobs := e.claim(demand(100))
	if got := ids(jobs); len(got) != 2 {
		t.Errorf("claimed %v, want %v", got, []scheduler.JobID{both, ofOther})
	}
}
