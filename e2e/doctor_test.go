package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// sick is a database as production should have it, with an instance, and a
// doctor who looks at it.
type sick struct {
	*env          // the administrator's
	config string // of the instance and the doctor
	old    string // --old
}

// diagnosis is one line of the doctor's.
type diagnosis struct{ Check, Verdict, Says, Mend string }

// as is the administrator's URL with another login.
func as(t *testing.T, admin, login string) string {
	t.Helper()
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(login, "secret")
	return u.String()
}

// admit makes such a ward.
func admit(t *testing.T) *sick {
	t.Helper()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("NOT TESTED: what the doctor says to type; type `apt-get install postgresql-client`")
	}
	c, err := pgdev.Start(t.Context(), pgdev.Config{Dir: pgtest.Dir(t), Durable: true, Settings: map[string]string{"max_prepared_transactions": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w := &sick{env: on(t, c.TCPURL()), old: "1h"}
	w.ok("migrate")
	has(t, w.ok("install", "roles", "--logins"), "done")
	for _, login := range []string{"bellhop_serve", "bellhop_msq"} {
		w.sql("alter role " + login + " password 'secret'")
	}
	w.config = w.file("bellhop.yaml", fmt.Sprintf("database: {url: %q, msq_url: %q}\nlisten: 127.0.0.1:%d\nproduction: true\ninstance: {lag: 1m}\n%s",
		as(t, w.url, "bellhop_serve"), as(t, w.url, "bellhop_msq"), freePort(t), agents("type: a, mode: exec, command: [/bin/true]")), 0o600)
	return w
}

// examine gives the doctor's findings, and the exit code.
func (w *sick) examine(args ...string) ([]diagnosis, int) {
	w.t.Helper()
	r := w.runIn(nil, append([]string{"doctor", "-o", "json", "-c", w.config, "--old", w.old}, args...)...)
	var report struct {
		OK       bool
		Findings []diagnosis
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		w.t.Fatalf("%v: %+v", err, r)
	}
	if report.OK != (r.code == 0) {
		w.t.Errorf("ok is %t and the exit code %d", report.OK, r.code)
	}
	return report.Findings, r.code
}

// bad are the findings that need mending. Leftovers are the whole machine's, and
// so may be those of other tests.
func bad(findings []diagnosis) (list []diagnosis) {
	for _, f := range findings {
		if f.Verdict == "mend" && f.Check != "leftovers" {
			list = append(list, f)
		}
	}
	return list
}

// sound checks that nothing needs mending.
func (w *sick) sound(when string) {
	w.t.Helper()
	pgtest.Eventually(w.t, patience, when+": all is well", func() bool {
		findings, _ := w.examine()
		if len(bad(findings)) > 0 {
			w.t.Logf("%s: %+v", when, bad(findings))
		}
		return len(bad(findings)) == 0
	})
}

// ails checks that the doctor names what is wrong, and gives what it says to type.
func (w *sick) ails(check, says string) (mend string) {
	w.t.Helper()
	pgtest.Eventually(w.t, patience, "the doctor sees "+check+": "+says, func() bool {
		findings, code := w.examine()
		for _, f := range bad(findings) {
			if f.Check == check && strings.Contains(f.Says, says) {
				if code != 1 || f.Mend == "" {
					w.t.Errorf("%s: exit code %d, finding %+v", check, code, f)
				}
				mend = f.Mend
				return true
			}
		}
		w.t.Logf("%+v", bad(findings))
		return false
	})
	return mend
}

// types types a line as the administrator.
func (e *env) types(line string) {
	e.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = e.dir
	cmd.Env = append(environment(e.dir), "DATABASE_URL="+e.url, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		e.t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// TestDoctor_NamesWhatIsBrokenAndWhatMendsIt breaks one thing after the other,
// for real, types what the doctor says, and sees that all is well again.
func TestDoctor_NamesWhatIsBrokenAndWhatMendsIt(t *testing.T) {
	t.Parallel()
	w := admit(t)
	has(t, w.ails("instances", "none is running"), "bellhop serve")
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.start(string(text)).waitSaid("bellhop serves")
	w.sound("at first")
	findings, code := w.examine()
	if code != 0 && len(bad(findings)) == 0 { // leftovers of another test
		code = 0
	}
	seen := map[string]string{}
	for _, f := range findings {
		seen[f.Check] = f.Verdict
	}
	for _, check := range []string{"configuration", "open files", "server", "writable", "durability", "clock", "notifications", "connections", "autovacuum",
		"schema", "triggers", "rights", "transactions", "growth", "login", "msq_url", "bell", "instances", "readiness"} {
		if seen[check] != "ok" || code != 0 {
			t.Errorf("exit code %d; %s is %q", code, check, seen[check])
		}
	}

	for _, ill := range []struct{ breaks, check, says string }{
		{"alter table bellhop.jobqueue disable trigger _900_ring", "triggers", "_900_ring on bellhop.jobqueue is disabled"},
		{"drop trigger _100_arrange on bellhop.jobqueue", "triggers", "_100_arrange on bellhop.jobqueue is missing"},
		{"revoke select on bellhop.job from bellhop_reader", "rights", "1 of"},
		{"grant select on bellhop.jobqueue to public", "rights", "grant SELECT on bellhop.jobqueue to public"},
		{"grant update (state) on bellhop.jobqueue to bellhop_submitter", "rights", "an excess right"},
		{"drop owned by bellhop_reader; drop role bellhop_reader", "rights", "are missing"},
		{"alter database bellhop set synchronous_commit = off", "durability", "synchronous_commit is off"},
		{"alter role bellhop_serve set synchronous_commit = off", "durability", "synchronous_commit is off"},
		{"alter role bellhop_serve in database bellhop set synchronous_commit = off", "durability", "synchronous_commit is off"},
		{"alter system set synchronous_commit = off", "durability", "synchronous_commit is off"},
		{"alter system set full_page_writes = off", "durability", "full_page_writes is off"},
		{"alter system set autovacuum = off", "autovacuum", "autovacuum is off"},
		{"alter database bellhop set default_transaction_read_only = on", "writable", "read-only"},
		{"update bellhop.schema_script set checksum = 'x' where name = 'ring.sql'", "schema", "ring.sql"},
		{"revoke bellhop_scheduler from bellhop_serve", "login", "bellhop_serve may not schedule"},
		{"grant bellhop_reader to bellhop_msq", "msq_url", "bellhop_msq may use the schema"},
		{"alter role bellhop_msq superuser", "msq_url", "bellhop_msq is a superuser"},
	} {
		for statement := range strings.SplitSeq(ill.breaks, "; ") {
			w.sql(statement)
		}
		w.sql("select pg_reload_conf()")
		w.types(w.ails(ill.check, ill.says))
		w.sound(ill.breaks + ", and mended")
	}

	// Without a line that could be typed here.
	w.sql("insert into bellhop.schema_version (version, name) values (9999, 'of the future')")
	has(t, w.ails("schema", "newer than this binary"), "install the newer bellhop")
	w.sql("delete from bellhop.schema_version where version = 9999")
	w.sql("update bellhop.schema_version set version = version - 40")
	has(t, w.ails("schema", "they begin at 48"), "of the older bellhop")
	w.sql("update bellhop.schema_version set version = version + 40")
	w.sound("the schema is this one again")
	w.openTransactions()
}

// openTransactions leaves some open, and has them ended.
func (w *sick) openTransactions() {
	w.t.Helper()
	w.old = "3s"
	idler, err := pgx.Connect(w.t.Context(), w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = idler.Close(context.Background()) }()
	for _, statement := range []string{"set application_name = 'the idler'", "begin", "select txid_current()"} {
		if _, err := idler.Exec(w.t.Context(), statement); err != nil {
			w.t.Fatal(err)
		}
	}
	w.types(w.ails("transactions", "the idler"))
	w.sound("the idler is gone")
	if idler.Ping(w.t.Context()) == nil {
		w.t.Error("the idler lives")
	}
	other, err := pgx.Connect(w.t.Context(), w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	for _, statement := range []string{"begin", "select txid_current()", "prepare transaction 'it''s forgotten'"} {
		if _, err := other.Exec(w.t.Context(), statement); err != nil {
			w.t.Fatal(err)
		}
	}
	w.types(w.ails("transactions", "it's forgotten"))
	w.sound("the prepared one is gone")
}

// TestDoctor_SeesTheConfiguration: what is wrong in the file, and around it.
func TestDoctor_SeesTheConfiguration(t *testing.T) {
	t.Parallel()
	w := admit(t)
	serve, msq := as(t, w.url, "bellhop_serve"), as(t, w.url, "bellhop_msq")
	for _, ill := range []struct{ file, check, says string }{
		{fmt.Sprintf("database: {url: %q}", serve), "msq_url", "is not set"},
		{fmt.Sprintf("database: {url: %q, msq_url: %[1]q}", serve), "msq_url", "can do all that the scheduler can"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q}", serve, as(t, w.url, "nobody_known")), "msq_url", "cannot connect"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q, db_url: %[1]q}", serve, msq), "db_url", "can do all that the scheduler can"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q, attach_url: %[1]q}", serve, msq), "attach_url", "may do more"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q, attach_url: %q}", serve, msq, as(t, w.url, "nobody_known")), "attach_url", "cannot connect"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q, attach_url: %[2]q}", serve, msq), "attach_url", "may take no turns"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q}\nproduction: true", w.url, msq), "login", "superuser"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q, listen_url: \"postgres://x@127.0.0.1:1/x\"}", serve, msq), "bell", "127.0.0.1:1"},
		{fmt.Sprintf("database: {url: %q, msq_url: %q}\nhosts:\n  - {name: lost, connect: [sh, -c, 'echo no way >&2; exit 1']}", serve, msq), "host lost", "no way"},
	} {
		if err := os.WriteFile(w.config, []byte(ill.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.ails(ill.check, ill.says)
	}
	few := exec.Command("sh", "-c", `ulimit -n 64; exec "$0" doctor -c "$1"`, binary, w.config)
	few.Dir, few.Env = w.dir, environment(w.dir)
	out, err := few.CombinedOutput()
	if err == nil {
		t.Error("it found nothing")
	}
	has(t, string(out), "64 may be open", "ulimit -n ")

	r := w.runIn([]string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "doctor")
	if r.code != 5 {
		t.Errorf("without a database: %+v", r)
	}
	has(t, r.stdout, "open files")
	has(t, r.stderr, "127.0.0.1:1")

	empty := on(t, pgtest.URL(t))
	r = empty.run("doctor")
	has(t, r.stdout, "has no bellhop schema yet", "bellhop migrate")
	if r.code != 1 {
		t.Errorf("an empty database: exit code %d", r.code)
	}
}

// TestDoctor_SeesWhatADeadInstanceLeft: a guard that cannot end its agent.
func TestDoctor_SeesWhatADeadInstanceLeft(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve(agents("type: a, command: [" + e.worker("agent", "sleep 1000") + "]"))
	e.waitState(e.insert("type", "a"), "running")
	var stuck []int
	for _, pid := range i.started() {
		if program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); strings.HasSuffix(program, "/bellhop") &&
			syscall.Kill(pid, syscall.SIGSTOP) == nil {
			stuck = append(stuck, pid)
		}
	}
	_ = i.cmd.Process.Kill() // its end is not waited for: the guards have its stderr open
	var ours []string        // other tests' leftovers are their own affair
	pgtest.Eventually(t, patience, "the doctor names the guard, the agent and its sleep", func() bool {
		var report struct{ Findings []diagnosis }
		if err := json.Unmarshal([]byte(e.run("doctor", "-o", "json").stdout), &report); err != nil {
			t.Fatal(err)
		}
		mine := map[string]bool{}
		for _, pid := range i.started() {
			mine[strconv.Itoa(pid)] = true
		}
		ours = nil
		for _, f := range report.Findings {
			if f.Check != "leftovers" {
				continue
			}
			for word := range strings.FieldsSeq(strings.TrimPrefix(f.Mend, "kill -KILL ")) {
				if mine[word] {
					ours = append(ours, word)
				}
			}
		}
		return len(ours) >= 3
	})
	if out, err := exec.Command("sh", "-c", "kill -KILL "+strings.Join(ours, " ")).CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	for _, pid := range stuck { // the helper that tells of crashes was stopped too
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	i.gone()
	<-i.exited // killed, and nobody has its stderr open any more
}
