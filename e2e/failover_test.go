package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// away has a job run, and does what takes the database from the instance. It gives the job, which goes on.
func (e *env) away(i *instance, j *journal, do func()) (job int64, child int) {
	e.t.Helper()
	job = e.insert("type, args", "work", "hold")
	j.waitRunning(e, i, 1)
	for pid := range j.alive() {
		child = pid
	}
	do()
	return job, child
}

// waitReady waits until /readyz says this.
func (i *instance) waitReady(words string) {
	i.b.t.Helper()
	pgtest.Eventually(i.b.t, patience, "/readyz says "+words, func() bool {
		answer, err := http.Get("http://" + i.address + "/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(text), words)
	})
}

// cutAll ends all sessions of instances.
func (e *env) cutAll() {
	e.t.Helper()
	e.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'bellhop %'")
}

// A standby that is named first is passed over. When the primary dies, only the standby is left, which takes no
// writes: the instance says so, keeps what it runs, and goes on when the standby is promoted.
func TestFailover_TheStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	primary, e := setupOwn(t)
	standby := pgtest.Standby(t, primary)
	j := newJournal(t)
	e.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	i := e.serve(fmt.Sprintf("database: {url: %q}\n", pgtest.Hosts(t, "", standby, primary)) + agents(j.agent("work", "exec")))
	waits := e.insert("type", "nobody")
	job, child := e.away(i, j, func() {
		on(t, standby.URL()).because(waits, "read_only/fed", "is ready")
		pgtest.CaughtUp(t, primary, standby)
		primary.Kill()
	})
	i.waitSaid("is read only (a standby)")
	i.waitReady("is read only (a standby); work goes on when it is promoted")
	if syscall.Kill(child, 0) != nil {
		t.Error("what ran was ended, although the lease lasts")
	}
	before := on(t, standby.URL())
	for _, id := range []int64{job, waits} {
		before.because(id, "read_only/standby")
		has(t, before.ok("explain", fmt.Sprint(id)), "read_only: This server is a standby and takes no writes", "pg_promote")
	}
	pgtest.Promote(t, standby)
	i.waitSaid("the database is back")
	after := on(t, standby.URL())
	j.letGo()
	after.waitState(job, "succeeded")
	after.waitState(after.insert("type, args", "work", "1ms"), "succeeded")
	i.waitReady("ok")
	if strings.Contains(i.said(), "lease lost") {
		t.Error("the lease was lost on the way")
	}
}

// A database that is told to take no writes keeps an instance from working, until it takes some again. What runs is
// ended when the lease is over, as others may have it then.
func TestFailover_ADatabaseThatIsReadOnlyForAWhile(t *testing.T) {
	t.Parallel()
	_, e := setupOwn(t)
	j := newJournal(t)
	e.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	i := e.serve("instance: {heartbeat: 200ms, lag: 3s}\n" + agents(j.agent("work", "exec")))
	job, child := e.away(i, j, func() {
		e.sql("alter database bellhop set default_transaction_read_only = on")
		e.cutAll()
	})
	i.waitSaid("is read only (default_transaction_read_only is on)")
	i.waitSaid("lease lost")
	pgtest.Eventually(t, patience, "what ran is ended", func() bool { return syscall.Kill(child, 0) != nil })
	i.waitReady("is read only (default_transaction_read_only is on)")
	waits := on(t, e.url+"&default_transaction_read_only=off").insert("type, args", "work", "1ms")
	for _, id := range []int64{job, waits} {
		e.because(id, "read_only", "default_transaction_read_only is on")
	}
	told := e.ok("explain", fmt.Sprint(waits))
	has(t, told, "read_only: The database takes no writes (default_transaction_read_only is on)")
	writes := on(t, e.url+"&default_transaction_read_only=off")
	_, next, _ := strings.Cut(told, "-> ")
	if _, err := exec.LookPath("psql"); err != nil {
		t.Log("no psql here, so the line of explain is not run; install postgresql-client")
		writes.sql("alter database bellhop reset default_transaction_read_only")
	} else {
		e.types(next)
	}
	j.letGo()
	writes.waitState(job, "succeeded")
	writes.waitState(waits, "succeeded")
	i.waitReady("ok")
}

// A password that is changed, in the server first, is waited out with what runs; the password file is read again.
func TestFailover_ARotatedPassword(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	j := newJournal(t)
	at, old := withoutPassword(t, c)
	passwords := e.file("passwords", "*:*:*:bellhop:"+old+"\n", 0o600)
	e.env = []string{"PGPASSFILE=" + passwords}
	e.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	i := e.serve(fmt.Sprintf("database: {url: %q}\n", at) + agents(j.agent("work", "exec")))
	job, child := e.away(i, j, func() {
		e.sql("alter role bellhop password 'another'")
		e.cutAll()
	})
	i.waitSaid("does not let bellhop in: password authentication failed")
	i.waitReady("password files, service files and certificates are read again")
	if syscall.Kill(child, 0) != nil {
		t.Error("what ran was ended, although the lease lasts")
	}
	if err := os.WriteFile(passwords, []byte("*:*:*:bellhop:another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	i.waitReady("ok")
	j.letGo()
	e.waitState(job, "succeeded")
	if strings.Contains(i.said(), "lease lost") {
		t.Error("the lease was lost on the way")
	}
}

// withoutPassword names a server's database over TCP, and gives the password apart.
func withoutPassword(t *testing.T, c *pgdev.Cluster) (at, password string) {
	t.Helper()
	u, err := url.Parse(c.TCPURL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ = u.User.Password()
	u.User = url.User(u.User.Username())
	return u.String(), password
}

// An instance works under a login whose settings would cut its statements and sessions off, or change what they mean.
func TestFailover_ALoginWithSettingsOfItsOwn(t *testing.T) {
	t.Parallel()
	_, e := setupOwn(t)
	e.sql("create role odd login superuser")
	for _, set := range []string{"statement_timeout = '1ms'", "lock_timeout = '1ms'", "idle_session_timeout = '300ms'",
		"idle_in_transaction_session_timeout = '300ms'", "default_transaction_isolation = 'serializable'",
		"search_path = 'public'", "DateStyle = 'German, DMY'", "IntervalStyle = 'iso_8601'", "extra_float_digits = -10",
		"bytea_output = 'escape'", "jit = on", "row_security = off"} {
		if !strings.HasPrefix(set, "statement_timeout") { // commands, and serve's first look, are the login's own
			e.sql("alter role odd set " + set)
		}
	}
	i := e.serve(fmt.Sprintf("database: {url: %q}\n", strings.Replace(e.url, "bellhop@", "odd@", 1)) +
		agents("type: a, command: ["+e.worker("a", "")+"]"))
	bell := "select backend_start::text || pid from pg_stat_activity where application_name = 'bellhop bell'"
	e.eventually("the bell listens", "select exists ("+bell+")")
	first := value[string](e, bell)
	for range 3 {
		e.waitState(e.insert("type, msq", "a", numbers(50)), "succeeded")
		e.sql("select pg_sleep(0.5)") // longer than idle_session_timeout
	}
	if again := value[string](e, bell); again != first {
		t.Errorf("the bell was %s, and is %s", first, again)
	}
	for _, word := range []string{"the database is away", "connection lost", "cannot", "failed"} {
		if strings.Contains(i.said(), word) {
			t.Errorf("%q was said", word)
		}
	}
}

// The last summary is there from the first moment.
func TestServe_ACrashAtOnceHasASummary(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("instance: {heartbeat: 30s, lag: 5m}\n" + agents("type: a, command: [/bin/cat], mode: exec"))
	i.signal(syscall.SIGABRT)
	<-i.exited
	has(t, i.said(), "bellhop has crashed", "Its last summary:\n")
}
