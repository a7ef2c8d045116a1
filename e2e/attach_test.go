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
func (b *bed) ran(table, dispatch string) {
	b.t.Helper()
	defer func() {
		if b.t.Failed() {
			b.t.Logf("attachments: %q", column[string](b, "select a::text from bellhop.attachment a"))
			b.t.Logf("live: %q", column[string](b, "select x.key || ' ' || coalesce(j::text, 'no job') from bellhop.attached x left join bellhop.jobqueue j on j.id = x.job where x.live limit 5"))
		}
	}()
	b.eventually("every row of "+table+" has run", fmt.Sprintf(`select not exists (select from %s where %s is null)
		and not exists (select from bellhop.attached x where x.live)`, table, dispatch))
}

// A row asks to be run by a NULL, whatever the column's type; the command gets
// the key as one argument, whatever the key, and finds the rest in its environment.
func TestAttach_EveryKindOfDispatchColumnAndKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(obeys + "hosts:\n  - {name: local, slots: 8}\n")
	schema := value[string](b, "select current_schema()")
	note := b.script("note", `printf '%s\t%s\t%s\t%s\n' "${!#}" "$#" "$BELLHOP_KEY" "$BELLHOP_TABLE" >> $DIR/$1`)
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
		b.sql(fmt.Sprintf("create table %s (k %s primary key, dispatch %s)", table, c.key, c.dispatch))
		b.ok("attach", table, "--cmd", note, table, "--pool", "2")
		b.sql(fmt.Sprintf("insert into %s values (%s)", table, c.value))
		b.ran(table, "dispatch")
		if want := c.want + "\t2\t" + c.want + "\t" + schema + "." + table; !slices.Equal(b.lines(table), []string{want}) {
			t.Errorf("dispatch %s, key %s: %q, want %q", c.dispatch, c.key, b.lines(table), want)
		}
		if !value[bool](b, "select dispatch is not null from "+table) {
			t.Errorf("dispatch %s: the row is not marked", c.dispatch)
		}
	}
	b.sql(`create schema "Some Schema"; create table "Some Schema"."select" ("from" text, n integer, "dis patch" date, primary key ("from", n))`)
	b.ok("attach", `"Some Schema"."select"`, "--dispatch", "dis patch", "--cmd", note, "composite", "--pool", "1")
	b.sql(`insert into "Some Schema"."select" values ('a"b', 7)`)
	b.ran(`"Some Schema"."select"`, `"dis patch"`)
	if want := `["a\"b", 7]`; !slices.Equal(b.lines("composite"), []string{want + "\t2\t" + want + "\t" + `"Some Schema"."select"`}) {
		t.Errorf("%q", b.lines("composite"))
	}
	var row map[string]any
	b.sql("create table r (id integer primary key, name text, dispatch timestamptz)")
	b.ok("attach", "r", "--shell", `printf '%s' "$BELLHOP_ROW" > `+b.dir+`/row; echo "$1:$BELLHOP_JOB" > `+b.dir+`/shell`, "--pool", "1")
	b.sql(`insert into r values (5, e'a "b"\n')`)
	b.ran("r", "dispatch")
	if err := json.Unmarshal([]byte(strings.Join(b.lines("row"), "\n")), &row); err != nil || row["name"] != "a \"b\"\n" || row["id"] != 5.0 {
		t.Errorf("BELLHOP_ROW %q: %v", b.lines("row"), err)
	}
	if want := "5:" + value[string](b, "select job::text from bellhop.attached where attachment = bellhop.attachment_named('r')"); !slices.Equal(b.lines("shell"), []string{want}) {
		t.Errorf("the shell's $1 and BELLHOP_JOB: %q, want %q", b.lines("shell"), want)
	}
}

// A request that comes while the row runs is kept, and runs once more when that
// is over: never beside it, never not at all. How a run ended is in the table.
func TestAttach_ARowThatIsAskedForWhileItRunsRunsOnceMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(obeys)
	b.sql("create table jobs (id integer primary key, dispatch timestamptz, result text, code integer)")
	b.ok("attach", "jobs", "--status-col", "result", "--exit-col", "code", "--pool", "3", "--cmd", b.script("work", `
mkdir $DIR/alone.$1 || echo $1 >> $DIR/twice
n=$(cat $DIR/runs.$1 2>/dev/null | wc -l)
echo run >> $DIR/runs.$1
while [ ! -e $DIR/go.$1.$n ]; do sleep 0.02; done
rmdir $DIR/alone.$1
exit $n`))
	runs := func(key string, n int) {
		t.Helper()
		pgtest.Eventually(t, patience, fmt.Sprintf("row %s runs for time %d", key, n), func() bool { return len(b.lines("runs."+key)) == n })
	}
	b.sql("insert into jobs values (1)")
	runs("1", 1)
	for range 3 { // as often as anybody likes: it is one request
		b.sql("update jobs set dispatch = null")
	}
	b.sql("insert into jobs values (2)") // so that there is a turn which takes something
	runs("2", 1)
	if !value[bool](b, "select dispatch is null and result is null from jobs where id = 1") || len(b.lines("runs.1")) != 1 {
		t.Error("the request was lost, or taken while the row runs")
	}
	b.rowBecause("jobs", "1", "row_has_job", "runs once more after that")
	b.file("go.1.0", "", 0o600)
	runs("1", 2)
	b.file("go.2.0", "", 0o600)
	b.file("go.1.1", "", 0o600)
	b.ran("jobs", "dispatch")
	if got := column[string](b, "select concat_ws(' ', id, result, code) from jobs order by id"); !slices.Equal(got, []string{"1 failed 1", "2 succeeded 0"}) {
		t.Errorf("%q", got)
	}
	if twice := b.lines("twice"); len(twice) > 0 {
		t.Errorf("two runs at once of %q", twice)
	}
	if attempts := column[int](b, "select a.exit_code from bellhop.attempt a join bellhop.jobqueue j on j.id = a.job where j.key = 'jobs/1' order by a.attempt"); !slices.Equal(attempts, []int{0, 1}) {
		t.Errorf("runs that are kept ended with %v", attempts)
	}
}

// What cannot be started has failed with a shell's code, and says why; nobody
// else is held up by it.
func TestAttach_ACommandThatCannotStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(obeys)
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
		b.sql(fmt.Sprintf("create table %s (id integer primary key, dispatch date, outcome text, code integer)", table))
		b.ok(append([]string{"attach", table, "--pool", "1", "--status-col", "outcome", "--exit-col", "code"}, c.args...)...)
		b.sql(fmt.Sprintf("insert into %s values (1)", table))
		b.ran(table, "dispatch")
		got := value[string](b, fmt.Sprintf("select concat_ws(' ', outcome, code, (select error from bellhop.jobqueue where key = '%s/1')) from %[1]s", table))
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

// What is said is kept for each run, in bellhop.log and in a file of its own.
func TestAttach_EveryRunHasALogOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(obeys)
	b.sql("create table pages (url text primary key, dispatch date)")
	b.ok("attach", "pages", "--log-dir", filepath.Join(b.dir, "logs"), "--workdir", b.dir, "--pool", "1", "--name", "my pages",
		"--shell", `echo "out of $1"; echo err >&2; pwd; umask; n=$(cat $0.n 2>/dev/null); echo "run ${n:-one}"; echo two > $0.n`)
	b.sql("insert into pages values ('../../etc/x y')")
	b.ran("pages", "dispatch")
	b.sql("update pages set dispatch = null")
	b.ran("pages", "dispatch")
	for run, want := range map[string]string{"1": "run one", "2": "run two"} {
		path := filepath.Join(b.dir, "logs", "my%20pages", "%2E.%2F..%2Fetc%2Fx%20y", run+".log")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(text), "out of ../../etc/x y\n", "err\n", b.dir+"\n", "0022\n", want+"\n")
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		has(t, b.ok("logs", "my pages/../../etc/x y", "--attempt", run), "out of ../../etc/x y", want)
		has(t, b.ok("logs", "-e", "my pages/../../etc/x y", "--attempt", run), "err")
	}
}

// A command finds nothing of the scheduler's: no descriptor, no blocked or
// ignored signal, a working alarm, and an empty stdin.
func TestAttach_ACommandIsAloneInItsProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(obeys)
	b.sql("create table jobs (id integer primary key, dispatch boolean, result text, code integer)")
	b.ok("attach", "jobs", "--pool", "1", "--exit-col", "code", "--cmd", b.script("look", `
exec 3>$DIR/seen
ls /proc/$$/fd | tr '\n' ' ' >&3
grep -E '^Sig(Blk|Ign)' /proc/self/status >&3
[ "$(cat)" = "" ] && echo empty >&3
env | grep -ciE 'postgres|password' >&3
timeout 0.1 sleep 60`))
	b.sql("insert into jobs values (1)")
	b.ran("jobs", "dispatch")
	seen := strings.Join(b.lines("seen"), "\n")
	has(t, seen, "0 1 2 255 3 ", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "empty\n0")
	if code := value[int](b, "select code from jobs"); code != 124 {
		t.Errorf("timeout ended with %d: its alarm does not ring", code)
	}
}

// An agent gets the row as the line that an item is, without the columns that
// are bellhop's; it may be a warm one.
func TestAttach_AnAgentGetsTheRowAsAnItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(agents("type: note, command: [" + b.worker("note", `printf '%s\n' "$line" >> $DIR/said`) + "]"))
	b.sql(`create table mails (id integer primary key, "to whom" text, nothing text, body text, raw bytea, sent integer, outcome text)`)
	b.ok("attach", "mails", "--type", "note", "--dispatch", "sent", "--status-col", "outcome", "--pool", "2")
	b.sql(`insert into mails values (1, 'a "b"', null, e'line\nback\\slash\r', '\x00ff', null, 'old')`)
	b.ran("mails", "sent")
	if want := `id="1" to whom="a \"b\"" body="line\nback\\slash\r" raw="\\x00ff"`; !slices.Equal(b.lines("said"), []string{want}) {
		t.Errorf("%q, want %q", b.lines("said"), want)
	}
	if got := value[string](b, "select outcome from mails"); got != "succeeded" {
		t.Errorf("outcome %q", got)
	}
}
