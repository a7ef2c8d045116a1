package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

type seenOperation struct {
	ID                             int64
	State                          string
	Planned, Done, Refused, Undone int64
}

func (s *site) operation(body string) (o seenOperation) {
	s.t.Helper()
	if err := unmarshal(s.must(201, "operator", "POST", "/operations", body), &o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *site) see(id int64) (o seenOperation) {
	s.t.Helper()
	if err := unmarshal(s.must(200, "reader", "GET", fmt.Sprintf("/operations/%d", id), ""), &o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *site) work(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.worker.Run(ctx)
	}()
	s.t.Cleanup(func() { cancel(); <-done })
}

// What came after the plan is not touched, and what another transaction has comes at the end.
func TestOperations_TouchWhatWasPlanned(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 2500)")
	o := s.operation(`{"verb": "hold", "filter": {"type": ["a"]}}`)
	if o.Planned != 2500 || o.State != "planned" {
		t.Fatalf("%+v", o)
	}
	s.exec("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 100)")
	s.work(t.Context())
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/start", o.ID), "")
	pgtest.Eventually(t, time.Minute, "it is done", func() bool { return s.see(o.ID).State == "done" })
	if o = s.see(o.ID); o.Done != 2500 {
		t.Errorf("%+v", o)
	}
	if n := value[int](s, "select count(*) from bellhop.jobqueue where state = 'held' and id <= 2500"); n != 2500 {
		t.Errorf("%d are held", n)
	}
	if n := value[int](s, "select count(*) from bellhop.jobqueue where state = 'held'"); n != 2500 {
		t.Errorf("%d are held, with those that came later", n)
	}
	// Undone, but for what somebody has changed since.
	s.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = 7")
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/undo", o.ID), "")
	if o = s.see(o.ID); o.Undone != 2499 || o.State != "undone" {
		t.Errorf("%+v", o)
	}
	if n := value[int](s, "select count(*) from bellhop.jobqueue where state = 'ready'"); n != 2599 {
		t.Errorf("%d are ready", n)
	}
}

// Whoever carries one out and dies in the middle leaves it to another, which goes on where it was.
func TestOperations_GoOnAfterADeath(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(
		"insert into bellhop.jobqueue (type, state, attempt, ended_at) select 'a', 'failed', 1, now() from generate_series(1, 3000)",
	)
	o := s.operation(`{"verb": "retry", "filter": {"type": ["a"]}}`)
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/start", o.ID), "")
	s.exec("set role bellhop_operator")
	s.exec("select bellhop.operation_step($1, 1000)", o.ID)
	s.exec("begin")
	s.exec("select bellhop.operation_step($1, 500)", o.ID)
	s.exec("rollback") // it was killed here
	s.exec("reset role")
	if o = s.see(o.ID); o.Done != 1000 || o.State != "running" {
		t.Fatalf("%+v", o)
	}
	// One of them failed again meanwhile: it was done, and is not done twice.
	s.exec("update bellhop.jobqueue set state = 'failed', attempt = 2, ended_at = now() where id = 1")
	s.work(t.Context())
	s.worker.Wake()
	pgtest.Eventually(t, time.Minute, "it is done", func() bool { return s.see(o.ID).State == "done" })
	if o = s.see(o.ID); o.Done != 3000 || value[string](s, "select state from bellhop.jobqueue where id = 1") != "failed" {
		t.Errorf("%+v", o)
	}
}

// carryOut starts an operation and waits until it is done.
func (s *site) carryOut(o seenOperation) seenOperation {
	s.t.Helper()
	s.work(s.t.Context())
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/start", o.ID), "")
	pgtest.Eventually(s.t, time.Minute, "it is done", func() bool { return s.see(o.ID).State == "done" })
	return s.see(o.ID)
}

// beside is another connection, whose transactions are open beside those of the site.
func (s *site) beside() *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.conn.Config().ConnString())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// What cannot be made what it was stays cancelled: a job that needs another would run without it.
func TestOperations_UndoLeavesWhatItCannotRestore(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("select bellhop.submit('a', 'first')")
	s.exec("select bellhop.submit('b', 'needs it', held => true, after => '{1}')")
	s.exec("select bellhop.submit('b', 'its own', held => true)")
	s.exec("select bellhop.submit('b', 'taken', key => 'nightly', once => 'open')")
	o := s.carryOut(s.operation(`{"verb": "cancel", "filter": {"type": ["b"]}}`))
	s.exec("select bellhop.submit('b', 'again', key => 'nightly', once => 'open')")
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/undo", o.ID), "")
	states := value[string](s, "select string_agg(state, ' ' order by id) from bellhop.jobqueue")
	if states != "ready cancelled held cancelled ready" {
		t.Error(states)
	}
}

// Whose words a filter has is not told to readers.
func TestOperations_ReadersSeeNoPayload(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.operation(`{"verb": "retry", "filter": {"failure": "exit status #: hunter2", "error": "hunter2", "type": ["sh"]}}`)
	for _, path := range []string{"/operations", "/operations/1"} {
		text := s.must(200, "reader", "GET", path, "")
		if strings.Contains(text, "hunter2") || !strings.Contains(text, `["sh"]`) {
			t.Errorf("%s: %s", path, text)
		}
		text = s.must(200, "operator", "GET", path, "")
		if !strings.Contains(text, "exit status #: hunter2") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// One that nobody may carry out any more keeps no other from being carried out.
func TestOperations_OneThatCannotGoOnStopsNoOther(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("insert into bellhop.jobqueue (type) values ('a'), ('b')")
	stuck := s.operation(`{"verb": "hold", "filter": {"type": ["a"]}}`)
	s.exec(
		"update bellhop.operation set state = 'running', planned_by = 'gone', started_at = now() where id = $1",
		stuck.ID,
	)
	broken := s.operation(`{"verb": "hold", "filter": {"type": ["a"]}}`)
	s.exec(`update bellhop.operation set state = 'running', started_at = now(), planned_by = 'bellhop_operator',
		filter = '{"run": "x"}' where id = $1`, broken.ID)
	s.carryOut(s.operation(`{"verb": "hold", "filter": {"type": ["b"]}}`))
}

// A job that somebody has for long, or one that hangs on it, comes later; if it is not what was meant
// any more by then, it is left.
func TestOperations_WhatOthersHaveComesLater(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("select bellhop.submit('a', 'first', held => true), bellhop.submit('a', 'second', held => true)")
	s.exec("select bellhop.submit('z', 'needs the first', held => true, after => '{1}')")
	other := s.beside()
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from bellhop.jobqueue where id = 3 for update"); err != nil {
		t.Fatal(err)
	}
	o := s.operation(`{"verb": "release", "filter": {"type": ["a"]}}`)
	s.work(t.Context())
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/start", o.ID), "")
	pgtest.Eventually(t, time.Minute, "the other one is released", func() bool {
		return value[string](s, "select state from bellhop.jobqueue where id = 2") == "ready"
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("insert into bellhop.jobqueue (type, state, attempt, ended_at, error) values ('f', 'failed', 1, now(), 'disk full')")
	o = s.operation(`{"verb": "retry", "filter": {"error": "disk full"}}`)
	if tx, err = other.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "update bellhop.jobqueue set error = 'no such customer' where type = 'f'"); err != nil {
		t.Fatal(err)
	}
	s.exec("set role bellhop_operator")
	s.exec("select bellhop.operation_start($1), bellhop.operation_step($1)", o.ID)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("select bellhop.operation_step($1), bellhop.operation_step($1)", o.ID)
	s.exec("reset role")
	if is := value[string](s, "select state from bellhop.jobqueue where type = 'f'"); is != "failed" {
		t.Errorf("what says something else now is %s", is)
	}
}

// Ids may have gaps of any width.
func TestOperations_FindWhatIsFarApart(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, at := range []string{"1", "300000", "5000000000"} {
		s.exec("alter table bellhop.jobqueue alter column id restart with " + at)
		s.exec("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, 3)")
	}
	if o := s.carryOut(s.operation(`{"verb": "hold", "filter": {"type": ["a"]}}`)); o.Done != 9 {
		t.Errorf("%+v", o)
	}
}

// What is held already is not counted among what is to be held.
func TestOperations_CountWhatTheyChange(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("insert into bellhop.jobqueue (type, held) values ('a', true), ('a', false)")
	if o := s.carryOut(s.operation(`{"verb": "hold", "filter": {"type": ["a"]}}`)); o.Planned != 1 || o.Done != 1 {
		t.Errorf("%+v", o)
	}
}

func TestOperations_RefuseWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, body := range []string{
		`{"verb": "cancel", "filter": {}}`, `{"verb": "prune", "filter": {"all": true}}`, `{"verb": "cancel", "filter": {"typ": ["a"]}}`,
		`{"verb": "priority", "filter": {"all": true}}`, `{"verb": "hold", "priority": 3, "filter": {"all": true}}`, `{"verb": "cancel"}`,
		`{"verb": "cancel", "filter": {"key": "\u0000"}}`,
	} {
		if status, text := s.ask("operator", "POST", "/operations", body); status != 422 {
			t.Errorf("%s: %d: %s", body, status, text)
		}
	}
	s.must(403, "reader", "POST", "/operations", `{"verb": "cancel", "filter": {"all": true}}`)
	s.must(403, "submitter", "POST", "/operations", `{"verb": "cancel", "filter": {"all": true}}`)
	// A dry run keeps nothing.
	s.operation(`{"verb": "cancel", "filter": {"all": true}, "dry_run": true}`)
	if n := value[int](s, "select count(*) from bellhop.operation"); n != 0 {
		t.Errorf("%d operations are kept", n)
	}
}

// What came into such a state after the plan is not touched, of many jobs either; what left it meanwhile is left.
func TestOperations_TouchNothingThatChangedIntoIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, ended_at)
		select 'a', case when g % 2 = 0 then 'failed' else 'running' end, 1, case when g % 2 = 0 then now() end from generate_series(1, 5000) g`)
	o := s.operation(`{"verb": "retry", "filter": {"state": ["failed"]}}`)
	s.exec("update bellhop.jobqueue set state = 'failed', ended_at = now() where state = 'running'")
	s.exec("update bellhop.jobqueue set state = 'ready', attempt = 0, ended_at = null where id = 2")
	if o = s.carryOut(o); o.Planned != 2500 || o.Done != 2499 {
		t.Errorf("%+v", o)
	}
	if n := value[int](s, "select count(*) from bellhop.jobqueue where id % 2 = 1 and state = 'failed'"); n != 2500 {
		t.Errorf("%d of those that failed after the plan were left", n)
	}
	if n := value[int](s, "select count(*) from bellhop.operation_part"); n != 0 {
		t.Errorf("%d parts of what is done are kept", n)
	}
}

// Who has many jobs that hang on those of an operation does not hold it up: each is waited for a moment, all of them
// for a second.
func TestOperations_OneWhoHasManyHoldsNothingUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("insert into bellhop.jobqueue (type, held) select 'a', true from generate_series(1, 120)")
	s.exec("select bellhop.submit('z', held => true, after => array(select id from bellhop.jobqueue where id <= 60))")
	tx, err := s.beside().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from bellhop.jobqueue where type = 'z' for update"); err != nil {
		t.Fatal(err)
	}
	s.work(t.Context())
	o := s.operation(`{"verb": "release", "filter": {"type": ["a"]}}`)
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/start", o.ID), "")
	// 60 times two seconds would be twice a minute.
	pgtest.Eventually(t, time.Minute, "the others are released", func() bool { return s.see(o.ID).Done == 60 })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "all are", func() bool { return s.see(o.ID).State == "done" })
	if o = s.see(o.ID); o.Done != 120 || o.Refused != 0 {
		t.Errorf("%+v", o)
	}
}

// Who ordered it is kept beside the role that several have: who planned it, and then who started it.
func TestOperations_SayWhoOrderedThem(t *testing.T) {
	t.Parallel()
	s := open(t)
	o := s.operation(`{"verb": "hold", "filter": {"all": true}}`)
	is := func(want string) {
		t.Helper()
		text := s.must(200, "reader", "GET", fmt.Sprintf("/operations/%d", o.ID), "")
		if !strings.Contains(text, `"planned_by":"bellhop_operator","actor":"`+want+`"`) {
			t.Errorf("it is not %s's: %s", want, text)
		}
	}
	is("o") // the token's name
	s.visitors.Actor = func(context.Context) (string, string) { return `O'Neil \' --`, "token" }
	s.must(200, "operator", "POST", fmt.Sprintf("/operations/%d/start", o.ID), "")
	is(`O'Neil \\' --`)
}
