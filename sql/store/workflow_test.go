package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
)

// apply writes a definition: name, sensor and steps as JSON.
func (e *env) apply(name, sensor, steps string) {
	e.Helper()
	e.exec("select bellhop.workflow_apply(jsonb_build_object('workflow', $1::text, 'sensor', $2::text::jsonb, 'parameters', '{\"DAY\":\"today\"}'::jsonb, 'steps', $3::text::jsonb))",
		name, sensor, steps)
}

const chain = `[{"name":"a","type":"cat","args":"a ${DAY} $${x} ${RUN}"},{"name":"b","type":"cat","after":["a"]},{"name":"c","type":"cat","after":["b"]}]`

// byStep claims what is ready, which must be these steps, and ends them so.
func (e *env) byStep(state scheduler.JobState, want string) {
	e.Helper()
	jobs := e.claim(demand(100))
	var got []string
	var records []scheduler.Record
	for _, j := range jobs {
		got = append(got, e.one("select run || '.' || step from bellhop.jobqueue where id = $1", int64(j.Claim.Job)))
		ended := scheduler.Result{Child: "cat.1", Error: "no luck", ExitCode: 3, Ended: time.Now()}
		records = append(records, settle(j, ended,
			scheduler.Verdict{State: state, Counts: true}))
	}
	if s := strings.Join(got, " "); s != want {
		e.Fatalf("claimed %q, want %q", s, want)
	}
	e.mustWrite(records...)
}

func (e *env) runs(want string) {
	e.Helper()
	got := e.one("select coalesce(string_agg(id || ' ' || state, ', ' order by id), '') from bellhop.run")
	if got != want {
		e.Fatalf("runs are %q, want %q", got, want)
	}
}

func TestWorkflow_ARunIsJobsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	if id := e.one("select bellhop.workflow_run('w', '{\"DAY\":\"monday\"}')"); id != "1" {
		t.Errorf("run %s", id)
	}
	if got := e.one("select args from bellhop.jobqueue where step = 'a'"); got != "a monday ${x} 1" {
		t.Errorf("args %q", got)
	}
	e.runs("1 running")
	e.byStep(scheduler.Succeeded, "1.a")
	e.byStep(scheduler.Succeeded, "1.b")
	e.runs("1 running")
	e.byStep(scheduler.Succeeded, "1.c")
	e.runs("1 succeeded")
	if got := e.one("select string_agg(step || ' ' || state, ', ' order by job) from bellhop.run_step where run = 1"); got != "a succeeded, b succeeded, c succeeded" {
		t.Error(got)
	}
	if got := e.one("select bellhop.workflow_run('nobody')"); got != "" {
		t.Errorf("a run of nothing: %s", got)
	}
	if got := e.fails(`select bellhop.workflow_run('w', '{"DAX":"1"}')`); !strings.Contains(got, "has no parameter DAX") {
		t.Error(got)
	}
	if got := e.fails("select bellhop.workflow_run('w', steps => '{z}')"); !strings.Contains(got, "has no step z") {
		t.Error(got)
	}
}

// The next run begins in the statement in which the one before it ends; by hand none is skipped.
func TestWorkflow_RunsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[{"name":"a","type":"cat"},{"name":"b","type":"cat"}]`)
	for range 3 {
		e.one("select bellhop.workflow_run('w')")
	}
	e.runs("1 running, 2 queued, 3 queued")
	e.exec("select bellhop.look_again(100)") // as a round of maintenance does after the bell
	e.byStep(scheduler.Succeeded, "1.a 1.b")
	e.runs("1 succeeded, 2 running, 3 queued")
	e.byStep(scheduler.Failed, "2.a 2.b")
	e.runs("1 succeeded, 2 failed, 3 running")
	e.byStep(scheduler.Succeeded, "3.a 3.b")
	e.runs("1 succeeded, 2 failed, 3 succeeded")
}

func TestWorkflow_AFailedRunGoesOnAtTheFailedStep(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.one("select bellhop.workflow_run('w')")
	e.byStep(scheduler.Succeeded, "1.a")
	e.byStep(scheduler.Failed, "1.b")
	e.runs("1 failed")
	if got := e.one("select reason from bellhop.run"); !strings.HasPrefix(got, "step b failed (job ") {
		t.Error(got)
	}
	if n := e.one("select bellhop.workflow_retry(1)"); n != "2" {
		t.Errorf("%s steps are tried again", n)
	}
	e.runs("1 running")
	e.exec("select bellhop.look_again(100)")
	e.byStep(scheduler.Succeeded, "1.b")
	e.runs("1 running")
	e.byStep(scheduler.Succeeded, "1.c")
	e.runs("1 succeeded")
	if got := e.fails("select bellhop.workflow_retry(1)"); !strings.Contains(got, "run 1 is succeeded") {
		t.Error(got)
	}
	// One step by hand: the run is open until that has ended, too.
	e.one("select bellhop.retry(id) from bellhop.jobqueue where step = 'a'")
	e.runs("1 running")
	e.exec("select bellhop.look_again(100)")
	e.byStep(scheduler.Succeeded, "1.a")
	e.runs("1 succeeded")
}

func TestWorkflow_SomeStepsOnly(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.one("select bellhop.workflow_run('w', steps => '{c,a}')")
	e.byStep(scheduler.Succeeded, "1.a")
	e.byStep(scheduler.Succeeded, "1.c")
	e.runs("1 succeeded")
}

// Whatever becomes of its jobs by other hands, no run stays open for ever.
func TestWorkflow_JobsThatAreCancelledOrDeleted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.one("select bellhop.workflow_run('w')")
	if got := e.fails("select bellhop.cancel(last) from bellhop.run"); !strings.Contains(got, "waits for them") {
		t.Error(got)
	}
	e.one("select bellhop.cancel(id) from bellhop.jobqueue where step = 'a'")
	e.runs("1 failed")
	e.one("select bellhop.workflow_run('w')")
	e.exec("delete from bellhop.jobqueue where run = 2")
	e.one("select bellhop.workflow_run('w')")
	e.runs("1 failed, 2 failed, 3 running")
}

func TestWorkflow_VersionsAndHistory(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.apply("w", "null", chain)
	if v := e.one("select version from bellhop.workflow"); v != "1" {
		t.Errorf("version %s of what was not changed", v)
	}
	e.apply("w", `{"every":"1h"}`, chain)
	e.one("select bellhop.workflow_change('w', 'deactivated')")
	if got := e.one("select count(*) from bellhop.sensor"); got != "0" {
		t.Error("its sensor is still there")
	}
	e.one("select bellhop.workflow_change('w', 'activated', 3)")
	e.one("select bellhop.workflow_change('w', 'deleted')")
	e.apply("w", "null", chain)
	if got := e.one("select string_agg(version || ' ' || what, ', ' order by version) from bellhop.workflow_past where changed_by = current_user"); got !=
		"1 created, 2 changed, 3 deactivated, 4 activated, 5 deleted, 6 created" {
		t.Error(got)
	}
	if got := e.fails("select bellhop.workflow_apply('{\"workflow\":\"w\",\"steps\":[{\"name\":\"a\",\"type\":\"t\"}]}', 5)"); !strings.Contains(got, "has version 6, not 5") {
		t.Error(got)
	}
	// All at once. Each by itself: web/api, beside files and the API.
	got := e.fails(`select bellhop.workflow_apply('{"workflow":"a b","sensor":{"zone":"UTC"},
		"steps":[{"name":"a","type":"t","after":["b"]},{"name":"b","type":"dummy"}]}')`)
	for _, want := range []string{`"a b" cannot be a name`, "the sensor has nothing that would start it",
		`steps[0]: step "a" comes after "b", which stands behind it; put "b" before it`, "steps[1]: a step cannot be of type dummy"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// turn has sensors looked at, and gives how many fired.
func turn(e *env, s *Sensors) (int, time.Duration) {
	e.Helper()
	n, next, err := s.Turn(e.Context(), e.me)
	if err != nil {
		e.Fatal(err)
	}
	return n, next
}

func TestSensors_ASlotIsOneRun(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	if n, next := turn(e, s); n != 0 || next >= 0 {
		t.Errorf("%d fire where there is nothing, next in %s", n, next)
	}
	e.apply("w", `{"cron":"0 12 * * *","zone":"Asia/Tokyo"}`, `[{"name":"a","type":"cat","args":"${SLOT} ${SLOT_DATE} ${EVENT}"}]`)
	if n, next := turn(e, s); n != 0 || next <= 0 || next > 25*time.Hour {
		t.Errorf("%d fire, next in %s", n, next)
	}
	if got := e.one("select to_char(next_fire at time zone 'Asia/Tokyo', 'HH24:MI:SS') from bellhop.sensor"); got != "12:00:00" {
		t.Error(got)
	}
	// Yesterday's was missed, and is made up for; whoever looks, and how often.
	e.exec("update bellhop.sensor set next_fire = next_fire - interval '2 days'")
	var all sync.WaitGroup
	for range 4 {
		d := desk(e, NewSensors)
		all.Go(func() {
			for range 5 {
				if _, _, err := d.Turn(t.Context(), e.me); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	e.runs("1 running")
	got := e.one("select triggered_by || ' ' || (event = to_char(e.slot at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'))::text from bellhop.run r join bellhop.event e using (event) where e.run = r.id")
	if got != "sensor cron true" {
		t.Error(got)
	}
	args := strings.Fields(e.one("select args from bellhop.jobqueue where step = 'a'"))
	if len(args) != 3 || args[0] != args[2] || !strings.HasPrefix(args[0], args[1]) {
		t.Error(args)
	}
	// The same slot once more, as after a restore: it is an event already.
	e.exec("update bellhop.sensor set next_fire = next_fire - interval '1 day'")
	if n, _ := turn(e, s); n != 0 {
		t.Error("a slot fired twice")
	}
	e.runs("1 running")
}

// One running and one queued; what sensors want besides is written down as skipped.
func TestSensors_SkipWhileOneIsQueued(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", "null", `[{"name":"a","type":"cat"}]`)
	for i := range 4 {
		if got := e.one("select bellhop.workflow_event('w', 'order ' || $1::text)", fmt.Sprint(i)); got != "true" {
			t.Error(got)
		}
	}
	if got := e.one("select bellhop.workflow_event('w', 'order 1')"); got != "false" {
		t.Errorf("an event twice: %s", got)
	}
	if n, _ := turn(e, s); n != 4 {
		t.Errorf("%d fired", n)
	}
	e.runs("1 running, 2 queued, 3 skipped, 4 skipped")
	e.one("select bellhop.workflow_run('w')")
	e.runs("1 running, 2 queued, 3 skipped, 4 skipped, 5 queued")
}

func TestSensors_AnothersOutcomeAndAfterFinish(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("first", `{"every":"1h","after_finish":true}`, `[{"name":"a","type":"cat"}]`)
	e.apply("second", `{"workflow":"first"}`, `[{"name":"b","type":"cat"}]`)
	e.apply("sorry", `{"workflow":"first","when":["failed"]}`, `[{"name":"c","type":"cat"}]`)
	if n, next := turn(e, s); n != 1 || next >= 0 {
		t.Errorf("%d fired, next in %s: it waits for the end", n, next)
	}
	e.byStep(scheduler.Succeeded, "1.a")
	if _, next := turn(e, s); next < 59*time.Minute || next > time.Hour {
		t.Errorf("next in %s", next)
	}
	e.runs("1 succeeded, 2 running")
	e.byStep(scheduler.Succeeded, "2.b")
	e.exec("delete from bellhop.event where slot is not null") // this second's would be the same
	e.exec("update bellhop.sensor set next_fire = now() - interval '1 s' where workflow = 'first'")
	turn(e, s)
	e.byStep(scheduler.Failed, "3.a")
	turn(e, s)
	e.byStep(scheduler.Succeeded, "4.c")
	e.runs("1 succeeded, 2 succeeded, 3 failed, 4 succeeded")
	// Somebody had the row in hand when the run ended: the next look finds it.
	e.exec("delete from bellhop.event where slot is not null")
	e.exec("update bellhop.sensor set next_fire = 'infinity' where workflow = 'first'")
	if n, _ := turn(e, s); n != 1 {
		t.Errorf("%d fired", n)
	}
}

// Each end of a run is an event to those who wait for it: of one that was retried the second, too.
func TestSensors_EachEndOfARunIsAnEvent(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("first", "null", `[{"name":"a","type":"cat"}]`)
	e.apply("then", `{"workflow":"first","when":["failed","succeeded"]}`, `[{"name":"b","type":"cat"}]`)
	e.one("select bellhop.workflow_run('first')")
	e.byStep(scheduler.Failed, "1.a")
	turn(e, s)
	e.byStep(scheduler.Succeeded, "2.b")
	for n, ends := range []scheduler.JobState{scheduler.Failed, scheduler.Succeeded} {
		e.one("select bellhop.workflow_retry(1)")
		e.exec("select bellhop.look_again(100)")
		e.byStep(ends, "1.a")
		turn(e, s)
		e.byStep(scheduler.Succeeded, fmt.Sprint(n+3, ".b"))
	}
	got := e.one("select string_agg(event, ' ' order by id) from bellhop.run where workflow = 'then'")
	if got != "run=1 run=1/2 run=1/3" {
		t.Errorf("events are %q", got)
	}
}

// A run that cannot be made is one that failed; the others are made.
func TestSensors_ARunThatCannotBeMade(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("bad", `null`, `[{"name":"a","type":"cat","args":"${DAY}"}]`)
	e.apply("good", `null`, `[{"name":"a","type":"cat"}]`)
	e.exec("select bellhop.filter_add('REJECT', '[[\"opcode\",[\"=\",\"args\",\"today\"]]]', 0, 'not today')")
	e.exec("select bellhop.workflow_event('bad', 'x'), bellhop.workflow_event('good', 'x')")
	for range 3 {
		if _, next := turn(e, s); next < 0 {
			break
		}
	}
	if got := e.one("select string_agg(workflow || ' ' || state || ' ' || coalesce(reason, ''), ', ' order by workflow) from bellhop.run"); !strings.HasPrefix(got, "bad failed its jobs cannot be made: filter ") ||
		!strings.HasSuffix(got, "good running ") {
		t.Error(got)
	}
}

// An app that has a workflow in hand holds up neither outcomes nor other workflows.
func TestSensors_NobodyWaitsForAnApp(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", `null`, `[{"name":"a","type":"cat"}]`)
	e.apply("free", `null`, `[{"name":"f","type":"cat"}]`)
	e.apply("behind", `{"workflow":"w"}`, `[{"name":"b","type":"cat"}]`)
	e.one("select bellhop.workflow_run('w')")
	release := e.holding("select bellhop.workflow_run('w'), 1 from bellhop.workflow where name in ('w', 'behind') for update")
	e.byStep(scheduler.Succeeded, "1.a")
	e.exec("select bellhop.workflow_event('free', 'x')")
	if n, next := turn(e, s); n != 1 || next != 0 {
		t.Errorf("%d fired, next in %s", n, next)
	}
	release()
	if n, _ := turn(e, s); n != 1 {
		t.Errorf("%d fired when it was free", n)
	}
}

// Runs that are long over go with their jobs and events; others stay whole.
func TestWorkflow_Prune(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", "null", `[{"name":"a","type":"cat"},{"name":"b","type":"cat"}]`)
	for i := range 3 {
		e.exec("select bellhop.workflow_event('w', $1)", fmt.Sprint("e", i))
		turn(e, s)
	}
	e.runs("1 running, 2 queued, 3 skipped")
	e.exec("select bellhop.look_again(100)")
	prune := func(older string) {
		e.Helper()
		e.exec("select bellhop.prune($1::interval, '{succeeded,failed,cancelled}', 0, 1000)", older)
	}
	e.byStep(scheduler.Succeeded, "1.a 1.b")
	prune("1 hour")
	e.runs("1 succeeded, 2 running, 3 skipped")
	prune("0 s")
	e.runs("2 running")
	if got := e.one("select string_agg(step, ' ' order by id) from bellhop.jobqueue"); got != "a b" {
		t.Errorf("steps that are left: %s", got)
	}
	if got := e.one("select string_agg(event, ' ') from bellhop.event"); got != "e1" {
		t.Errorf("events that are left: %s", got)
	}
	e.byStep(scheduler.Failed, "2.a 2.b")
	e.exec("select bellhop.prune('0 s', '{succeeded}', 0, 1000)")
	if got := e.one("select bellhop.workflow_retry(2)"); got != "2" {
		t.Errorf("%s steps go on", got)
	}
	e.exec("select bellhop.look_again(100)")
	e.byStep(scheduler.Succeeded, "2.a 2.b")
	prune("0 s")
	e.runs("")
	if got := e.one("select count(*) from bellhop.jobqueue"); got != "0" {
		t.Errorf("%s jobs are left", got)
	}
}

// A run goes by its end: whole, whenever its steps ended.
func TestWorkflow_PruneBetweenTwoTimes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", "null", `[{"name":"a","type":"cat"},{"name":"b","type":"cat"}]`)
	for i := range 2 {
		e.exec("select bellhop.workflow_event('w', $1)", fmt.Sprint("e", i))
		turn(e, s)
		e.exec("select bellhop.look_again(100)")
		e.byStep(scheduler.Succeeded, fmt.Sprintf("%d.a %[1]d.b", i+1))
	}
	e.exec("update bellhop.jobqueue set ended_at = '2026-01-31 UTC' where step = 'a'")
	e.exec("update bellhop.jobqueue set ended_at = '2026-02-02 UTC' where step = 'b'")
	e.exec("update bellhop.run set ended_at = case id when 1 then '2026-02-02 UTC' else '2026-03-02 UTC' end::timestamptz")
	prune := func(since, until string) {
		e.Helper()
		e.exec("select bellhop.prune_jobs($1::text::timestamptz, $2::text::timestamptz, '{succeeded}', 0, 1000, false, false)", since, until)
	}
	prune("2026-01-01 UTC", "2026-02-01 UTC")
	e.runs("1 succeeded, 2 succeeded")
	if got := e.one("select count(*) from bellhop.jobqueue where step is not null"); got != "4" {
		t.Errorf("%s steps are left", got)
	}
	prune("2026-02-01 UTC", "2026-03-01 UTC")
	e.runs("2 succeeded")
	if got := e.one("select string_agg(run || step, ' ' order by id) from bellhop.jobqueue where step is not null"); got != "2a 2b" {
		t.Errorf("steps that are left: %s", got)
	}
}

// owners says how many workflows each instance has, in the order of the instances.
func (e *env) owners(want string) {
	e.Helper()
	got := e.one(`select string_agg(n::text, ' ' order by id) from (select i.id, (select count(*) from bellhop.workflow w where w.active and w.instance = i.id) n
		from bellhop.instance i where i.state = 'live') x`)
	if got != want {
		e.Fatalf("instances have %s workflows, want %s", got, want)
	}
}

// Workflows are divided evenly; who comes gets a part, who goes or is stopped gives all, and whose
// owner is silent are looked at by others.
func TestSensors_AreAssigned(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	for i := range 9 {
		e.apply(fmt.Sprint("w", i), `{"cron":"0 0 1 1 *"}`, `[{"name":"a","type":"cat"}]`)
	}
	turn(e, s)
	e.owners("9")
	second, third := e.register("second", time.Minute), e.register("third", time.Minute)
	if next := e.one("select bellhop.sensors_next($1)", int64(third)); next != "0" {
		t.Errorf("who has come looks in %s ms", next)
	}
	if _, next, err := s.Turn(t.Context(), third); err != nil || next < time.Hour && time.Now().Month() != time.December {
		t.Errorf("%s, %v", next, err)
	}
	e.owners("3 3 3")
	if got := e.one("select bellhop.manager('stop', 'second')"); got != "2" {
		t.Errorf("%s instances start workflows", got)
	}
	turn(e, s)
	e.owners("5 0 4")
	if n, next, err := s.Turn(t.Context(), second); n != 0 || next >= 0 || err != nil {
		t.Errorf("one that is stopped: %d, %s, %v", n, next, err)
	}
	if got := e.fails("select bellhop.manager('start', 'secnd')"); !strings.Contains(got, "there is no instance secnd") {
		t.Error(got)
	}
	e.exec("select bellhop.manager('start')")
	e.exec("update bellhop.instance set state = 'gone' where id = $1", int64(third))
	turn(e, s)
	e.owners("5 4")
	// A slot of the second's: the first lets it have it for 2 s, and then takes it.
	for late := true; late; { // where the machine was so slow that it had to take it: once more
		began := time.Now()
		e.exec("update bellhop.sensor set next_fire = now() - interval '500 ms' where workflow = (select min(name) from bellhop.workflow where instance = $1)", int64(second))
		n, next := turn(e, s)
		if late = time.Since(began) > time.Second; !late && (n != 0 || next <= 0 || next > 2*time.Second) {
			t.Errorf("the first fired %d, looks in %s", n, next)
		}
	}
	e.exec("update bellhop.sensor set next_fire = next_fire - interval '2 s' where next_fire < now()")
	if n, _ := turn(e, s); n != 1 {
		t.Errorf("%d fired", n)
	}
	// All are stopped: events are kept.
	e.exec("select bellhop.manager('stop')")
	e.exec("select bellhop.workflow_event('w0', 'x')")
	if n, _ := turn(e, s); n != 0 {
		t.Error("an event came to a run while all are stopped")
	}
	e.exec("select bellhop.manager('start')")
	if n, _ := turn(e, s); n != 1 {
		t.Error("an event was lost while all were stopped")
	}
}

// Rows of an app's table are events, once each, and none that is rolled back.
func TestWorkflow_RowsAreEvents(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.exec(`select bellhop.workflow_apply('{"workflow":"import","parameters":{"PATH":"none"},"steps":[{"name":"a","type":"cat","args":"${EVENT} ${PATH}"}]}')`)
	e.exec("create table uploads (id int, path text)")
	e.exec("create trigger import after insert on uploads for each row execute function bellhop.row_event('import', 'id', 'path')")
	e.exec("insert into uploads values (1, '/srv/a'), (2, null), (1, '/srv/b')")
	release := e.holding("insert into uploads values (7, '/srv/rolled back')")
	release()
	if n, _ := turn(e, s); n != 2 {
		t.Errorf("%d fired", n)
	}
	if got := e.one("select string_agg(args, ', ' order by id) from bellhop.jobqueue where step = 'a'"); got != "public.uploads=1 /srv/a, public.uploads=2 none" {
		t.Error(got)
	}
	e.exec("select bellhop.workflow_change('import', 'deactivated')")
	e.exec("insert into uploads values (3, 'x')")
	e.exec("create trigger wrong after insert on uploads for each row execute function bellhop.row_event('import', 'none')")
	if got := e.fails("insert into uploads values (4, 'x')"); !strings.Contains(got, "has no column") {
		t.Error(got)
	}
	if n, _ := turn(e, s); n != 0 {
		t.Errorf("%d fired of an inactive workflow", n)
	}
}

// An event has the schema of its row in its name, and the whole key; a row without one is none. No INSERT fails for
// what a definition says.
func TestWorkflow_RowsAreEventsOfTheirOwn(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`select bellhop.workflow_apply('{"workflow":"import","parameters":{"path":""},"steps":[{"name":"a","type":"cat"}]}')`)
	for _, schema := range []string{"north", "south"} {
		e.exec(fmt.Sprintf("create schema %s; create table %[1]s.uploads (id text, path text, size int)", schema))
		e.exec(fmt.Sprintf(`create trigger import after insert on %s.uploads for each row
			execute function bellhop.row_event('import', 'id', 'path', 'size')`, schema))
		e.exec(fmt.Sprintf("insert into %s.uploads values ('1', '/srv/a', 7), (null, null, null)", schema))
	}
	got := e.one("select string_agg(event || ' ' || parameters, ', ' order by event) from bellhop.event")
	if got != `north.uploads=1 {"path": "/srv/a"}, south.uploads=1 {"path": "/srv/a"}` {
		t.Errorf("events are %s", got)
	}
	e.exec("insert into north.uploads select repeat('x', 300) || g from generate_series(1, 2) g")
	if n := e.one("select count(*) from bellhop.event where event like 'north.uploads=xxx%'"); n != "2" {
		t.Errorf("%s events of two long keys", n)
	}
}

// Nobody takes from a sensor what it would name so.
func TestWorkflow_EventsAreNotNamedAsSensorsDo(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("create table tab (id int primary key); create table other (id int)")
	e.exec("create trigger t after insert on other for each row execute function bellhop.row_event('none', 'id')")
	for name, sensor := range map[string]string{"cron": `{"cron":"0 0 1 1 *"}`, "none": "null", "tab": `{"table":"tab"}`,
		"kafka": `{"kafka":"main","topic":"t"}`, "file": `{"file":"/srv/*.csv"}`} {
		e.apply(name, sensor, `[{"name":"a","type":"cat"}]`)
	}
	for _, c := range []struct{ workflow, event, want string }{
		{"cron", "2026-11-25T01:00:00Z", "reserved for slots"}, {"none", "2026-11-25T01:00:00Z", "reserved for slots"},
		{"none", "run=5", "ends of runs"}, {"none", "run=5/2", "ends of runs"}, {"tab", "tab=17", "rows of its table"},
		{"none", "public.other=3", "rows of a table"}, {"kafka", "t/0/17", "records of its topic"},
		{"kafka", "kafka=3", "without a name"}, {"file", "/srv/a.csv 7 2026", "files"}, {"none", "http=a", "workflow_http"},
	} {
		if got := e.fails("select bellhop.workflow_event($1, $2)", c.workflow, c.event); !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %s", c.workflow, c.event, got)
		}
	}
	for _, event := range []string{"order 4711", "order=4711", "public.none=3", "2026-11-25", "a/0/17", "run=last"} {
		if got := e.one("select bellhop.workflow_event('none', $1)", event); got != "true" {
			t.Errorf("%s: %q", event, got)
		}
	}
}

// A definition of 2,000 steps is applied and run, and of 1,000 workflows each has an owner.
func TestWorkflow_ManyStepsAndManyWorkflows(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	var steps strings.Builder
	steps.WriteString(`[{"name":"s0","type":"cat"}`)
	for i := 1; i < 2_000; i++ {
		fmt.Fprintf(&steps, `,{"name":"s%d","type":"cat","after":["s%d"]}`, i, i-1)
	}
	e.apply("long", "null", steps.String()+"]")
	e.one("select bellhop.workflow_run('long')")
	e.byStep(scheduler.Succeeded, "1.s0")
	e.byStep(scheduler.Failed, "1.s1") // of whose failure 1,998 others fail, 50 generations at once
	for e.one("select state from bellhop.run") == "running" {
		e.exec("select bellhop.look_again(10000), bellhop.pass_dummies()")
	}
	e.runs("1 failed")
	e.exec(`select bellhop.workflow_apply(jsonb_build_object('workflow', 'w' || g, 'sensor', '{"cron":"0 0 1 1 *"}'::jsonb, 'steps', '[{"name":"a","type":"cat"}]'::jsonb))
		from generate_series(1, 1000) g`)
	turns := 0
	for next := time.Duration(0); next >= 0 && next < time.Second; turns++ {
		_, next = turn(e, s)
	}
	if turns > 4 { // of 100 sensors each it would be ten, and pauses between them that grow
		t.Errorf("%d turns until each knew its next slot", turns)
	}
	plan := e.one("select count(*) from bellhop.workflow where active and instance = $1", int64(e.me))
	if plan != "1001" {
		t.Errorf("%s workflows have an owner", plan)
	}
}

// Law: no two runs of a workflow run at once, also if the steps of one that is queued between them are cancelled, or a
// run by hand has begun while the workflow was not active.
func TestWorkflow_OneRunAtATimeWhateverIsCancelled(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[{"name":"a","type":"cat"}]`)
	for range 4 {
		e.exec("select bellhop.workflow_run('w')")
	}
	e.exec("select bellhop.cancel(job) from bellhop.run_step where run in (2, 3)")
	e.exec("select bellhop.pass_dummies()")
	e.runs("1 running, 2 failed, 3 failed, 4 queued")
	e.byStep("succeeded", "1.a")
	e.runs("1 succeeded, 2 failed, 3 failed, 4 running")

	e.exec("select bellhop.workflow_run('w')") // 5 is queued
	e.exec("select bellhop.workflow_change('w', 'deactivated')")
	e.byStep("succeeded", "4.a")
	e.exec("select bellhop.workflow_run('w')") // 6 overtakes it
	e.exec("select bellhop.workflow_change('w', 'activated')")
	e.exec("select bellhop.workflow_run('w')") // 7
	e.byStep("succeeded", "6.a")
	e.byStep("succeeded", "5.a")
	e.byStep("succeeded", "7.a")
}
