package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// kept is what take says of the earlier attempts of a job.
func (e *env) kept(w *pgx.Conn, typ string) (r run, steps, event string) {
	e.Helper()
	err := w.QueryRow(e.Context(), `select id, fence, attempt, coalesce(steps::text, ''), coalesce(event::text, '')
		from bellhop.take($1, 1, '1 min')`, []string{typ}).Scan(&r.id, &r.fence, &r.attempt, &steps, &event)
	if err != nil {
		e.Fatal(err)
	}
	return r, steps, event
}

func (e *env) by(w *pgx.Conn, query string, args ...any) string {
	e.Helper()
	var got *string
	if err := w.QueryRow(e.Context(), query, args...).Scan(&got); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
	if got == nil {
		return ""
	}
	return *got
}

func (e *env) submitter(login string) *pgx.Conn {
	e.Helper()
	e.exec("do $$ begin create role " + login + " login in role bellhop_submitter; exception when duplicate_object or unique_violation then null; end $$")
	conn, err := pgx.Connect(e.Context(), e.url)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(e.Context(), "set session authorization "+login); err != nil {
		e.Fatal(err)
	}
	return conn
}

// loseLease ends the lease of a worker's run, which is then lost.
func (e *env) loseLease(id int64) {
	e.Helper()
	e.exec("update bellhop.jobqueue set lease_until = clock_timestamp() where id = $1", id)
	if n, _ := e.due(); n == 0 {
		e.Fatal("no lease is over")
	}
}

func TestSteps_OutliveARunThatIsLost(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_steps", "order")
	e.insert("type", "'order'")
	first, steps, _ := e.kept(w, "order")
	if steps != "" {
		t.Errorf("a job without steps has %s", steps)
	}
	e.by(w, `select bellhop.save_step($1, $2, 'charge', '{"receipt": 7}')`, first.id, first.fence)
	e.by(w, `select bellhop.save_step($1, $2, 'charge', '{"receipt": 7}')`, first.id, first.fence) // the same again
	_, err := w.Exec(t.Context(), `select bellhop.save_step($1, $2, 'charge', '8')`, first.id, first.fence)
	if sqlstate(err) != "BH005" {
		t.Errorf("another output: %v", err)
	}
	e.loseLease(first.id)
	second, steps, event := e.kept(w, "order")
	if second.id != first.id || second.attempt != 1 || steps != `{"charge": {"receipt": 7}}` || event != "" {
		t.Errorf("%v has %s and the event %s", second, steps, event)
	}
	_, err = w.Exec(t.Context(), `select bellhop.save_step($1, $2, 'mail')`, first.id, first.fence)
	if sqlstate(err) != "BH004" {
		t.Errorf("a run that was replaced saves a step: %v", err)
	}
}

func TestSteps_AreSavedWithTheTransactionOrNotAtAll(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_steps_tx", "order")
	e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	tx, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select bellhop.save_step($1, $2, 'charge')", r.id, r.fence); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.loseLease(r.id)
	if _, steps, _ := e.kept(w, "order"); steps != "" {
		t.Errorf("a step that was rolled back is kept: %s", steps)
	}
}

func TestSteps_Bounds(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_bounds", "order")
	e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	long := strings.Repeat("n", 201)
	for _, c := range []struct {
		name   any
		output string
		code   string
	}{
		{"", "1", "22023"}, {nil, "1", "22023"}, {long, "1", "22023"}, {"two\nlines", "1", "22023"},
		{"sleep.1", "1", "22023"}, {"event.x", "1", "22023"},
		{"large", `"` + strings.Repeat("x", 1<<20) + `"`, "22023"}, {long[:200], "1", "none"},
	} {
		_, err := w.Exec(t.Context(), "select bellhop.save_step($1, $2, $3, $4::jsonb)", r.id, r.fence, c.name, c.output)
		if sqlstate(err) != c.code {
			t.Errorf("step %.20v: %v, want %s", c.name, err, c.code)
		}
	}
	e.by(w, "select count(bellhop.save_step($1, $2, 's' || n))::text from generate_series(1, 999) n", r.id, r.fence)
	if _, err := w.Exec(t.Context(), "select bellhop.save_step($1, $2, 'one more')", r.id, r.fence); sqlstate(err) != "54000" {
		t.Errorf("the step after the thousandth: %v", err)
	}
	e.insert("type, msq, state, fence, instance", "'order', 'select 1', 'running', 5, 0")
	if _, err := w.Exec(t.Context(), "select bellhop.save_step(max(id), 5, 'x') from (select max(id) as id from bellhop.jobqueue) j"); sqlstate(err) != "42501" {
		t.Errorf("a worker reads the queue: %v", err)
	}
	if _, err := w.Exec(t.Context(), "select bellhop.save_step($1, 5, 'x')", r.id+1); sqlstate(err) != "0A000" {
		t.Errorf("a step of a query: %v", err)
	}
}

func TestSteps_OutputsAreForOwnersAndOperators(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_secret", "order")
	owner, other := e.submitter("steps_owner"), e.submitter("steps_other")
	e.exec("do $$ begin create role steps_reader login in role bellhop_reader; exception when duplicate_object or unique_violation then null; end $$")
	e.by(owner, "select bellhop.submit('order')::text")
	r, _, _ := e.kept(w, "order")
	e.by(w, `select bellhop.save_step($1, $2, 'charge', '"secret"')`, r.id, r.fence)
	const look = "select coalesce(string_agg(concat_ws(' ', name, output), ','), '-') from bellhop.step"
	e.exec("set role steps_reader")
	reader := e.one(look)
	e.exec("reset role")
	if got := [3]string{e.by(owner, look), e.by(other, look), reader}; got != [3]string{`charge "secret"`, "-", "charge"} {
		t.Errorf("owner, other submitter, reader see %q", got)
	}
	for _, table := range []string{"saved_step", "awaits"} {
		if _, err := owner.Exec(t.Context(), "select from bellhop."+table); sqlstate(err) != "42501" {
			t.Errorf("a submitter reads %s: %v", table, err)
		}
	}
	_, err := other.Exec(t.Context(), "select bellhop.save_step($1, $2, 'x')", r.id, r.fence)
	if sqlstate(err) != "42501" {
		t.Errorf("a submitter saves a step: %v", err)
	}
}

func TestSleep_IsARowAndNoAttempt(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_sleeps", "order")
	id := e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	e.by(w, "select bellhop.sleep($1, $2, '3 days')::text", r.id, r.fence)
	e.want(id, "concat_ws(' ', state, attempt, waiting_for, instance, run_at > clock_timestamp() + '2 days')", "scheduled 0 sleeps t")
	if got := e.one("select string_agg(code, ',') from bellhop.explanation($1)", id); got != "sleeps" {
		t.Errorf("it waits for %s", got)
	}
	_, err := w.Exec(t.Context(), "select bellhop.finish($1, $2)", r.id, r.fence)
	if sqlstate(err) != "BH004" {
		t.Errorf("a run that sleeps finishes: %v", err)
	}
	e.exec("select bellhop.edit($1, run_at => '-infinity')", id)
	again, steps, _ := e.kept(w, "order")
	if again.attempt != 1 || !strings.HasPrefix(steps, `{"sleep.1": {"until": "`) {
		t.Errorf("awake: %v, %s", again, steps)
	}
	for _, pause := range []any{"-1 s", "0", "400 days", nil} {
		const sleep = "select bellhop.sleep($1, $2, $3::text::interval)"
		if _, err := w.Exec(t.Context(), sleep, again.id, again.fence, pause); sqlstate(err) != "22023" {
			t.Errorf("it sleeps for %v: %v", pause, err)
		}
	}
	e.exec("select bellhop.cancel($1)", id)
	e.by(w, "select bellhop.sleep($1, $2, '1 s')::text", again.id, again.fence)
	e.want(id, "state", "cancelled")
}

func TestEvent_WakesTheJobInItsTransaction(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w, app := e.worker("worker_awaits", "order"), e.submitter("steps_app")
	id := e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	if got := e.by(w, "select concat_ws(' ', came, payload) from bellhop.await_event($1, $2, 'paid.42', '2 days')", r.id, r.fence); got != "f" {
		t.Fatalf("it came: %s", got)
	}
	e.want(id, "concat_ws(' ', state, attempt, waiting_for)", "scheduled 0 awaits_event: paid.42")
	if got := e.one("select (array_agg(concat_ws(' ', code, next)))[1] from bellhop.explanation($1)", id); got != "awaits_event bellhop emit paid.42" {
		t.Errorf("explained: %s", got)
	}
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select bellhop.emit('paid.42', '{"sum": 3}')`); err != nil {
		t.Fatal(err)
	}
	e.want(id, "state", "scheduled") // nothing before the commit
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.want(id, "concat_ws(' ', state, waiting_for)", "ready")
	if got := e.by(app, `select bellhop.emit('paid.42', '{"sum": 4}')::text`); got != "false" {
		t.Errorf("a second event is the first: %s", got)
	}
	again, steps, event := e.kept(w, "order")
	if again.attempt != 1 || event != `{"sum": 3}` || steps != `{"event.paid.42": {"payload": {"sum": 3}}}` {
		t.Errorf("%v: event %s, steps %s", again, event, steps)
	}
	if got := e.by(w, "select concat_ws(' ', came, payload) from bellhop.await_event($1, $2, 'paid.42')", again.id, again.fence); got != `t {"sum": 3}` {
		t.Errorf("awaited again: %s", got)
	}
	if got := e.by(w, "select bellhop.finish($1, $2)::text", again.id, again.fence); got != "" {
		t.Error(got)
	}
}

func TestEvent_BeforeItIsAwaited(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_late", "order")
	e.insert("type", "'order'")
	e.one("select bellhop.emit('early')::text")
	r, _, _ := e.kept(w, "order")
	if got := e.by(w, "select concat_ws(' ', came, payload) from bellhop.await_event($1, $2, 'early')", r.id, r.fence); got != "t null" {
		t.Errorf("it came: %s", got)
	}
	e.loseLease(r.id)
	if _, steps, event := e.kept(w, "order"); steps != `{"event.early": {"payload": null}}` || event != "null" {
		t.Errorf("the next run has %s, %s", steps, event)
	}
}

func TestEvent_ThatDoesNotCome(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_timeout", "order")
	id := e.insert("type", "'order'")
	for n := 1; n <= 2; n++ {
		r, _, _ := e.kept(w, "order")
		e.by(w, "select came::text from bellhop.await_event($1, $2, 'never', '1 h')", r.id, r.fence)
		e.exec("update bellhop.jobqueue set run_at = clock_timestamp() where id = $1", id)
		e.due()
		r, steps, event := e.kept(w, "order")
		if want := fmt.Sprintf(`{"event.never": {"timed_out": %d}}`, n); steps != want || event != "null" {
			t.Errorf("time-out %d: %s, %s", n, steps, event)
		}
		e.loseLease(r.id)
	}
}

// Two transactions that do not see each other: the job is found by the next look.
func TestEvent_NeitherTransactionSeesTheOther(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the job", "the app"} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
			t.Run(first+" commits first, "+string(level), func(t *testing.T) {
				t.Parallel()
				e := openEnv(t)
				w, app := e.worker("worker_race", "order"), e.submitter("steps_race")
				id := e.insert("type", "'order'")
				r, _, _ := e.kept(w, "order")
				begin := func(c *pgx.Conn, query string, args ...any) pgx.Tx {
					tx, err := c.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := tx.Exec(t.Context(), query, args...); err != nil {
						t.Fatal(err)
					}
					return tx
				}
				awaits := begin(w, "select bellhop.await_event($1, $2, 'met')", r.id, r.fence)
				emits := begin(app, "select bellhop.emit('met')")
				if first == "the app" {
					awaits, emits = emits, awaits
				}
				if err := awaits.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				e.due() // too early
				if err := emits.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				e.due()
				e.want(id, "state", "ready")
				if got := e.one("select count(*) from bellhop.awaits where not counted or waits"); got != "0" {
					t.Errorf("%s are looked at for ever", got)
				}
				if got := e.one("select count(*) from bellhop.emitted where not counted"); got != "0" {
					t.Errorf("%s events are looked at for ever", got)
				}
			})
		}
	}
}

func TestEvent_WakesVeryManyByAndBy(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`with made as (insert into bellhop.jobqueue (type, state, run_at, waiting_for, stepped)
		select 'order', 'scheduled', 'infinity', 'awaits_event: all', true from generate_series(1, 2500) returning id)
		insert into bellhop.awaits (job, event, until, counted) select id, 'all', 'infinity', true from made`)
	e.one("select bellhop.emit('all')::text")
	for _, want := range []string{"1000", "2000", "2500"} {
		if got := e.one("select count(*) from bellhop.jobqueue where state = 'ready'"); got != want {
			t.Errorf("%s are ready, want %s", got, want)
		}
		e.due()
	}
	if _, next := e.due(); next >= 0 && next < time.Second {
		t.Errorf("it looks again in %s", next)
	}
}

func TestEvent_OfAHeldJobLetsItGoWhenReleased(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_held", "order")
	id := e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	e.by(w, "select came::text from bellhop.await_event($1, $2, 'x')", r.id, r.fence)
	e.exec("select bellhop.edit($1, hold => true)", id)
	e.one("select bellhop.emit('x')::text")
	e.want(id, "state", "held")
	e.exec("select bellhop.release($1)", id)
	e.want(id, "state", "ready")
}

func TestRetry_KeepsStepsOrForgetsFromOneOn(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_again", "order")
	id := e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	for _, step := range []string{"reserve", "charge", "mail"} {
		e.by(w, "select bellhop.save_step($1, $2, $3)", r.id, r.fence, step)
	}
	e.by(w, "select bellhop.fail($1, $2, 'no', '-1 s')", r.id, r.fence)
	e.exec("select bellhop.retry($1)", id)
	r, steps, _ := e.kept(w, "order")
	if strings.Count(steps, "null") != 3 {
		t.Errorf("after retry: %s", steps)
	}
	if got := e.one("select bellhop.retry_from($1, 'charge')", id); got != "running" {
		t.Errorf("a running job forgets steps: %s", got)
	}
	e.by(w, "select bellhop.fail($1, $2, 'no', '-1 s')", r.id, r.fence)
	if _, err := e.conn.Exec(t.Context(), "select bellhop.retry_from($1, 'nothing')", id); sqlstate(err) != "22023" {
		t.Errorf("from a step that is not there: %v", err)
	}
	if got := e.one("select bellhop.retry_from($1, 'charge')", id); got != "ready" {
		t.Errorf("it is %s", got)
	}
	if _, steps, _ := e.kept(w, "order"); steps != `{"reserve": null}` {
		t.Errorf("after retry from charge: %s", steps)
	}
}

func TestSteps_GoWithTheirJobAndEventsStayWhileAwaited(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_gone", "order")
	id := e.insert("type", "'order'")
	r, _, _ := e.kept(w, "order")
	e.by(w, "select bellhop.save_step($1, $2, 'a')", r.id, r.fence)
	e.by(w, "select came::text from bellhop.await_event($1, $2, 'x')", r.id, r.fence)
	e.one("select bellhop.emit('x')::text")
	e.one("select bellhop.emit('y')::text")
	e.exec("update bellhop.emitted set at = at - interval '1 day'")
	if got := e.one("select bellhop.retain_events(1000, 100)"); got != "1" {
		t.Errorf("%s events were deleted, want y alone", got)
	}
	r, _, _ = e.kept(w, "order")
	// An agent that an instance runs asks for the same.
	if got := e.by(w, "select (bellhop.steps($1, $2) #> '{steps,a}')::text", r.id, r.fence); got != "null" {
		t.Errorf("step a has the output %s", got)
	}
	if got := e.one("select bellhop.retain_events(1000, 100)"); got != "1" {
		t.Errorf("%s events were deleted, want x", got)
	}
	// A pass of retention deletes old events at its end.
	e.one("select bellhop.emit('z')::text")
	e.exec("update bellhop.emitted set at = at - interval '31 days'")
	e.exec("update bellhop.housekeeping set instance = 1")
	e.exec("select bellhop.retention_goes_on(1, 0, true)")
	if got := e.one("select count(*) from bellhop.emitted"); got != "0" {
		t.Errorf("%s events are left after a pass", got)
	}
	e.by(w, "select bellhop.finish($1, $2)::text", r.id, r.fence)
	e.exec("delete from bellhop.jobqueue where id = $1", id)
	if got := e.one("select (select count(*) from bellhop.saved_step) + (select count(*) from bellhop.awaits)"); got != "0" {
		t.Errorf("%s rows are left", got)
	}
}

// A run that an instance has ends by its agent's words.
func TestSleep_OfAnInstancesRunIsItsAgents(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_instance", "order")
	e.insert("type, state, fence, instance", "'order', 'running', 5, 77")
	for _, call := range []string{"sleep(1, 5, '1 s')", "await_event(1, 5, 'x')"} {
		if _, err := w.Exec(t.Context(), "select bellhop."+call); sqlstate(err) != "55000" {
			t.Errorf("%s: %v", call, err)
		}
	}
	if _, err := w.Exec(t.Context(), "select bellhop.save_step(1, 5, 'x')"); err != nil {
		t.Error(err)
	}
}
