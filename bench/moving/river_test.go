package moving_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverAt has River's own tables as its migration of that number leaves them; 0: the newest.
func riverAt(t *testing.T, version int) *queues {
	t.Helper()
	q := setup(t, "river.sql")
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), nil)
	if err != nil {
		t.Fatal(err)
	}
	to := &rivermigrate.MigrateOpts{TargetVersion: version}
	if _, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, to); err != nil {
		t.Fatal(err)
	}
	return q
}

const riverJobs = `insert into river_job (id, kind, state, args, priority, attempt, max_attempts, scheduled_at, queue, tags, metadata, finalized_at) values
	(1, 'mail', 'available', '{"to": "a\nb"}', 1, 0, 25, '2026-01-01', 'default', '{}', '{"tenant": "acme", "n": 7, "trace": {"a": 1}}', null),
	(2, 'mail', 'available', '{}', 4, 0, 25, '2025-01-01', 'slow', '{"x y",b}', '{}', null),
	(3, 'mail', 'scheduled', '{"n": 1.50}', 2, 0, 3, '2999-01-01', 'default', '{}', '{}', null),
	(4, 'bill', 'retryable', '{}', 3, 24, 25, '2999-01-02', 'default', '{}', '{"tenant": "b"}', null),
	(5, 'mail', 'running', '{}', 1, 1, 25, now(), 'default', '{}', '{}', null),
	(6, 'mail', 'pending', '{}', 1, 0, 25, now(), 'default', '{}', '{}', null),
	(7, 'mail', 'available', '{}', 1, 0, 25, now(), 'default', '{}', '{"workflow_id": "w", "task": "a"}', null),
	(8, 'command', 'available', '{}', 1, 0, 25, now(), 'default', '{}', '{}', null),
	(9, 'mail', 'completed', '{}', 1, 1, 25, now(), 'default', '{}', '{}', now()),
	(10, 'mail', 'discarded', '{}', 1, 25, 25, now(), 'default', '{}', '{}', now()),
	(11, 'mail', 'cancelled', '{}', 1, 0, 25, now(), 'default', '{}', '{}', now())`

const riverRows = "select to_jsonb(r)::text from river_job r order by id"

func TestRiver_OpenJobsMoveAndComeBack(t *testing.T) {
	t.Parallel()
	for _, version := range []int{4, 5, 6, 0} {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			q := riverAt(t, version)
			q.sql(riverJobs, "insert into river_queue (name, paused_at, updated_at) values ('slow', now(), now()), ('default', null, now())")
			before := q.lines(riverRows)
			tables := []string{
				"bill | 1 | 1 | 0 | 0", "mail | 3 | 1 | 0 | 1",
				"it is a task of a workflow of River Pro | 1", "it is pending | 1", "it runs | 1",
				"its kind is the name of a type that bellhop needs itself | 1",
			}

			q.run(nil, append(tables, "n | 1", "tenant | 2", "trace | 1", "Nothing has changed. To move them: -v go=move")...)
			q.is("River's jobs when they are counted", riverRows, before...)
			q.is("bellhop's jobs when they are counted", moved)

			q.run([]string{"go=move", "vars=tenant,n,none"}, append(tables, "trace | 1", "They have moved.")...)
			q.is("bellhop's jobs", moved,
				`mail held {} priority 15 attempts 25 reasons {"x y",b,queue:slow}`,
				`mail ready {"to": "a\nb"} priority 0 attempts 25 vars {"n": "7", "tenant": "acme"}`,
				`mail scheduled {"n": 1.50} priority 5 attempts 3`,
				`bill scheduled {} priority 10 attempts 1 vars {"tenant": "b"}`)
			q.is("their times", "select run_at::date::text from bellhop.jobqueue where run_at is not null order by id", "2999-01-01", "2999-01-02")
			q.is("River's jobs", "select id::text from river_job order by river_job.id", "5", "6", "7", "8", "9", "10", "11")
			q.run([]string{"go=move"}, "They have moved.")
			q.is("the number of bellhop's jobs after a second move", "select count(*)::text from bellhop.jobqueue", "4")

			q.sql("update bellhop.jobqueue set attempt = 1 where type = 'bill'")
			q.run([]string{"go=back", "kinds=bill,mail"}, "Jobs that are River's again: 3", "scheduled | 1")
			q.is("River's jobs that are back", riverRows, append(before[:3:3], before[4:]...)...)
			q.is("bellhop's jobs then", moved, `bill scheduled {} priority 10 attempts 1 vars {"tenant": "b"}`)
			q.run([]string{"go=move", "kinds=mail"}, "They have moved.")
			q.is("bellhop's jobs at last", "select type || count(*) from bellhop.jobqueue where state <> 'cancelled' group by type order by type", "bill1", "mail3")
		})
	}
}

type mail struct {
	To string `json:"to"`
}

func (mail) Kind() string { return "mail" }

// What River itself inserts: a unique key comes along once.
func TestRiver_JobsOfItsOwnClient(t *testing.T) {
	t.Parallel()
	q := riverAt(t, 0)
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	insert := func(to string, opts river.InsertOpts) {
		t.Helper()
		if _, err := client.Insert(t.Context(), mail{to}, &opts); err != nil {
			t.Fatal(err)
		}
	}
	unique := river.UniqueOpts{ByArgs: true}
	news := river.InsertOpts{
		UniqueOpts:  unique,
		Tags:        []string{"news"},
		MaxAttempts: 4,
		Metadata:    []byte(`{"tenant": "acme"}`),
	}
	insert("ann", news)
	tomorrow := time.Now().Add(24 * time.Hour)
	insert("ben", river.InsertOpts{UniqueOpts: unique, ScheduledAt: tomorrow, Queue: "slow", Priority: 2})
	key := func(to string) string {
		const hex = "select encode(unique_key, 'hex') from river_job where args ->> 'to' = "
		return "mail." + strings.Join(q.lines(hex+"'"+to+"'"), "")
	}
	ann, ben := key("ann"), key("ben")
	if len(ann) < 20 || ann == ben {
		t.Fatalf("keys are %q and %q", ann, ben)
	}
	all := []string{
		`mail ready {"to": "ann"} priority 0 attempts 4 key ` + ann + ` vars {"tenant": "acme"} reasons {news}`,
		`mail scheduled {"to": "ben"} priority 5 attempts 25 key ` + ben + ` reasons {queue:slow}`,
	}
	q.run([]string{"go=move", "vars=tenant"}, "mail | 2 | 1 | 2 | 0")
	q.is("bellhop's jobs", moved, all...)

	// River knows nothing of the moved job, and takes its double. Here its key is taken, until it has ended.
	insert("ann", news)
	q.run([]string{"go=move", "vars=tenant"}, "an open job of bellhop has its key | 1")
	q.is("bellhop's jobs beside a double", moved, all...)
	q.sql("update bellhop.jobqueue set state = 'succeeded', ended_at = now() where key = '" + ann + "'")
	q.run([]string{"go=move", "vars=tenant"}, "mail | 1 | 0 | 1 | 0")
	open := strings.Replace(moved, "<> 'cancelled'", "not in ('cancelled', 'succeeded')", 1)
	q.is("bellhop's open jobs", open, all[1], all[0])
	// The double that River has got meanwhile keeps a job from going back.
	insert("ben", river.InsertOpts{UniqueOpts: unique})
	q.run([]string{"go=back"}, "Jobs that are River's again: 1", "scheduled | 1", "succeeded | 1")
}

func TestRiver_OneTransaction(t *testing.T) {
	t.Parallel()
	q := riverAt(t, 0)
	q.sql(riverJobs, "create function stop() returns trigger language plpgsql as $$ begin raise 'not now'; end $$",
		"create trigger stop before delete on river_job for each row when (old.id = 3) execute function stop()")
	before := q.lines(riverRows)
	q.refused("not now", "go=move")
	q.is("River's jobs", riverRows, before...)
	q.sql("drop trigger stop on river_job")

	// A client of River has locked a job that it is about to run. The move does not wait for that.
	q.hold("select 1 from river_job where id = 1 for update", func() {
		q.run([]string{"go=move"}, "another transaction has it, or has just brought it | 1", "They have moved.")
	})
	q.is("what River keeps", "select id::text from river_job where state in ('available', 'retryable') order by river_job.id", "1", "7", "8")

	// Two moves at one time: each job once.
	q.sql("insert into river_job (id, kind, args, max_attempts) select 100 + n, 'many', jsonb_build_object('n', n), 25 from generate_series(1, 500) n")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if out, err := q.try("go=move", "kinds=many"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	both.Wait()
	q.is("jobs of both moves", "select count(*) || ' ' || count(distinct args) from bellhop.jobqueue where type = 'many'", "500 500")
	q.is("jobs that River has kept", "select count(*)::text from river_job where kind = 'many'", "0")
}

// The app's own login moves its jobs, and owns them.
func TestRiver_ALoginThatSubmits(t *testing.T) {
	t.Parallel()
	q := riverAt(t, 0)
	app := "app_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	q.sql(riverJobs, "create role "+app+" in role bellhop_submitter", "grant create, usage on schema public to "+app,
		"alter table river_job owner to "+app, "alter table river_queue owner to "+app)
	t.Cleanup(func() { q.sql("drop owned by "+app, "drop role "+app) })
	q.url += map[bool]string{true: "&", false: "?"}[strings.Contains(q.url, "?")] + "options=-c%20role%3D" + app
	q.run([]string{"go=move"}, "They have moved.")
	q.is("owners", "select distinct submitted_by from bellhop.jobqueue", app)
	q.run([]string{"go=back"}, "Jobs that are River's again: 4")
	q.is("open jobs", moved)
	// The key of a job of another login is taken, and nothing else is told of it.
	q.sql("insert into bellhop.jobqueue (type, key) values ('other', 'mail.01')", "update river_job set unique_key = '\\x01', unique_states = b'11111111' where id = 1")
	q.refused("is taken", "go=move")
}

func TestRiver_WhatIsRefused(t *testing.T) {
	t.Parallel()
	q := riverAt(t, 0)
	q.refused(`go is "moev"`, "go=moev")
	q.refused("there are no tables river_job and river_queue in the schema elsewhere", "schema=elsewhere", "go=move")
	q.refused("there is no table river_job_moved", "go=back")
	q.sql(`create schema "Odd 'name"`, `alter table river_job set schema "Odd 'name"`, `alter table river_queue set schema "Odd 'name"`)
	q.refused("there are no tables river_job", "go=move")
	q.run([]string{"schema=Odd 'name", "go=move", "kinds=o'hara"}, "They have moved.")
	q.sql("drop schema bellhop cascade")
	if out, err := q.try("schema=Odd 'name"); err == nil || !strings.Contains(out, "this database has no schema bellhop") {
		t.Errorf("without bellhop: %v\n%s", err, out)
	}
}
