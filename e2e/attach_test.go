package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// obeys is what an instance needs to run commands of attached tables.
const obeys = "commands_from_database: true\n"

// ran waits until a table has no row that waits, and all that ran is over.
func (e *env) ran(table, dispatch string) {
	e.t.Helper()
	defer func() {
		if e.t.Failed() {
			e.t.Logf("attachments: %q", column[string](e, "select a::text from bellhop.attachment a"))
			e.t.Logf("live: %q", column[string](e, "select x.key || ' ' || coalesce(j::text, 'no job') from bellhop.attached x left join bellhop.jobqueue j on j.id = x.job where x.live limit 5"))
		}
	}()
	e.eventually("every row of "+table+" has run", fmt.Sprintf(`select not exists (select from %s where %s is null)
		and not exists (select from bellhop.attached x where x.live)`, table, dispatch))
}

// A row asks to be run by a NULL, whatever the column's type; the command gets
// the key as one argument, whatever the key, and finds the rest in its environment.
func TestAttach_EveryKindOfDispatchColumnAndKey(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys + "hosts:\n  - {name: local, slots: 8}\n")
	schema := value[string](e, "select current_schema()")
	note := e.script("note", `printf '%s\t%s\t%s\t%s\n' "${!#}" "$#" "$BELLHOP_KEY" "$BELLHOP_TABLE" >> $DIR/$1`)
	for i, c := range []struct{ dispatch, key, value, want string }{
		{"time", "integer", "17", "17"},
		{"timetz", "bigint", "9223372036854775807", "9223372036854775807"},
		{"timestamp", "bigint", "-2147483649", "-2147483649"},
		{"timestamptz", "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{"date", "text", `'two words; $(touch x) "q" ''s'' \ %d *'`, `two words; $(touch x) "q" 's' \ %d *`},
		{"boolean", "text", "'-rf'", "-rf"},
		{"smallint", "text", "'grün ☂'", "grün ☂"},
		{"integer", "numeric", "1.50", "1.50"},
		{"bigint", "date", "'2024-02-29'", "2024-02-29"},
		{"text", "boolean", "true", "true"},
		{"varchar(10)", "text", "''", ""},
		{"date", "text", "repeat('x', 100000)", strings.Repeat("x", 100000)},
		{"char(12)", "bytea", `'\x00ff'`, `\x00ff`},
	} {
		table := fmt.Sprintf("t%d", i)
		e.sql(fmt.Sprintf("create table %s (k %s primary key, dispatch %s)", table, c.key, c.dispatch))
		e.ok("attach", table, "--cmd", note, table, "--pool", "2")
		e.sql(fmt.Sprintf("insert into %s values (%s)", table, c.value))
		e.ran(table, "dispatch")
		if want := c.want + "\t2\t" + c.want + "\t" + schema + "." + table; !slices.Equal(e.lines(table), []string{want}) {
			t.Errorf("dispatch %s, key %s: %q, want %q", c.dispatch, c.key, e.lines(table), want)
		}
		if !value[bool](e, "select dispatch is not null from "+table) {
			t.Errorf("dispatch %s: the row is not marked", c.dispatch)
		}
	}
	e.sql(`create schema "Some Schema"; create table "Some Schema"."select" ("from" text, n integer, "dis patch" date, primary key ("from", n))`)
	e.ok("attach", `"Some Schema"."select"`, "--dispatch", "dis patch", "--cmd", note, "composite", "--pool", "1")
	e.sql(`insert into "Some Schema"."select" values ('a"b', 7)`)
	e.ran(`"Some Schema"."select"`, `"dis patch"`)
	if want := `["a\"b", 7]`; !slices.Equal(e.lines("composite"), []string{want + "\t2\t" + want + "\t" + `"Some Schema"."select"`}) {
		t.Errorf("%q", e.lines("composite"))
	}
	var row map[string]any
	e.sql("create table r (id integer primary key, name text, dispatch timestamptz)")
	e.ok("attach", "r", "--shell", `printf '%s' "$BELLHOP_ROW" > `+e.dir+`/row; echo "$1:$BELLHOP_JOB" > `+e.dir+`/shell`, "--pool", "1")
	e.sql(`insert into r values (5, e'a "b"\n')`)
	e.ran("r", "dispatch")
	if err := json.Unmarshal([]byte(strings.Join(e.lines("row"), "\n")), &row); err != nil || row["name"] != "a \"b\"\n" ||
		row["id"] != 5.0 {
		t.Errorf("BELLHOP_ROW %q: %v", e.lines("row"), err)
	}
	if want := "5:" + value[string](e, "select job::text from bellhop.attached where attachment = bellhop.attachment_named('r')"); !slices.Equal(e.lines("shell"), []string{want}) {
		t.Errorf("the shell's $1 and BELLHOP_JOB: %q, want %q", e.lines("shell"), want)
	}
}

// A request that comes while the row runs is kept, and runs once more when that
// is over: never beside it, never not at all. How a run ended is in the table.
func TestAttach_ARowThatIsAskedForWhileItRunsRunsOnceMore(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table jobs (id integer primary key, dispatch timestamptz, result text, code integer)")
	e.ok("attach", "jobs", "--status-col", "result", "--exit-col", "code", "--pool", "3", "--cmd", e.script("work", `
mkdir $DIR/alone.$1 || echo $1 >> $DIR/twice
n=$(cat $DIR/runs.$1 2>/dev/null | wc -l)
echo run >> $DIR/runs.$1
while [ ! -e $DIR/go.$1.$n ]; do sleep 0.02; done
rmdir $DIR/alone.$1
exit $n`))
	runs := func(key string, n int) {
		t.Helper()
		pgtest.Eventually(t, patience, fmt.Sprintf("row %s runs for time %d", key, n), func() bool { return len(e.lines("runs."+key)) == n })
	}
	e.sql("insert into jobs values (1)")
	runs("1", 1)
	for range 3 { // as often as anybody likes: it is one request
		e.sql("update jobs set dispatch = null")
	}
	e.sql("insert into jobs values (2)") // so that there is a turn which takes something
	runs("2", 1)
	if !value[bool](e, "select dispatch is null and result is null from jobs where id = 1") ||
		len(e.lines("runs.1")) != 1 {
		t.Error("the request was lost, or taken while the row runs")
	}
	e.rowBecause("jobs", "1", "row_has_job", "runs once more after that")
	e.file("go.1.0", "", 0o600)
	runs("1", 2)
	e.file("go.2.0", "", 0o600)
	e.file("go.1.1", "", 0o600)
	e.ran("jobs", "dispatch")
	if got := column[string](e, "select concat_ws(' ', id, result, code) from jobs order by id"); !slices.Equal(got,
		[]string{"1 failed 1", "2 succeeded 0"}) {
		t.Errorf("%q", got)
	}
	if twice := e.lines("twice"); len(twice) > 0 {
		t.Errorf("two runs at once of %q", twice)
	}
	if attempts := column[int](e, "select a.exit_code from bellhop.attempt a join bellhop.jobqueue j on j.id = a.job where j.key = 'jobs/1' order by a.attempt"); !slices.Equal(attempts, []int{0, 1}) {
		t.Errorf("runs that are kept ended with %v", attempts)
	}
}

// What cannot be started has failed with a shell's code, and says why; nobody
// else is held up by it.
func TestAttach_ACommandThatCannotStart(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	for i, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--cmd", "/no/such/program"}, "failed 127 /no/such/program: no such file; see: bellhop attachments"},
		{[]string{"--cmd", "/etc/passwd"}, "failed 126 /etc/passwd: not executable"},
		{[]string{"--cmd", "true", "--workdir", "/no/such/folder"}, "failed 126 /no/such/folder: no such directory"},
		{[]string{"--cmd", "true", "--log-dir", "/dev/null/logs"}, "succeeded 0"},
		{[]string{"--shell", "kill -9 $$"}, "failed 137 killed by signal 9"},
	} {
		table := fmt.Sprintf("t%d", i)
		e.sql(fmt.Sprintf("create table %s (id integer primary key, dispatch date, outcome text, code integer)", table))
		e.ok(append([]string{"attach", table, "--pool", "1", "--status-col", "outcome", "--exit-col", "code"}, c.args...)...)
		e.sql(fmt.Sprintf("insert into %s values (1)", table))
		e.ran(table, "dispatch")
		got := value[string](e, fmt.Sprintf("select concat_ws(' ', outcome, code, (select error from bellhop.jobqueue where key = '%s/1')) from %[1]s", table))
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

// What is said is kept for each run, in bellhop.log and in a file of its own.
func TestAttach_EveryRunHasALogOfItsOwn(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table pages (url text primary key, dispatch date)")
	e.ok("attach", "pages", "--log-dir", filepath.Join(e.dir, "logs"), "--workdir", e.dir, "--pool", "1", "--name", "my pages",
		"--shell", `echo "out of $1"; echo err >&2; pwd; umask; n=$(cat $0.n 2>/dev/null); echo "run ${n:-one}"; echo two > $0.n`)
	e.sql("insert into pages values ('../../etc/x y')")
	e.ran("pages", "dispatch")
	e.sql("update pages set dispatch = null")
	e.ran("pages", "dispatch")
	for run, want := range map[string]string{"1": "run one", "2": "run two"} {
		path := filepath.Join(e.dir, "logs", "my%20pages", "%2E.%2F..%2Fetc%2Fx%20y", run+".log")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(text), "out of ../../etc/x y\n", "err\n", e.dir+"\n", "0022\n", want+"\n")
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		has(t, e.ok("logs", "my pages/../../etc/x y", "--attempt", run), "out of ../../etc/x y", want)
		has(t, e.ok("logs", "-e", "my pages/../../etc/x y", "--attempt", run), "err")
	}
}

// A command finds nothing of the scheduler's: no descriptor, no blocked or
// ignored signal, a working alarm, and an empty stdin.
func TestAttach_ACommandIsAloneInItsProcess(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table jobs (id integer primary key, dispatch boolean, result text, code integer)")
	e.ok("attach", "jobs", "--pool", "1", "--exit-col", "code", "--cmd", e.script("look", `
exec 3>$DIR/seen
ls /proc/$$/fd | tr '\n' ' ' >&3
grep -E '^Sig(Blk|Ign)' /proc/self/status >&3
[ "$(cat)" = "" ] && echo empty >&3
env | grep -ciE 'postgres|password' >&3
timeout 0.1 sleep 60`))
	e.sql("insert into jobs values (1)")
	e.ran("jobs", "dispatch")
	seen := strings.Join(e.lines("seen"), "\n")
	has(t, seen, "0 1 2 255 3 ", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "empty\n0")
	if code := value[int](e, "select code from jobs"); code != 124 {
		t.Errorf("timeout ended with %d: its alarm does not ring", code)
	}
}

// An agent gets the row as the line that an item is, without the columns that
// are bellhop's; it may be a warm one.
func TestAttach_AnAgentGetsTheRowAsAnItem(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: note, command: [" + e.worker("note", `printf '%s\n' "$line" >> $DIR/said`) + "]"))
	e.sql(`create table mails (id integer primary key, "to whom" text, nothing text, body text, raw bytea, sent integer, outcome text)`)
	e.ok("attach", "mails", "--type", "note", "--dispatch", "sent", "--status-col", "outcome", "--pool", "2")
	e.sql(`insert into mails values (1, 'a "b"', null, e'line\nback\\slash\r', '\x00ff', null, 'old')`)
	e.ran("mails", "sent")
	if want := `id="1" to whom="a \"b\"" body="line\nback\\slash\r" raw="\\x00ff"`; !slices.Equal(e.lines("said"),
		[]string{want}) {
		t.Errorf("%q, want %q", e.lines("said"), want)
	}
	if got := value[string](e, "select outcome from mails"); got != "succeeded" {
		t.Errorf("outcome %q", got)
	}
}
