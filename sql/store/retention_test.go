package store

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

const day = 24 * time.Hour

// retention is a session that keeps so, and does not rest.
func (e *env) retention(keep KeepAll) *Retention {
	e.Helper()
	r := desk(e, func(url string) (*Retention, error) { return NewRetention(url, keep) })
	r.rest = func(context.Context, time.Duration) {}
	return r
}

var month = KeepAll{Every: time.Hour, Jobs: []Keep{
	{Type: "brief", State: "succeeded", For: day}, {Type: "kept", State: "succeeded"},
	{State: "succeeded", For: 30 * day}, {State: "failed", For: 180 * day},
}, Runs: map[string]time.Duration{"succeeded": 180 * day, "failed": 180 * day, "skipped": 180 * day}}

func (e *env) keeps(r *Retention) int64 {
	e.Helper()
	e.exec("update bellhop.housekeeping set begun_at = null, instance = null")
	n, err := r.Turn(e.Context(), e.me)
	if err != nil {
		e.Fatal(err)
	}
	return n
}

// over are jobs that ended so many days ago.
func (e *env) over(days int, columns, values string) {
	e.Helper()
	e.exec("insert into bellhop.jobqueue (created_at, started_at, ended_at, attempt, exit_code, "+columns+") select t, t, t, 1, 0, "+values+
		" from (select clock_timestamp() - $1 * interval '1 day') x (t)", days)
}

// What was over for long enough goes, by its type and how it ended; a key is taken for ever, and what somebody
// needs stays.
func TestRetention_ByTypeAndState(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for _, days := range []int{0, 2, 31, 181} {
		for _, typ := range []string{"plain", "brief", "kept"} {
			e.over(days, "type, state, args", "'"+typ+"', 'succeeded', '"+typ+" succeeded'")
			e.over(days, "type, state, args", "'"+typ+"', 'failed', '"+typ+" failed'")
		}
	}
	e.over(400, "type, state, key, args", "'brief', 'succeeded', 'once', 'keyed'")
	e.over(400, "type, state, args", "'plain', 'succeeded', 'needed'")
	e.exec("insert into bellhop.jobqueue (type, args) values ('plain', 'needs it')")
	e.exec(`insert into bellhop.dependency (job, needs, wanted) select a.id, b.id, '{failed}' from bellhop.jobqueue a, bellhop.jobqueue b
		where a.args = 'needs it' and b.args = 'needed'`)
	e.exec("update bellhop.jobqueue set state = 'blocked', unmet = 1, ended_at = null where args = 'needs it'")
	e.exec("update bellhop.dependency set met = false, counted = true")
	e.exec("insert into bellhop.log (job, attempt, level, line) select id, 1, 'log', 'x' from bellhop.jobqueue")
	e.exec("create table public.old (job bigint, \"row\" jsonb)")
	keep := month
	keep.Archive = "public.old"
	if n := e.keeps(e.retention(keep)); n != 8 {
		t.Errorf("%d deleted", n)
	}
	const left = `select string_agg(args || ' ' || days, ', ' order by args, days)
		from (select args, (extract(epoch from now() - created_at) / 86400)::int as days from bellhop.jobqueue) x`
	if got := e.one(left); got != "brief failed 0, brief failed 2, brief failed 31, brief succeeded 0, kept failed 0, kept failed 2, kept failed 31, "+
		"kept succeeded 0, kept succeeded 2, kept succeeded 31, kept succeeded 181, keyed 400, needed 400, needs it 0, "+
		"plain failed 0, plain failed 2, plain failed 31, plain succeeded 0, plain succeeded 2" {
		t.Error(got)
	}
	if got := e.one("select count(*) || ' ' || (select count(*) from bellhop.log) from public.old where jsonb_array_length(\"row\" -> 'log') = 1"); got != "8 19" {
		t.Errorf("archived, and lines of the log left: %s", got)
	}
	keep.Keyed = 300 * day
	if n := e.keeps(e.retention(keep)); n != 1 {
		t.Errorf("%d deleted, and one key was taken for long enough", n)
	}
}

// A queue that takes jobs through a simulated month, and longer, does not grow: what is kept is what came within
// the time, and each pass looks at little more than it deletes.
func TestRetention_AQueueDoesNotGrow(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	keep := KeepAll{Every: time.Hour, Runs: map[string]time.Duration{"succeeded": 5 * day},
		Jobs: []Keep{{State: "succeeded", For: 3 * day}, {State: "failed", For: 5 * day}}}
	r := e.retention(keep)
	const perDay = 5000
	for today := range 40 {
		e.exec(`insert into bellhop.jobqueue (type, state, created_at, started_at, ended_at, attempt, exit_code)
			select 'a', case when i % 1000 = 0 then 'failed' else 'succeeded' end, t, t, t, 1, 0 from generate_series(1, $1) i, clock_timestamp() t`, perDay)
		n := e.keeps(r)
		rows := e.one("select count(*) from bellhop.jobqueue")
		if today > 6 && (n != perDay || rows != "15010") { // of three days, and the failures of two more
			t.Fatalf("day %d: %d deleted, %s are left", today, n, rows)
		}
		e.exec("update bellhop.jobqueue set created_at = created_at - interval '1 day', started_at = started_at - interval '1 day', ended_at = ended_at - interval '1 day'")
	}
}

// Runs go whole, with their jobs, events and messages that were sent; none that is open.
func TestRetention_RunsGoWhole(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_event('w', 'order 1')")
	e.exec("select bellhop.take_events(10, false)")
	e.byStep("succeeded", "1.a")
	e.byStep("succeeded", "1.b")
	e.byStep("succeeded", "1.c")
	e.exec("select bellhop.workflow_run('w')")
	e.exec("insert into bellhop.notice (run, workflow, project, state, ended_at, channel, target, needs, until, status) select 1, 'w', '', 'failed', now(), 'mail', 'a', 'mail', now(), 'sent'")
	e.exec("update bellhop.jobqueue set created_at = created_at - interval '1 year', ended_at = ended_at - interval '1 year'")
	e.exec("update bellhop.run set ended_at = ended_at - interval '100 days'")
	if n := e.keeps(e.retention(month)); n != 0 {
		t.Errorf("%d deleted of a run that is kept for longer", n)
	}
	e.exec("update bellhop.run set ended_at = ended_at - interval '100 days'")
	e.exec("create table public.old (job bigint, \"row\" jsonb)")
	keep := month
	keep.Archive = "public.old"
	if n := e.keeps(e.retention(keep)); n != 4 {
		t.Errorf("%d deleted, and it was a run of three jobs", n)
	}
	if got := e.one(`select (select count(*) from public.old where "row" ->> 'step' <> '') || ' ' || string_agg(concat_ws(' ', "row" #>> '{run,workflow}',
		"row" #>> '{run,state}', "row" #>> '{event,event}', "row" #>> '{messages,0,target}'), ', ') from public.old where "row" ? 'messages'`); got != "3 w succeeded order 1 a" {
		t.Errorf("archived: %s", got)
	}
	e.runs("2 running")
	if got := e.one("select (select count(*) from bellhop.jobqueue) || ' ' || (select count(*) from bellhop.event) || ' ' || (select count(*) from bellhop.notice)"); got != "4 0 0" {
		t.Errorf("jobs, events and messages left: %s", got)
	}
}

// A pass ends with a transaction that finds less than it may delete. Where runs grow old all the time, a search for
// more would find some each time.
func TestRetention_DoesNotFollowTheClock(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	skipped := func(from, to int) {
		e.exec("select bellhop.workflow_event('w', 'order ' || g) from generate_series($1::int, $2::int) g",
			from, to)
		e.exec("select bellhop.take_events(10, false)")
		e.exec("update bellhop.run set ended_at = now() - interval '181 days' where state = 'skipped'")
	}
	skipped(1, 5) // one runs, one is queued
	r, more := e.retention(month), 6
	r.rest = func(context.Context, time.Duration) {
		if more < 10 {
			skipped(more, more)
		}
		more++
	}
	if n := e.keeps(r); n != 3 || more > 6 {
		t.Errorf("%d deleted, and it looked for more %d times", n, more-6)
	}
}

// Runs are kept for as long as is said of how they ended, and go with their jobs and events; versions of a workflow
// that was deleted are kept for longer than its runs, and not for ever.
func TestRetention_RunsByHowTheyEnded(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	runs := map[string]time.Duration{"succeeded": 30 * day, "skipped": 30 * day, "failed": 180 * day}
	keep := KeepAll{Every: time.Hour, Runs: runs}
	e.apply("w", "null", `[{"name":"a","type":"cat"}]`)
	for _, ends := range []scheduler.JobState{"succeeded", "failed"} {
		e.exec("select bellhop.workflow_event('w', $1::text || g) from generate_series(1, 3) g", ends)
		e.exec("select bellhop.take_events(10, false)") // one runs, one is queued, one is skipped
		for range 2 {
			e.exec("select bellhop.look_again(100)")
			e.byStep(ends, e.one("select id || '.a' from bellhop.run where state = 'running'"))
		}
	}
	e.exec("update bellhop.run set ended_at = ended_at - interval '31 days'")
	if n := e.keeps(e.retention(keep)); n != 6 { // two jobs, their runs, two skipped ones
		t.Errorf("%d deleted", n)
	}
	e.runs("4 failed, 5 failed")
	if got := e.one("select string_agg(event, ' ' order by event) from bellhop.event"); got != "failed1 failed2" {
		t.Errorf("events left: %s", got)
	}
	past := func(want string) {
		t.Helper()
		e.keeps(e.retention(keep))
		if got := e.one("select string_agg(distinct workflow, ' ') from bellhop.workflow_past"); got != want {
			t.Errorf("versions of %q are left, want %q", got, want)
		}
	}
	e.apply("x", "null", `[{"name":"a","type":"cat"}]`)
	e.exec("select bellhop.workflow_change(name, 'deleted') from bellhop.workflow where name = 'w'")
	e.exec("update bellhop.workflow_past set changed_at = changed_at - interval '181 days'")
	past("w x") // its runs that failed are there
	e.exec("update bellhop.run set ended_at = ended_at - interval '150 days'")
	past("x")
}

// One instance at a time: who is at it is left alone, and one that is gone is followed.
func TestRetention_OneInstanceAtATime(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	other := e.register("other", time.Minute)
	e.exec("insert into bellhop.jobqueue (type, state, created_at, started_at, ended_at, attempt, exit_code) select 'a', 'succeeded', t, t, t, 1, 0 from generate_series(1, 3000), (select now() - interval '1 year') x (t)")
	first, second := e.retention(month), e.retention(month)
	var once sync.Once
	first.rest = func(ctx context.Context, _ time.Duration) {
		once.Do(func() {
			if n, err := second.Turn(ctx, other); n != 0 || err != nil {
				t.Errorf("another one deletes %d meanwhile: %v", n, err)
			}
			e.exec("update bellhop.housekeeping set until = now() - interval '1 s'") // frozen for as long
			if n, err := second.Turn(ctx, other); n != 2000 || err != nil {
				t.Errorf("who follows deletes %d: %v", n, err)
			}
		})
	}
	if n, err := first.Turn(e.Context(), e.me); n != 1000 || err != nil {
		t.Errorf("deleted %d: %v", n, err)
	}
	if n, err := second.Turn(e.Context(), other); n != 0 || err != nil {
		t.Errorf("a pass within the hour deletes %d: %v", n, err)
	}
}

// What holds runs and jobs is taken in one order: a retry that waits for a run's last job does not have the run
// already.
func TestWorkflow_ARetryAndAnOutcomeDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_run('w')")
	e.byStep("succeeded", "1.a")
	outcome, err := e.conn.Begin(e.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer outcome.Rollback(context.Background())
	if _, err := outcome.Exec(e.Context(), "select from bellhop.jobqueue where id = (select last from bellhop.run) for no key update"); err != nil {
		t.Fatal(err)
	}
	retried := make(chan error, 1)
	second := e.second()
	go func() {
		_, err := second.Exec(e.Context(), "select bellhop.retry((select job from bellhop.run_step where step = 'a'))")
		retried <- err
	}()
	for waits := ""; waits != "t" && waits != "true"; {
		if err := outcome.QueryRow(e.Context(), "select (exists (select from pg_locks where not granted and pid <> pg_backend_pid()))::text").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := outcome.Exec(e.Context(), "set local lock_timeout = '300ms'; update bellhop.run set reason = reason"); err != nil {
		t.Errorf("the outcome waits for the retry, and that for it: %v", err)
	}
	if err := outcome.Rollback(e.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-retried; err != nil {
		t.Error(err)
	}
}

// An event that comes while its workflow is deleted is nobody's: nobody looks for it for ever.
func TestSensors_AnEventOfAWorkflowThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	second := e.second()
	tx, err := second.Begin(e.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(e.Context(), "select bellhop.workflow_event('w', 'late')"); err != nil {
		t.Fatal(err)
	}
	e.exec("select bellhop.workflow_change('w', 'deleted')")
	if err := tx.Commit(e.Context()); err != nil {
		t.Fatal(err)
	}
	s := desk(e, NewSensors)
	if _, next := turn(e, s); next >= 0 {
		t.Errorf("somebody has to look again in %s", next)
	}
	if got := e.one("select count(*) from bellhop.event"); got != "0" {
		t.Errorf("%s events are left", got)
	}
}

// What a run ends by is none of its steps, and is not killed alone: the run would stay open.
func TestWorkflow_ItsLastJobIsNotKilled(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_run('w')")
	last := e.one("select last from bellhop.run")
	if got := e.fails("select bellhop.killjob(" + last + ")"); !strings.Contains(got, "none of the steps") {
		t.Error(got)
	}
	e.exec("insert into bellhop.jobqueue (type, args) values ('command', 'killjob " + last + "')")
	e.exec("select bellhop.obey($1)", int64(e.me))
	if got := e.one("select state || ' ' || error from bellhop.jobqueue where type = 'command'"); !strings.Contains(got, "failed job "+last+" is none of the steps") {
		t.Error(got)
	}
}

// second is another look at the database.
func (e *env) second() *pgx.Conn {
	e.Helper()
	conn, err := pgx.Connect(e.Context(), e.url)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
