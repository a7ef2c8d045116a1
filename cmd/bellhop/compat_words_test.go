package main

import (
	"fmt"
	"os"
	"testing"
)

// jq_args is a query when jq_runonpfile names a column that it has. What
// today's front end passes there is no column, and its text is nobody's SQL.
func TestCompat_OnlyANamedColumnMakesAQuery(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	const url = "select usename from pg_user"
	for _, x := range []struct {
		args, named any
		query       bool
	}{
		{"7 - https://example.org/a.tar.gz", "no", false},
		{url, "no", false},
		{url, "", false},
		{url, nil, false},
		{"select 1 as no", "no", false}, // who types it does not choose
		{"select 1 as NO", "No", false},
		{"select 1 as yes", "yes", false},
		{url, "pfile_pk", false},
		{"select 'x pfile_pk' from pfile", "pfile_pk", false},
		{"select 1 from pfile where 2 = pfile_pk", "pfile_pk", false},
		{"select (select 1 as pfile_pk from b) from a", "pfile_pk", false},
		{"select * from pfile", "pfile_pk", false},
		{"select 1 /* as pfile_pk */", "pfile_pk", false},
		{"select 1 -- pfile_pk", "pfile_pk", false},
		{"select $a$ as pfile_pk$a$", "pfile_pk", false},
		{`select e'\'' || ' pfile_pk`, "pfile_pk", false},
		{"select 1 as pfile_pk; drop table pfile", "pfile_pk", false},
		{"select 1 as xpfile_pk", "pfile_pk", false},
		{"delete from pfile returning pfile_pk", "pfile_pk", false},
		{"with x as (select 1) select 1 as pfile_pk", "pfile_pk", false},
		{"pfile_pk", "pfile_pk", false},
		{"selective pfile_pk", "pfile_pk", false},
		{"select 1 as pfile_pk", "pfile_pk|.*", false},
		{"select pfile_pk from pfile", "pfile_pk", true},
		{"SELECT DISTINCT(p.pfile_pk) FROM pfile p", "pfile_pk", true},
		{"SELECT DISTINCT(p.a) AS pfile_pk, b FROM pfile p LIMIT 5000;", "pfile_pk", true},
		{"select b, coalesce(p.x, '(', 'from') pfile_pk from pfile p", "pfile_pk", true},
		{`select a.b as "Akey" from a`, "Akey", true},
		{"select a.b as A from a where c like '%y''s%' order by 1", "a", true},
		{"select 1 as pfile_pk", "pfile_pk", true},
	} {
		insert := `insert into fossology.jobqueue (jq_type, jq_args, jq_runonpfile) values ('x', $1, $2) returning jq_pk`
		id := one[int64](s, insert, x.args, x.named)
		if got := one[bool](s, `select msq is not null from bellhop.jobqueue where id = $1`, id); got != x.query {
			t.Errorf("%q with jq_runonpfile %v is a query: %v", x.args, x.named, got)
		}
		named := fmt.Sprint(x.named)
		if x.named == nil || x.named == "" {
			named = "-"
		}
		if got := one[string](s, `select jq_args || coalesce(jq_runonpfile, '-') from fossology.jobqueue where jq_pk = $1`, id); got != x.args.(string)+named {
			t.Errorf("%q, %v reads back as %s", x.args, x.named, got)
		}
	}
	// What came another way keeps what it is, whatever else is changed of it.
	id := one[int64](s, `insert into bellhop.jobqueue (type, msq) values ('x', 'select 1') returning id`)
	s.sql(`update fossology.jobqueue set jq_host = 'big1' where jq_pk = $1`, id)
	if got := one[string](s, `select msq || run_on from bellhop.jobqueue where id = $1`, id); got != "select 1big1" {
		t.Errorf("the query's job is %s", got)
	}
}

// A row that comes through the view waits a moment for its session to say that
// it is done; another moment can be set, and none.
func TestCompat_ARowWaitsAMoment(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	insert := `insert into fossology.jobqueue (jq_type, jq_args) values ('x', '1') returning jq_pk`
	row := `select concat_ws('|', state, round(extract(epoch from run_at - created_at), 1)) from bellhop.jobqueue where id = $1`
	if got := one[string](s, row, one[int64](s, insert)); got != "ready" {
		t.Errorf("without a moment it is %s", got)
	}
	s.sql(`reset fossology.grace`)
	if got := one[string](s, row, one[int64](s, insert)); got != "scheduled|1.0" {
		t.Errorf("it is %s", got)
	}
	s.sql(`set fossology.grace = '1h'`)
	id := one[int64](s, insert)
	if got := one[string](s, row, id); got != "scheduled|3600.0" {
		t.Errorf("it is %s", got)
	}
	s.sql(`update fossology.jobqueue set jq_starttime = now(), jq_endtime = now(), jq_end_bits = 1, jq_endtext = 'Completed', jq_itemsprocessed = 4 where jq_pk = $1`, id)
	if got := one[string](s, `select concat_ws('|', state, attempt, items_done) from bellhop.jobqueue where id = $1`, id); got != "succeeded|0|4" {
		t.Errorf("said to be done, it is %s", got)
	}
}

// Done is done, whatever it was: what waits never starts, what runs is stopped,
// what had failed has one more attempt, which is over.
func TestCompat_WhatIsSaidToBeDoneIs(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	for _, was := range []string{"held", "scheduled", "ready", "assigned", "running", "failed", "cancelled", "quarantined",
		"succeeded"} {
		id := one[int64](s, `insert into fossology.jobqueue (jq_type, jq_args) values ('x', '1') returning jq_pk`)
		next := one[int64](s, `insert into fossology.jobqueue (jq_type, jq_args) values ('x', '1') returning jq_pk`)
		s.sql(`insert into fossology.jobdepends (jdep_jq_fk, jdep_jq_depends_fk) values ($1, $2)`, next, id)
		over := was == "failed" || was == "cancelled" || was == "quarantined" || was == "succeeded"
		s.sql(`update bellhop.jobqueue set state = $2, held = $2 = 'held', attempt = 1, started_at = now(), error = 'x',
			ended_at = case when $3 then now() end where id = $1`, id, was, over)
		s.sql(`update fossology.jobqueue set jq_starttime = now(), jq_endtime = now(), jq_end_bits = 1, jq_endtext = 'Completed' where jq_pk = $1`, id)
		want := "succeeded|1|1"
		if over && was != "succeeded" {
			want = "succeeded|2|2"
		}
		if got := one[string](s, `select concat_ws('|', state, attempt, (select count(*) from bellhop.attempt a where a.job = id), case when state <> 'succeeded' then error end)
			from bellhop.jobqueue where id = $1`, id); got != want {
			t.Errorf("%s, then said to be done: it is %s, want %s", was, got, want)
		}
		if got := one[string](s, `select jq_endtext || jq_end_bits from fossology.jobqueue where jq_pk = $1`, id); got != "Completed1" {
			t.Errorf("%s, then said to be done: it reads %s", was, got)
		}
		if got := one[string](s, `select state from bellhop.jobqueue where id = $1`, next); got != "ready" && was != "succeeded" {
			t.Errorf("%s, then said to be done: who waited for it is %s", was, got)
		}
	}
	// A job that is over stays as it is, and that is said.
	id := one[int64](s, `insert into fossology.jobqueue (jq_type, jq_endtime, jq_end_bits) values ('x', now(), 1) returning jq_pk`)
	s.sql(`update fossology.jobqueue set jq_end_bits = 2 where jq_pk = $1`, id)
	if got := one[string](s, `select state from bellhop.jobqueue where id = $1`, id); got != "succeeded" {
		t.Errorf("it is %s", got)
	}
}

func TestCompat_NumbersAreKept(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	id := one[int64](s, `insert into fossology.jobqueue (jq_pk, jq_job_fk, jq_type) values (4711, 2147483647, 'x') returning jq_pk`)
	if id != 4711 || one[int64](s, `select currval('fossology.jobqueue_jq_pk_seq')`) != id {
		t.Errorf("jq_pk is %d", id)
	}
	if fk := one[int64](s, `select jq_job_fk from fossology.jobqueue where jq_pk = 4711`); fk != 2147483647 {
		t.Errorf("jq_job_fk is %d", fk)
	}
	s.refuses("duplicate key", `insert into fossology.jobqueue (jq_pk, jq_type) values (4711, 'x')`)
	s.refuses("it begins at 1", `insert into fossology.jobqueue (jq_pk, jq_type) values (0, 'x')`)
	if next := one[int64](s, `insert into fossology.jobqueue (jq_type) values ('x') returning jq_pk`); next <= id {
		t.Errorf("the next is %d", next)
	}
	if small := one[int64](s, `insert into fossology.jobqueue (jq_pk, jq_type) values (99, 'x') returning jq_pk`); small != 99 {
		t.Errorf("jq_pk is %d", small)
	}
	if next := one[int64](s, `insert into fossology.jobqueue (jq_type) values ('x') returning jq_pk`); next <= id {
		t.Errorf("after a small one, the next is %d", next)
	}
}

// Whose job it is stands in a table of the front end's, and is read with the
// rights of the front end's login: the owner of the views needs none, and
// nothing that hangs on that table has the owner's.
func TestCompat_JobIsReadAsWhoeverInserts(t *testing.T) {
	t.Parallel()
	s := fossologyNames(t)
	front := fmt.Sprintf("front_end_%d", os.Getpid()) // roles are the whole server's
	s.sql(`create role ` + front + ` in role bellhop_operator`)
	defer func() { s.sql(`reset role`); s.sql(`drop owned by ` + front); s.sql(`drop role ` + front) }()
	s.sql(`create table public.job (job_pk int primary key, job_user_fk int, job_group_fk int, job_priority int)`)
	s.sql(`insert into public.job values (12, 3, 4, -5)`)
	s.sql(`create function public.who(int) returns boolean language plpgsql as $$ begin raise exception 'read as %', current_user; end $$`)
	s.sql(`set role ` + front)
	s.refuses(
		"As the owner of public.job: grant usage on schema public to "+front+"; grant select on public.job to "+front,
		`insert into fossology.jobqueue (jq_job_fk, jq_type) values (12, 'x')`)
	s.sql(`reset role`)
	s.sql(`grant select on public.job to ` + front)
	s.sql(`set role ` + front)
	id := one[int64](s, `insert into fossology.jobqueue (jq_job_fk, jq_type) values (12, 'x') returning jq_pk`)
	s.sql(`reset role`)
	if got := one[string](s, `select concat_ws('|', vars->>'userID', vars->>'groupID', priority) from bellhop.jobqueue where id = $1`, id); got != "3|4|-5" {
		t.Errorf("it is %s", got)
	}
	s.sql(`alter table public.job enable row level security`)
	s.sql(`create policy p on public.job using (public.who(job_pk))`)
	s.sql(`set role ` + front)
	s.refuses("read as "+front, `insert into fossology.jobqueue (jq_job_fk, jq_type) values (12, 'x')`)
	s.sql(`reset role`)
}
