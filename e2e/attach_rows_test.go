package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// Two instances know a key by the same text, whatever the settings of their
// sessions are: one row has one job.
func TestAttach_InstancesOfDifferentSettingsAgreeOnKeys(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for _, column := range []string{"timestamptz", "interval", "bytea", "float8"} {
		e.sql(fmt.Sprintf("create table by_%[1]s (k %[1]s, n integer, dispatch date, primary key (k)); create table with_%[1]s (k %[1]s, n integer, dispatch date, primary key (n, k))", column))
		for _, table := range []string{"by_" + column, "with_" + column} {
			e.ok("attach", table, "--pool", "4", "--cmd", "true")
		}
	}
	all := func(text string) {
		t.Helper()
		for _, column := range []string{"timestamptz", "interval", "bytea", "float8"} {
			e.sql(fmt.Sprintf(text, "by_"+column))
			e.sql(fmt.Sprintf(text, "with_"+column))
		}
	}
	for table, v := range map[string]string{"timestamptz": "'2024-07-01 12:00:00.5+02'", "interval": "'1 year -2 days 03:04:05'", "bytea": `'\x00ff41'`, "float8": "0.1::float8 + 0.2"} {
		e.sql(fmt.Sprintf("insert into by_%[1]s values (%[2]s, 1); insert into with_%[1]s values (%[2]s, 1)", table, v))
	}
	for _, settings := range []string{"", "-c TimeZone=Asia/Tokyo -c DateStyle=SQL,DMY -c IntervalStyle=iso_8601 -c bytea_output=escape -c extra_float_digits=-3"} {
		e.env = []string{"PGOPTIONS=" + settings}
		i := e.serve(obeys)
		for _, column := range []string{"timestamptz", "interval", "bytea", "float8"} {
			e.ran("by_"+column, "dispatch")
			e.ran("with_"+column, "dispatch")
		}
		i.stop()
		all("update %s set dispatch = null")
	}
	if got := column[string](e, "select key || ' has ' || attempt from bellhop.jobqueue where attempt <> 2"); len(
		got) > 0 {
		t.Errorf("%q: each should have two attempts of one job", got)
	}
}

// What an earlier version took under the settings of its session, runs on as
// what it is: not a second time beside that.
func TestAttach_KeysOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table jobs (k timestamptz primary key, dispatch date, outcome text)")
	e.ok("attach", "jobs", "--pool", "4", "--status-col", "outcome", "--cmd", e.script("work", `echo run >> $DIR/runs; while [ ! -e $DIR/go ]; do sleep 0.02; done`))
	e.sql("insert into jobs values ('2024-07-01 12:00:00+00')")
	e.serve(obeys)
	pgtest.Eventually(t, patience, "it runs", func() bool { return len(e.lines("runs")) == 1 })
	e.sql("update bellhop.attached set key = '2024-07-01 14:00:00+02', digest = sha256('2024-07-01 14:00:00+02')")
	e.sql("update jobs set dispatch = null; insert into jobs values ('2024-07-02')")
	pgtest.Eventually(t, patience, "another runs", func() bool { return len(e.lines("runs")) == 2 })
	if n := value[int](e, "select count(*) from jobs where dispatch is null"); n != 1 {
		t.Error("the row was taken while it runs")
	}
	e.file("go", "", 0o600)
	e.ran("jobs", "dispatch")
	if got := column[string](e, "select distinct outcome from jobs"); !slices.Equal(got, []string{"succeeded"}) ||
		len(e.lines("runs")) != 3 {
		t.Errorf("outcomes %q after %q", got, e.lines("runs"))
	}
}

// A key is what a row is known by: not what its index includes besides; and of
// any type that can be one.
func TestAttach_KeysOfManyKinds(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql(`create table inc (id integer, extra text, dispatch date, outcome text, primary key (id) include (extra))`)
	e.ok("attach", "inc", "--pool", "2", "--status-col", "outcome", "--cmd", "true")
	e.sql("insert into inc values (1, 'a')")
	e.ran("inc", "dispatch")
	e.sql("update inc set extra = 'b', dispatch = null")
	e.ran("inc", "dispatch")
	if got := column[string](e, "select key || ' ' || attempt from bellhop.jobqueue"); !slices.Equal(got, []string{"inc/1 2"}) {
		t.Errorf("with an included column: %q", got)
	}
	e.sql(`create type pair as (a integer, b text); create domain short as varchar(5)`)
	for name, c := range map[string][2]string{
		"array": {"integer[]", "'{1,2}'|'{}'|'{{1,2},{3,null}}'"}, "texts": {"text[]", `'{"a b","c\"d"}'|'{NULL}'|'{"{}"}'`},
		"json": {"jsonb", `'{"a": [1, "x"]}'|'"text"'|'7'`}, "pairs": {"pair", `'(1,"a b")'|'(,)'|'(2,"")'`},
		"range": {"int4range", "'[1,5)'|'empty'|'(,3)'"}, "domain": {"short", "'a'|''|'\"'"},
		"numeric": {"numeric(10,2)", "1.5|'NaN'|-0.01"}, "tz": {"timestamptz", "'2024-07-01'|'infinity'|'0044-03-15 BC'"},
		"float": {"float8", "0.1|'infinity'|1e300"}, "chars": {"char(4)", "'a'|''|'abcd'"}, "flags": {"bit(3)", "B'101'|B'000'|B'111'"},
	} {
		var rows []string
		for n, v := range strings.Split(c[1], "|") {
			rows = append(rows, fmt.Sprintf("(%s, %d)", v, n))
		}
		for _, key := range []string{"k", "k, n"} {
			table := fmt.Sprintf("%s%d", name, len(key))
			e.sql(fmt.Sprintf("create table %s (k %s, n integer, dispatch date, outcome text, code integer, primary key (%s)); insert into %[1]s values %[4]s", table, c[0], key, strings.Join(rows, ", ")))
			e.ok("attach", table, "--pool", "2", "--status-col", "outcome", "--exit-col", "code", "--cmd", "true")
			e.ran(table, "dispatch")
			if n := value[int](e, fmt.Sprintf("select count(*) from %s where outcome = 'succeeded' and code = 0", table)); n != len(
				rows) {
				t.Errorf("%s, key (%s): %d outcomes of %d: %s", c[0], key, n, len(rows), e.ok("attachments"))
			}
		}
	}
}

// A row that a trigger does not let be marked is set aside, says why, holds up
// no other, and runs when that is mended.
func TestAttach_ARowThatCannotBeMarkedIsSetAside(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql(`create table jobs (id integer primary key, dispatch date, outcome text);
		create table strict (id integer primary key references jobs deferrable initially deferred);
		create function refuse() returns trigger language plpgsql as $$
		begin
		  case new.id
		    when 1 then raise exception 'not row one';
		    when 2 then return null;
		    when 3 then new.dispatch := null;
		    when 4 then insert into strict values (-4); -- found out at the end of the transaction
		    else
		  end case;
		  return new;
		end $$;
		create trigger refuse before update on jobs for each row execute function refuse()`)
	e.ok("attach", "jobs", "--pool", "1", "--shell", `echo "$1" >> `+filepath.Join(e.dir, "done"))
	e.sql("insert into jobs select generate_series(1, 8)")
	e.serve(obeys)
	pgtest.Eventually(t, patience, "the others run", func() bool { return slices.Equal(e.lines("done"), []string{"5", "6", "7", "8"}) })
	for row, why := range map[string]string{"1": "not row one", "2": "a BEFORE trigger gave NULL", "3": "set its dispatch column to NULL again", "4": "foreign key"} {
		e.rowBecause("jobs", row, "row_set_aside", why)
	}
	has(t, e.ok("attachments"), "4 rows are set aside", "ok")
	e.eventually("they are tried again", "select min(times) > 1 from bellhop.set_aside")
	e.sql("drop trigger refuse on jobs")
	e.ok("attach", "jobs")
	e.ran("jobs", "dispatch")
	if n := value[int](e, "select count(*) from bellhop.set_aside"); n != 0 || len(e.lines("done")) != 8 {
		t.Errorf("%d rows are set aside still, ran %q", n, e.lines("done"))
	}
}

// An outcome that cannot be written holds up no other, and is written later.
func TestAttach_AnOutcomeThatIsRefused(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql(`create table jobs (id integer primary key, dispatch date, outcome text);
		create function refuse() returns trigger language plpgsql as $$
		begin
		  if new.outcome is not null and new.id = 1 then raise exception 'no outcome here'; end if;
		  if new.outcome is not null and new.id = 2 then return null; end if;
		  return new;
		end $$;
		create trigger refuse before update on jobs for each row execute function refuse()`)
	e.ok("attach", "jobs", "--pool", "2", "--status-col", "outcome", "--cmd", "true")
	e.sql("insert into jobs select generate_series(1, 6)")
	e.serve(obeys)
	e.eventually("the others run", "select count(*) = 4 from jobs where outcome = 'succeeded'")
	e.eventually("two are told of", "select count(*) = 2 from bellhop.set_aside where outcome")
	e.rowBecause("jobs", "1", "outcome_pending/refused", "no outcome here")
	has(t, e.ok("attachments"), "2 rows are set aside")
	e.sql("drop trigger refuse on jobs")
	e.ok("attach", "jobs")
	e.ran("jobs", "dispatch")
	if n := value[int](e, "select count(*) from jobs where outcome = 'succeeded'"); n != 6 {
		t.Errorf("%d outcomes", n)
	}
}

// What runs as its table is detached goes on, is told of in the table, and does
// not run beside itself when the table is attached anew.
func TestAttach_DetachedRunsWriteTheirOutcome(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table jobs (id integer primary key, dispatch date, outcome text, code integer)")
	attach := []string{"attach", "jobs", "--pool", "1", "--status-col", "outcome", "--exit-col", "code", "--cmd", e.script("work", `
mkdir $DIR/alone.$1 || echo $1 >> $DIR/twice
echo $1 >> $DIR/runs; while [ ! -e $DIR/go ]; do sleep 0.02; done; rmdir $DIR/alone.$1; exit 3`)}
	e.ok(attach...)
	e.sql("insert into jobs values (1)")
	pgtest.Eventually(t, patience, "it runs", func() bool { return len(e.lines("runs")) == 1 })
	e.ok("detach", "jobs")
	has(t, e.ok("attachments"), "detached")
	e.ok(attach...)
	e.sql("update jobs set dispatch = null; insert into jobs values (2)")
	pgtest.Eventually(t, patience, "another runs",
		func() bool { return slices.Equal(e.lines("runs"), []string{"1", "2"}) })
	e.file("go", "", 0o600)
	e.ran("jobs", "dispatch")
	if got := column[string](e, "select concat_ws(' ', id, outcome, code) from jobs order by id"); !slices.Equal(got,
		[]string{"1 failed 3", "2 failed 3"}) ||
		len(e.lines("twice")) > 0 {
		t.Errorf("%q; twice at once: %q", got, e.lines("twice"))
	}
	if got := e.lines("runs"); !slices.Equal(got, []string{"1", "2", "1"}) {
		t.Errorf("ran %q", got)
	}
	e.eventually("the detached one is forgotten", `select count(*) = 1 and (select count(*) = 1 from pg_proc where pronamespace = 'bellhop_attached'::regnamespace) from bellhop.attachment`)
	e.sql("delete from jobs; insert into jobs values (7)")
	pgtest.Eventually(t, patience, "it runs", func() bool { return slices.Contains(e.lines("runs"), "7") })
	e.ran("jobs", "dispatch")
	e.ok("detach", "jobs")
	if text := e.ok("attachments"); strings.Contains(text, "jobs") {
		t.Errorf("still there:\n%s", text)
	}
}

// Rows of children by inheritance are not the table's: its key does not tell them apart.
func TestAttach_Inheritance(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table parent (id integer primary key, dispatch date); create table other (id integer primary key, dispatch date); create table kid () inherits (other)")
	if r := e.run("attach", "other", "--cmd", "true", "--pool", "1"); r.code != 2 || !strings.Contains(r.stderr, "Attach these, one by one: public.kid") {
		t.Errorf("attached: %d %s", r.code, r.stderr)
	}
	e.ok("attach", "parent", "--pool", "2", "--shell", `echo "$1" >> `+filepath.Join(e.dir, "done"))
	e.sql("create table child () inherits (parent); insert into child values (1); insert into parent values (1), (2)")
	pgtest.Eventually(t, patience, "the parent's rows run", func() bool { return len(e.lines("done")) == 2 })
	has(t, e.ok("attachments"), "child", "not run")
	e.rowBecause("parent", "7", "not_taken/inherited", "child")
	if n := value[int](e, "select count(*) from only child where dispatch is null"); n != 1 {
		t.Error("the child's row was taken")
	}
}
