package main

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/cmd/bellhop/internal/cli"
)

// fossologyNames is a test's database with FOSSology's names.
func fossologyNames(t *testing.T) *harness {
	t.Helper()
	s := newHarness(t)
	has(t, s.ok("migrate", "--compat", "fossology"), "done: compat/fossology.sql")
	s.sql(`set fossology.grace = '0'`)
	return s
}

// one reads one value.
func one[T any](s *harness, query string, args ...any) (v T) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), query, args...).Scan(&v); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// refuses runs a statement that must fail and say something.
func (s *harness) refuses(says, query string, args ...any) {
	s.t.Helper()
	_, err := s.conn.Exec(s.t.Context(), query, args...)
	if err == nil {
		s.t.Errorf("%s: was taken", query)
		return
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		err = errors.New(pg.Error() + " " + pg.Hint)
	}
	has(s.t, err.Error(), says)
}

func TestCompat_TwiceIsOnce(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	s.ok("migrate", "--compat", "fossology")
	has(t, s.ok("migrate", "--plan", "--compat", "fossology"), "create or replace view fossology.jobqueue")
	s.fails(cli.ExitUsage, "bellhop migrate --compat fossology", "migrate", "--compat", "fosology")
}

func TestCompat_AnInsertIsAJob(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	s.sql(`create table public.job (job_pk int primary key, job_user_fk int, job_group_fk int, job_priority int)`)
	s.sql(`insert into public.job values (12, 3, 4, -5)`)
	insert := `insert into fossology.jobqueue (jq_job_fk, jq_type, jq_args, jq_runonpfile, jq_starttime, jq_endtime, jq_end_bits, jq_host, jq_cmd_args)
		values ($1, $2, $3, $4, null, null, 0, $5, $6) returning jq_pk`
	id := one[int64](s, insert, 12, "nomos", "7", nil, nil, "-S -x")
	if last := one[int64](s, `select currval('fossology.jobqueue_jq_pk_seq')`); last != id {
		t.Errorf("currval is %d, the job %d", last, id)
	}
	got := one[string](s, `select concat_ws('|', type, args, msq, run_on, priority, state, vars->>'jobId', vars->>'userID', vars->>'groupID', vars->>'jq_cmd_args')
		from bellhop.jobqueue where id = $1`, id)
	if got != "nomos|7|-5|ready|12|3|4|-S -x" {
		t.Errorf("the job is %s", got)
	}
	msq := one[int64](s, insert, nil, "wget", "select pfile_pk from pfile", "pfile_pk", "big1", nil)
	got = one[string](s, `select concat_ws('|', type, coalesce(args, '-'), msq, run_on, coalesce(vars->>'jobId', '-')) from bellhop.jobqueue where id = $1`, msq)
	if got != "wget|-|select pfile_pk from pfile|big1|-" {
		t.Errorf("the job is %s", got)
	}
	row := `select concat_ws('|', jq_pk - $1, coalesce(jq_job_fk::text, '-'), jq_type, jq_args, coalesce(jq_runonpfile, '-'), coalesce(jq_host, '-'), coalesce(jq_cmd_args, '-'),
		coalesce(jq_starttime::text, '-'), coalesce(jq_endtime::text, '-'), jq_end_bits, jq_itemsprocessed) from fossology.jobqueue where jq_pk = $1`
	if got := one[string](s, row, id); got != "0|12|nomos|7|-|-|-S -x|-|-|0|0" {
		t.Errorf("it reads back as %s", got)
	}
	if got := one[string](s, row, msq); got != "0|-|wget|select pfile_pk from pfile|pfile_pk|big1|-|-|-|0|0" {
		t.Errorf("it reads back as %s", got)
	}
	s.refuses("commands do not go through", `insert into fossology.jobqueue (jq_type, jq_args) values ('command', 'shutdown')`)
	s.refuses("jobqueue_args_one_line", `insert into fossology.jobqueue (jq_type, jq_args) values ('x', e'a\nb')`)
	done := one[int64](s, `insert into fossology.jobqueue (jq_type, jq_args, jq_starttime, jq_endtime, jq_end_bits) values ('x', '1', now(), now(), 1) returning jq_pk`)
	if got := one[string](s, `select state from bellhop.jobqueue where id = $1`, done); got != "succeeded" {
		t.Errorf("a row that came with its end is %s", got)
	}
}

func TestCompat_StatesUnderTheOldNames(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	for state, want := range map[string]string{
		"ready": "f|f|-|0", "held": "f|f|Paused|0", "running": "t|f|Started|0", "succeeded": "t|t|Completed|1", "failed": "t|t|Failed|2",
		"quarantined": "t|t|Failed|2", "cancelled": "t|t|Killed|2",
	} {
		id := one[int64](s, `insert into bellhop.jobqueue (type) values ('x') returning id`)
		s.sql(`update bellhop.jobqueue set state = $2, started_at = now(), items_done = 5,
			ended_at = case when $2 in ('succeeded', 'failed', 'quarantined', 'cancelled') then now() end where id = $1`, id, state)
		if got := one[string](s, `select concat_ws('|', jq_starttime is not null, jq_endtime is not null, coalesce(jq_endtext, '-'), jq_end_bits)
			from fossology.jobqueue where jq_pk = $1 and jq_itemsprocessed = 5`, id); got != want {
			t.Errorf("%s reads %s, want %s", state, got, want)
		}
	}
}

// What the front end does to a row is done to the job.
func TestCompat_AnUpdateIsAnOrder(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	state := func(id int64) string { return one[string](s, `select state from bellhop.jobqueue where id = $1`, id) }
	insert := func() int64 {
		return one[int64](s, `insert into fossology.jobqueue (jq_job_fk, jq_type, jq_args) values (1, 'x', '1') returning jq_pk`)
	}
	run := func(id int64) {
		s.sql(`update bellhop.jobqueue set state = 'running', started_at = now(), attempt = 1 where id = $1`, id)
	}
	kill := `update fossology.jobqueue set jq_endtime = now(), jq_endtext = 'Force close', jq_end_bits = 2 where jq_pk = $1`

	waiting, running := insert(), insert()
	run(running)
	s.sql(kill, waiting)
	s.sql(kill, running)
	if state(waiting) != "cancelled" || state(running) != "running" || !one[bool](s, `select cancel_requested from bellhop.jobqueue where id = $1`, running) {
		t.Errorf("killed: the one that waited is %s, the running one %s", state(waiting), state(running))
	}

	s.sql(`update fossology.jobqueue set jq_starttime = null, jq_endtime = null, jq_endtext = null, jq_end_bits = 0 where jq_pk = $1`, waiting)
	if state(waiting) != "ready" {
		t.Errorf("reset: it is %s", state(waiting))
	}
	s.sql(`update fossology.jobqueue set jq_starttime = now(), jq_endtime = now(), jq_endtext = 'Success', jq_end_bits = 1 where jq_pk = $1`, waiting)
	if state(waiting) != "succeeded" {
		t.Errorf("said to be done: it is %s", state(waiting))
	}
	other := insert()
	s.sql(`update fossology.jobqueue set jq_args = '2', jq_host = 'big1', jq_cmd_args = '-a' where jq_pk = $1`, other)
	s.sql(`update fossology.jobqueue set jq_log = '/var/log/x' where jq_pk = $1`, other)
	if got := one[string](s, `select concat_ws('|', args, run_on, vars->>'jq_cmd_args', vars->>'jobId', vars->>'jq_log') from bellhop.jobqueue where id = $1`, other); got != "2|big1|-a|1|/var/log/x" {
		t.Errorf("changed: %s", got)
	}
	run(other)
	s.refuses("cannot be changed any more", `update fossology.jobqueue set jq_args = '3' where jq_pk = $1`, other)
	s.sql(`delete from fossology.jobqueue where jq_pk = $1`, other)
	if one[int64](s, `select count(*) from bellhop.jobqueue where id = $1`, other) != 0 {
		t.Error("deleted: it is still there")
	}
}

// An operator's login needs nothing but its role.
func TestCompat_Rights(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	s.sql(`set role bellhop_operator`)
	id := one[int64](s, `insert into fossology.jobqueue (jq_type, jq_args) values ('x', '1') returning jq_pk`)
	s.sql(`update fossology.jobqueue set jq_args = '2' where jq_pk = $1`, id)
	one[int64](s, `select currval('fossology.jobqueue_jq_pk_seq')`)
	s.sql(`reset role`)
	s.sql(`set role bellhop_reader`)
	s.refuses("permission denied", `select * from fossology.jobqueue`)
	s.sql(`reset role`)
}

func TestCompat_Dependencies(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	a := one[int64](s, `insert into fossology.jobqueue (jq_type) values ('x') returning jq_pk`)
	s.sql(`begin`)
	b := one[int64](s, `insert into fossology.jobqueue (jq_type) values ('x') returning jq_pk`)
	s.sql(`insert into fossology.jobdepends (jdep_jq_fk, jdep_jq_depends_fk) values ($1, $2)`, b, a)
	s.sql(`commit`)
	if got := one[string](s, `select concat_ws('|', job = $1, needs = $2, wanted::text) from bellhop.dependency`, b, a); got != "t|t|{succeeded}" {
		t.Errorf("the dependency is %s", got)
	}
	if n := one[int64](s, `select count(*) from fossology.jobdepends where jdep_jq_fk = $1 and jdep_jq_depends_fk = $2`, b, a); n != 1 {
		t.Errorf("%d rows read back", n)
	}
	// One that the front end says is done releases who waits for it.
	c := one[int64](s, `insert into fossology.jobqueue (jq_type) values ('x') returning jq_pk`)
	s.sql(`insert into fossology.jobdepends (jdep_jq_fk, jdep_jq_depends_fk) values ($1, $2)`, c, a)
	state := func() string { return one[string](s, `select state from bellhop.jobqueue where id = $1`, c) }
	if got := state(); got != "blocked" {
		t.Errorf("it needs another, and is %s", got)
	}
	s.sql(`update fossology.jobqueue set jq_endtime = now(), jq_end_bits = 1 where jq_pk = $1`, a)
	if got := state(); got != "ready" {
		t.Errorf("the one it needs is said to be done, and it is %s", got)
	}
	s.sql(`delete from fossology.jobdepends where jdep_jq_fk = $1`, c)
	s.sql(`delete from fossology.jobdepends where jdep_jq_fk = $1`, b)
	if one[int64](s, `select count(*) from bellhop.dependency`) != 0 {
		t.Error("the dependency is still there")
	}
}
