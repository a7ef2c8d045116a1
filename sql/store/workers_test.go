package store

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"bellhop/scheduler"
)

// worker is a session of an app that may take the types.
func (e *env) worker(login string, types ...string) *pgx.Conn {
	e.Helper()
	e.exec("do $$ begin create role " + login + " login in role bellhop_worker; exception when duplicate_object or unique_violation then null; end $$")
	for _, typ := range types {
		e.exec("insert into bellhop.worker_type values ($1, $2)", login, typ)
	}
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

// run is a job that a worker has.
type run struct {
	id, fence int64
	attempt   int
	args      *string
}

func (e *env) take(w *pgx.Conn, n int, types ...string) (got []run) {
	e.Helper()
	rows, err := w.Query(e.Context(), "select id, fence, attempt, args from bellhop.take($1, $2, '1 min')", types, n)
	if err != nil {
		e.Fatal(err)
	}
	got, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r run, err error) {
		err = row.Scan(&r.id, &r.fence, &r.attempt, &r.args)
		return r, err
	})
	if err != nil {
		e.Fatal(err)
	}
	return got
}

func (e *env) takeOne(w *pgx.Conn, typ string) run {
	e.Helper()
	got := e.take(w, 1, typ)
	if len(got) != 1 {
		e.Fatalf("%d jobs taken, want one", len(got))
	}
	return got[0]
}

func sqlstate(err error) string {
	said, is := err.(*pgconn.PgError)
	if !is {
		return "none"
	}
	return said.Code
}

// Law: finish_all is finish for each of its jobs, or for none.
func TestWorker_FinishesSeveral(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_several", "mail", "sms")
	after := e.insert("type, held", "'mail', true")
	for _, typ := range []string{"mail", "sms", "mail"} {
		id := e.insert("type", "'"+typ+"'")
		e.exec("insert into bellhop.dependency (job, needs) values ($1, $2)", after, id)
	}
	r := e.take(w, 10, "mail", "sms")
	all := [2][]int64{}
	for _, x := range r {
		all[0], all[1] = append(all[0], x.id), append(all[1], x.fence)
	}
	stale := []int64{all[1][0], all[1][1] - 1, all[1][2]}
	long := []string{"1", `"` + strings.Repeat("x", 1<<20) + `"`, "2"}
	for what, c := range map[string]struct {
		jobs, fences []int64
		results      []string
		code         string
	}{
		"a run that was replaced": {all[0], stale, nil, "BH004"},
		"no such job":             {[]int64{all[0][0], 1 << 60}, all[1][:2], nil, "BH004"},
		"a job twice":             {[]int64{all[0][0], all[0][0]}, []int64{all[1][0], all[1][0]}, nil, "22023"},
		"a fence that is missing": {all[0], all[1][:2], nil, "22023"},
		"results of others":       {all[0], all[1], long[:2], "22023"},
		"a result that is long":   {all[0], all[1], long, "54000"},
		"none":                    {nil, nil, nil, "22023"},
	} {
		_, err := w.Exec(t.Context(), "select bellhop.finish_all($1, $2, $3::text[]::jsonb[])", c.jobs, c.fences, c.results)
		if sqlstate(err) != c.code {
			t.Errorf("%s: %v, want %s", what, err, c.code)
		}
	}
	e.want(scheduler.JobID(all[0][0]), "state", "running")
	results := []*string{nil, nil, nil}
	text := `{"ok": 1}`
	results[2] = &text
	_, err := w.Exec(t.Context(), "select bellhop.finish_all($1, $2, $3::text[]::jsonb[])", all[0], all[1], results)
	if err != nil {
		t.Fatal(err)
	}
	got := e.one("select string_agg(concat_ws(' ', state, exit_code, attempt, result, lease_until), ', ' order by id) from bellhop.jobqueue where not held")
	if want := `succeeded 0 1, succeeded 0 1, succeeded 0 1 {"ok": 1}`; got != want {
		t.Errorf("they are %s, want %s", got, want)
	}
	if got := e.one("select bool_and(met) from bellhop.dependency"); got != "true" {
		t.Errorf("jobs that need them still wait")
	}
	_, err = w.Exec(t.Context(), "select bellhop.finish_all($1, $2)", all[0], all[1])
	if sqlstate(err) != "BH004" {
		t.Errorf("once more: %v", err)
	}
}

func TestWorker_TakesInOrderAndFinishes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_order", "mail", "sms")
	late := e.insert("type, priority, args", "'mail', 1, 'late'")
	first := e.insert("type, args, vars, key, timeout", `'sms', 'first', '{"A": "1"}', 'k', '1 h'`)
	e.insert("type, msq", "'mail', 'select 1'")
	e.insert("type, run_on", "'mail', 'east'")
	e.insert("type, locks", "'mail', '{db:x=exclusive}'")
	e.insert("type", "'other'")
	got := e.take(w, 10, "mail", "sms")
	if len(got) != 2 || got[0].id != int64(first) || got[1].id != int64(late) || got[0].attempt != 1 {
		t.Fatalf("%v taken, want %d and %d", got, first, late)
	}
	e.want(first, "instance || ' ' || state || ' ' || host", "0 running worker worker_order")
	if again := e.take(w, 10, "mail", "sms"); len(again) != 0 {
		t.Fatalf("taken again: %v", again)
	}
	_, err := w.Exec(t.Context(), `select bellhop.finish($1, $2, '{"sent": true}')`, got[0].id, got[0].fence)
	if err != nil {
		t.Fatal(err)
	}
	e.want(first, "concat_ws(' ', state, attempt, exit_code, result, lease_until)", `succeeded 1 0 {"sent": true}`)
	if _, err := w.Exec(t.Context(), "select bellhop.finish($1, $2)", got[0].id, got[0].fence); sqlstate(err) != "BH004" {
		t.Errorf("finished twice: %v", err)
	}
}

func TestWorker_FinishesWithItsTransactionOrNotAtAll(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_ledger", "mail")
	e.exec("create table public.sent (job bigint primary key); grant insert, select on public.sent to worker_ledger")
	e.insert("type", "'mail'")
	old := e.takeOne(w, "mail")
	e.exec("update bellhop.jobqueue set lease_until = clock_timestamp() where id = $1", old.id)
	if n, _ := e.due(); n != 1 {
		t.Fatalf("%d leases are over, want one", n)
	}
	new := e.takeOne(w, "mail")
	if new.id != old.id || new.fence <= old.fence || new.attempt != 1 {
		t.Fatalf("taken again: %v after %v; a lost run counts as no attempt", new, old)
	}
	finish := func(r run) error {
		return pgx.BeginFunc(t.Context(), w, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "insert into public.sent values ($1)", r.id); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), "select bellhop.finish($1, $2)", r.id, r.fence)
			return err
		})
	}
	if err := finish(old); sqlstate(err) != "BH004" {
		t.Errorf("a run that was replaced finishes: %v", err)
	}
	if got := e.one("select count(*) from public.sent"); got != "0" {
		t.Errorf("the run that was replaced has left %s rows", got)
	}
	if err := finish(new); err != nil {
		t.Fatal(err)
	}
	if got := e.one("select count(*) from public.sent"); got != "1" {
		t.Errorf("%s rows, want one", got)
	}
	e.want(scheduler.JobID(new.id), "concat_ws(' ', state, attempt, lost)", "succeeded 1 1")
	if got := e.one("select reason from bellhop.lost_run where job = $1", new.id); got != "worker worker_ledger did not renew its lease" {
		t.Errorf("lost because %q", got)
	}
}

func TestWorker_FailsAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_fails", "mail")
	id := e.insert("type, max_attempts", "'mail', 3")
	fail := func(retry any) string {
		t.Helper()
		r := e.takeOne(w, "mail")
		var state string
		err := w.QueryRow(t.Context(), "select bellhop.fail($1, $2, 'no line', $3)", r.id, r.fence, retry).Scan(&state)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	if state := fail("0 s"); state != "scheduled" {
		t.Errorf("the first of three failed: %s", state)
	}
	if state := fail(nil); state != "scheduled" {
		t.Errorf("the second of three failed: %s", state)
	}
	if got := e.one("select run_at - clock_timestamp() between '1 s' and '3 s' from bellhop.jobqueue where id = $1", int64(id)); got != "true" {
		t.Errorf("after the second it rests until %s", e.column(id, "run_at - clock_timestamp()"))
	}
	e.exec("update bellhop.jobqueue set run_at = clock_timestamp() where id = $1", int64(id))
	if state := fail(nil); state != "failed" {
		t.Errorf("the third of three failed: %s", state)
	}
	e.want(id, "concat_ws(' ', attempt, error, ended_at is not null)", "3 no line t")
	if got := e.one("select string_agg(attempt || ' ' || error, ', ' order by attempt) from bellhop.attempt_past where job = $1", int64(id)); got != "1 no line, 2 no line, 3 no line" {
		t.Errorf("its attempts: %s", got)
	}
	never := e.insert("type, max_attempts", "'mail', 3")
	if state := fail("-1 s"); state != "failed" {
		t.Errorf("never again: %s, job %d", state, never)
	}
}

func TestWorker_RenewsUntilItsTimeoutAndHearsOfACancel(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_renews", "mail")
	id := e.insert("type, timeout", "'mail', '10 min'")
	r := e.takeOne(w, "mail")
	renew := func(lease string) (left time.Duration, cancel bool) {
		t.Helper()
		err := w.QueryRow(t.Context(), "select n.until - clock_timestamp(), n.cancel from bellhop.renew($1, $2, $3, 0.5, 'half') n",
			r.id, r.fence, lease).Scan(&left, &cancel)
		if err != nil {
			t.Fatal(err)
		}
		return left, cancel
	}
	if left, cancel := renew("5 min"); left < 4*time.Minute || left > 5*time.Minute || cancel {
		t.Errorf("renewed for %s, %t", left, cancel)
	}
	if left, _ := renew("1 h"); left > 10*time.Minute {
		t.Errorf("renewed for %s, longer than the timeout", left)
	}
	e.want(id, "concat_ws(' ', progress, progress_text)", "0.5 half")
	if got := e.one("select bellhop.cancel($1)", int64(id)); got != "running" {
		t.Errorf("cancelled, it is %s", got)
	}
	if _, cancel := renew("1 min"); !cancel {
		t.Error("it does not hear that it is to stop")
	}
	if got := e.one("select bellhop.fail($1, $2, 'stopped')", r.id, r.fence); got != "cancelled" {
		t.Errorf("stopped, it is %s", got)
	}

	id = e.insert("type, timeout", "'mail', '10 min'")
	r = e.takeOne(w, "mail")
	e.exec("update bellhop.jobqueue set started_at = started_at - interval '11 min', lease_until = clock_timestamp() where id = $1", r.id)
	e.due()
	e.want(id, "concat_ws(' ', state, error)", "failed timeout: it has run for longer than 00:10:00")
}

func TestWorker_HasItsOwnTypesOnly(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w, other := e.worker("worker_mine", "mail"), e.worker("worker_other", "sms")
	e.insert("type", "'mail'")
	r := e.takeOne(w, "mail")
	for what, text := range map[string]string{
		"take":   "select bellhop.take('{sms,mail}')",
		"finish": "select bellhop.finish(1, 1)",
		"all":    "select bellhop.finish_all(array[j], array[f]) from (values (1, 1)) x (j, f)",
		"fail":   "select bellhop.fail(1, 1, 'x')",
		"renew":  "select bellhop.renew(1, 1)",
		"grants": "insert into bellhop.worker_type values ('worker_other', 'mail')",
		"reads":  "select bellhop.end_badly(null, null, null)",
		"writes": "update bellhop.jobqueue set state = 'ready'",
		"claims": "select bellhop.claim_for_worker('{mail}', 1, '1 min')",
	} {
		text = strings.Replace(text, "(1, 1", "("+e.one("$1::bigint", r.id)+", "+e.one("$1::bigint", r.fence), 1)
		if _, err := other.Exec(t.Context(), text); sqlstate(err) != "42501" {
			t.Errorf("%s: %v, want permission denied", what, err)
		}
	}
	for what, text := range map[string]string{
		"22023": "select bellhop.take('{mail}', 0)",
		"22P02": "select bellhop.take('{mail}', 1, 'soon')",
		"BH004": "select bellhop.finish(999999, 1)",
	} {
		if _, err := w.Exec(t.Context(), text); sqlstate(err) != what && !(what == "22P02" && sqlstate(err) == "22007") {
			t.Errorf("%s: %v, want %s", text, err, what)
		}
	}
	e.want(scheduler.JobID(r.id), "state", "running")
}

// The agent of an instance finishes its job in its own transaction. Its OK or its death afterwards changes nothing.
func TestWorker_FinishesWhatAnInstanceRuns(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"its OK is confirmed", "it dies before its OK", "its start is written late"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			w := e.worker("worker_cat", "cat")
			e.insert("type, max_attempts", "'cat', 3")
			d, starts := demand(1), []scheduler.Record(nil)
			d.Assigned = what == "its start is written late"
			j := e.claim(d)[0]
			if d.Assigned {
				starts = append(starts, scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim})
			}
			if _, err := w.Exec(t.Context(), "select bellhop.finish($1, $2, '7')", int64(j.Job), j.Fence); err != nil {
				t.Fatal(err)
			}
			row := e.row(j.Job)
			r := succeeded(j)
			if what == "it dies before its OK" {
				r = settle(j, scheduler.Result{Child: "cat.1", Outcome: scheduler.OutcomeDied, Ended: time.Now()},
					scheduler.Verdict{State: scheduler.Scheduled, Delay: time.Second, Counts: true, Death: true})
			}
			if stale := e.write(false, append(starts, r)...); len(stale) != 0 {
				t.Errorf("stale: %v", stale)
			}
			if got := e.row(j.Job); got != row {
				t.Errorf("it is %s\nand was %s", got, row)
			}
		})
	}
}

// Two runs of one item meet: the later one waits for the earlier one, and does nothing.
func TestWorker_FinishesAnItemOnce(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w, other := e.worker("worker_items", "cat"), e.worker("worker_no_items", "sms")
	e.insert("type, msq", "'cat', 'select 1'")
	j := e.claim(demand(1))[0]
	const text = "select bellhop.finish_item($1, $2, $3)"
	finish := func(w interface {
		QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	}, fence int64, item any) (first bool, err error) {
		err = w.QueryRow(t.Context(), text, int64(j.Job), fence, item).Scan(&first)
		return first, err
	}
	tx, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first, err := finish(tx, int64(j.Fence), "a"); !first || err != nil {
		t.Fatalf("%t, %v", first, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if first, err := finish(w, int64(j.Fence), "a"); first != want || err != nil {
			t.Errorf("it is the first: %t, %v, want %t", first, err, want)
		}
	}
	for what, call := range map[string]func() (bool, error){
		"42501": func() (bool, error) { return finish(other, int64(j.Fence), "b") },
		"BH004": func() (bool, error) { return finish(w, int64(j.Fence)-1, "b") },
		"22023": func() (bool, error) { return finish(w, int64(j.Fence), nil) },
	} {
		if _, err := call(); sqlstate(err) != what {
			t.Errorf("%v, want %s", err, what)
		}
	}
	if _, err := w.Exec(t.Context(), "select bellhop.finish($1, $2)", int64(j.Job), j.Fence); sqlstate(err) != "0A000" {
		t.Errorf("the query is finished as a job: %v", err)
	}
}

// A worker that found nothing is rung for, and does not miss a job whose producer found it awake.
func TestWorker_IsRungForWhenItSleeps(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_sleeps", "mail")
	if _, err := w.Exec(t.Context(), "listen bellhop_work"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got := e.take(w, 10, "mail"); len(got) != 0 {
			t.Fatalf("taken: %v", got)
		}
		id := e.insert("type", "'mail'")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := w.WaitForNotification(ctx)
		cancel()
		if err != nil {
			t.Fatalf("no ring: %v", err)
		}
		r := e.takeOne(w, "mail")
		if r.id != int64(id) {
			t.Fatalf("job %d taken, want %d", r.id, id)
		}
		if held := e.one("select count(*) from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and database = (select oid from pg_database where datname = current_database())"); held != "0" {
			t.Fatalf("awake, it keeps the gate %s times", held)
		}
		if _, err := w.Exec(t.Context(), "select bellhop.finish($1, $2)", r.id, r.fence); err != nil {
			t.Fatal(err)
		}
	}
}

// A silent producer is under way while a worker falls asleep: its job is found with a later look.
func TestWorker_DoesNotWaitLongForAProducer(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_waits", "mail")
	tx, err := e.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "insert into bellhop.jobqueue (type) values ('mail')"); err != nil {
		t.Fatal(err)
	}
	if got := e.take(w, 1, "mail"); len(got) != 0 {
		t.Fatalf("taken: %v", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.takeOne(w, "mail")
}

// Without any instance, a chain of jobs, a time and a deadline come about all the same.
func TestWorker_NeedsNoInstance(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("update bellhop.instance set state = 'gone'")
	w := e.worker("worker_alone", "mail")
	first := e.insert("type", "'mail'")
	second := e.needs(first)
	e.exec("update bellhop.jobqueue set type = 'mail' where id = $1", int64(second))
	e.insert("type, run_at", "'mail', clock_timestamp() + interval '10 ms'")
	late := e.insert("type, not_after, held", "'mail', clock_timestamp() + interval '1 h', true")
	e.exec("update bellhop.jobqueue set not_after = clock_timestamp() where id = $1", int64(late))
	e.exec("update bellhop.deadline set at = clock_timestamp() where job = $1", int64(late))
	done := 0
	for until := time.Now().Add(time.Minute); done < 3 && time.Now().Before(until); {
		for _, r := range e.take(w, 5, "mail") {
			if _, err := w.Exec(t.Context(), "select bellhop.finish($1, $2)", r.id, r.fence); err != nil {
				t.Fatal(err)
			}
			done++
		}
	}
	if rest := e.take(w, 5, "mail"); len(rest) > 0 { // a call that finds nothing keeps the house
		t.Errorf("it took %v, too", rest)
	}
	e.want(second, "state", "succeeded")
	e.want(late, "state", "cancelled")
	if done != 3 {
		t.Errorf("%d jobs done, want 3", done)
	}
}

// Two bodies decide how long a failed job rests: the tree's, and fail's.
func TestWorker_RestsAsItsTypeSays(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	rapid.Check(t, func(r *rapid.T) {
		first := time.Duration(rapid.IntRange(1, 100_000).Draw(r, "first")) * time.Millisecond
		p := scheduler.RetryPolicy{
			Attempts: 5,
			First:    first,
			Most:     first * time.Duration(rapid.IntRange(1, 1000).Draw(r, "most")),
			Factor:   float64(rapid.SampledFrom([]float32{1, 1.5, 2, 4}).Draw(r, "factor")),
			Jitter:   0.5,
		}
		attempt, u := rapid.IntRange(1, 100).Draw(r, "attempt"), float64(rapid.IntRange(0, 3).Draw(r, "u"))/4
		me := Instance{Name: "r", Hostname: "h", Machine: "m", ProcessStart: "1", Version: "v", Lag: time.Minute,
			Agents: []Agent{{Type: "rests", Mode: "warm", Dialect: "auto", Command: "cat", Retry: &p}}}
		if err := e.registry.Reintroduce(t.Context(), e.me, me); err != nil {
			r.Fatal(err)
		}
		var got time.Duration
		err := e.conn.QueryRow(t.Context(), "select bellhop.pause_after('rests', $1, $2)", attempt, u).Scan(&got)
		if err != nil {
			r.Fatal(err)
		}
		if want := p.Pause(attempt, u); math.Abs(got.Seconds()-want.Seconds()) > 0.001+want.Seconds()/1e5 {
			r.Fatalf("SQL rests %s, Go %s", got, want)
		}
	})
}

func TestWorker_IsExplained(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_told", "mail")
	id := e.insert("type", "'mail'")
	e.explains(id, "no_worker No running instance has an agent of type 'mail', and no worker has taken it yet. These logins may: worker_told.")
	e.exec("update bellhop.instance set state = 'gone'")
	e.explains(id, "no_worker ")
	e.exec("select bellhop.pause('mail')")
	e.explains(id, "paused ")
	if got := e.take(w, 1, "mail"); len(got) != 0 {
		t.Errorf("its type is paused, and it is taken: %v", got)
	}
	e.exec("select bellhop.resume('mail')")
	e.takeOne(w, "mail")
	e.explains(id, "running It runs since ", "in a session of worker worker_told, pid ", "attempt 1 of 1; its lease ends at ")
	e.exec("update bellhop.jobqueue set lease_until = clock_timestamp() where id = $1", int64(id))
	e.due()
	e.explains(id, "no_worker No running instance has an agent of type 'mail', and no worker works on it now. ")
	e.takeOne(w, "mail")
	query := e.insert("type, msq", "'mail', 'select 1'")
	e.explains(query, "no_instance ")
}

// The locks of a type's agent hold for all of its jobs: a worker, which gets none, leaves them to instances.
func TestWorker_LeavesATypeWhoseAgentHasLocks(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_locks", "cat")
	e.insert("type", "'cat'")
	e.exec("update bellhop.agent set locks = '{db:all=exclusive}' where type = 'cat'")
	if got := e.take(w, 1, "cat"); len(got) != 0 {
		t.Errorf("its agent has locks, and it is taken: %v", got)
	}
	e.exec("update bellhop.instance set state = 'gone'")
	e.takeOne(w, "cat")
}

// Rules pause and limit jobs through passes of locks, which a worker has no part in.
func TestWorker_LeavesWhatARulePausesOrLimits(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"PAUSE", "RATE_LIMIT 1"} {
		e := openEnv(t)
		w := e.worker("worker_rules", "cat")
		e.insert("type", "'cat'")
		e.filter(action, opcodeCat)
		e.insert("type", "'cat'")
		if got := e.take(w, 5, "cat"); len(got) != 0 {
			t.Errorf("%s: taken: %v", action, got)
		}
	}
}
