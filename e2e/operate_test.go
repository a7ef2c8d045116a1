package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

// command gives one through the queue.
func (e *env) command(args string) int64 {
	e.t.Helper()
	return e.insert("type, args", "command", args)
}

// TestCommands_Killjob ends what waits and what runs as failed, by the user's
// wish, and changes nothing about what is over.
func TestCommands_Killjob(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sleep, command: [sleep], mode: exec", "type: a, command: ["+e.worker("agent", "")+"]", "type: item, command: ["+e.worker("item", "sleep 1000")+"]"))
	done := e.insert("type", "a")
	e.waitState(done, "succeeded")
	runs, items := e.insert("type, args", "sleep", "1000"), e.insert("type, msq", "item", numbers(100))
	e.waitState(runs, "running")
	e.waitState(items, "running")
	held, later, unknown := e.insert("type, held", "a",
		true), e.insert("type, run_at", "a", time.Now().Add(time.Hour)), e.insert("type", "nobody")
	for _, id := range []int64{runs, items, held, later, unknown} {
		c := e.command(fmt.Sprintf("killjob %d", id))
		e.waitState(c, "succeeded")
		if j := e.waitState(id, "failed"); !strings.HasPrefix(j.Error, fmt.Sprintf("killed: by command %d", c)) ||
			j.WaitingFor != "" {
			t.Errorf("job %d: %+v", id, j)
		}
	}
	c := e.command(fmt.Sprintf("killjob %d", done))
	e.waitState(c, "succeeded")
	has(t, e.logged(c), fmt.Sprintf("job %d succeeded", done))
	if s := e.state(done); s != "succeeded" {
		t.Errorf("what was over is %s", s)
	}
	for args, says := range map[string]string{"killjob 999999": "there is no job 999999", "killjob x": "unknown command 'killjob x'", "": "unknown command ''",
		"reboot": "unknown command 'reboot': it is one of shutdown", "pause a b": "unknown command", "shutdown nobody": "no live instance is called nobody"} {
		has(t, e.waitState(e.command(args), "failed").Error, says)
	}
	// A killed job can be tried again, and then be cancelled as any other.
	e.ok("retry", fmt.Sprint(runs))
	e.waitState(runs, "running")
	e.cancel(runs)
	e.waitState(runs, "cancelled")
	e.eventually("nothing of it runs", "select not exists (select from bellhop.child where job = $1)", runs)
}

// TestCommands_PauseAndResume: nothing of a type starts, items of a query that
// runs included; others do; what was paused starts with resume.
func TestCommands_PauseAndResume(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve(agents("type: a, command: ["+e.worker("a", note+"; sleep 0.005")+"], max: 2",
		"type: b, command: ["+e.worker("b", "")+"]"))
	items := e.insert("type, msq", "a", numbers(100000))
	pgtest.Eventually(t, patience, "items are done", func() bool { return len(e.lines("ran")) > 20 })
	e.waitState(e.command("pause a"), "succeeded")
	i.waitSaid(`"paused"`)
	e.beats(i, 2) // what is told of children is as old as a heartbeat
	e.eventually("its children have nothing to do", "select count(*) > 0 and bool_and(state = 'READY') from bellhop.child where type = 'a'")
	before := len(e.lines("ran"))
	waits := e.insert("type", "a")
	e.eventually("a new one says why it waits", "select coalesce(waiting_for, '') = 'paused' and state = 'ready' from bellhop.jobqueue where id = $1", waits)
	e.waitState(e.insert("type", "b"), "succeeded")
	if n := len(e.lines("ran")); n != before {
		t.Errorf("%d lines were done meanwhile", n-before)
	}
	e.waitState(e.command("resume a"), "succeeded")
	e.waitState(waits, "succeeded")
	pgtest.Eventually(t, patience, "items are done again", func() bool { return len(e.lines("ran")) > before+20 })

	if out := e.ok("pause"); out != "everything is paused\n" {
		t.Errorf("it says %q", out)
	}
	one := e.insert("type", "b")
	e.eventually("it waits", "select coalesce(waiting_for, '') = 'paused' and state = 'ready' from bellhop.jobqueue where id = $1", one)
	has(t, e.waitState(e.command("resume b"), "failed").Error, "everything is paused: say resume without a type first")
	if r := e.run("resume", "b"); r.code != 7 || !strings.Contains(r.stderr, "everything is paused") {
		t.Errorf("resume b: %+v", r)
	}
	e.ok("resume")
	e.waitState(one, "succeeded")
	e.cancel(items)
	e.waitState(items, "cancelled")
}

// TestCommands_Shutdown: of one instance by its name, of all; only of those
// that were there when it was said.
func TestCommands_Shutdown(t *testing.T) {
	t.Parallel()
	e := setup(t)
	config := "hosts:\n  - {name: local, slots: 2}\n" + agents("type: sleep, command: [sleep], mode: exec")
	first, second := e.serve("instance: {name: first, heartbeat: 200ms, lag: 1m}\n"+config), e.serve("instance: {name: second, heartbeat: 200ms, lag: 1m}\n"+config)
	later := e.insert("type, args, run_at", "command", "shutdown", time.Now().Add(time.Hour))
	long := []int64{
		e.insert("type, args", "sleep", "1000"),
		e.insert("type, args", "sleep", "1000"),
		e.insert("type, args", "sleep", "1000"),
	}
	for _, id := range long {
		e.waitState(id, "running")
	}
	e.waitState(e.command("shutdown now first"), "succeeded")
	<-first.exited
	select {
	case <-second.exited:
		t.Fatal("the other one has ended too")
	default:
	}
	// What the first ran is given back, and is no attempt.
	e.eventually("two run, one waits", "select string_agg(state || ' ' || attempt, ', ' order by state, attempt) = 'ready 0, running 1, running 1' from bellhop.jobqueue where type = 'sleep'")
	short := e.insert("type, args, priority", "sleep", "0.2", -1)
	for _, id := range long[1:] {
		e.cancel(id)
		e.waitState(id, "cancelled")
	}
	e.cancel(long[0])
	e.waitState(short, "succeeded")
	last := e.insert("type, args", "sleep", "3")
	e.waitState(last, "running")
	e.waitState(e.command("shutdown"), "succeeded")
	<-second.exited
	if s := e.state(last); s != "succeeded" || second.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("what ran may finish: it is %s; the instance ended with %s", s, second.cmd.ProcessState)
	}
	// Said while nobody was there: it ends nobody who comes after.
	stale := e.command("shutdown")
	third := e.serve("instance: {name: third, heartbeat: 200ms, lag: 1m}\n" + config)
	has(t, e.waitState(stale, "failed").Error, "no instance was running when this was said")
	e.sql("update bellhop.jobqueue set run_at = clock_timestamp() where id = $1", later)
	e.ok("kick")
	e.waitState(later, "succeeded")
	<-third.exited
}

// TestCommands_AreForOperators: whoever may submit may not give commands,
// however it is tried, and no other job is refused for it.
func TestCommands_AreForOperators(t *testing.T) {
	t.Parallel()
	e := setup(t)
	as := func(role string) *pgx.Conn {
		name := fmt.Sprintf("e2e_%s_%d", role, time.Now().UnixNano())
		e.sql("create role " + name + " login password 'x' in role " + role)
		t.Cleanup(func() { // roles are the server's, not the database's
			admin, err := pgx.Connect(context.Background(), e.url)
			if err == nil {
				_, err = admin.Exec(context.Background(), "drop role "+name)
				_ = admin.Close(context.Background())
			}
			if err != nil {
				t.Error(err)
			}
		})
		c := e.pool.Config().ConnConfig.Copy()
		c.User, c.Password = name, "x"
		conn, err := pgx.ConnectConfig(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	submitter, operator := as("bellhop_submitter"), as("bellhop_operator")
	for _, text := range []string{
		"insert into bellhop.jobqueue (type, args) values ('command', 'shutdown')",
		"insert into bellhop.jobqueue (type, args) values ('a', 'x'), ('command', 'pause')",
		"select bellhop.submit('command', 'shutdown now')",
		"select bellhop.pause()", "select bellhop.resume('a')", "select bellhop.killjob(1)", "select bellhop.obey(1)", "select bellhop.stop_instances(null, true, now())",
	} {
		if _, err := submitter.Exec(t.Context(), text); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A login that may do anything and has put on the submitter's hat.
	if err := pgx.BeginFunc(t.Context(), e.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "set local role bellhop_submitter"); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "select bellhop.submit('command', 'shutdown')")
		return err
	}); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("under the submitter's role: %v", err)
	}
	if _, err := submitter.Exec(t.Context(), "insert into bellhop.jobqueue (type, args) values ('a', 'command')"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"insert into bellhop.jobqueue (type, args) values ('command', 'pause a')", "select bellhop.submit('command', 'resume a')", "select bellhop.pause('a')"} {
		if _, err := operator.Exec(t.Context(), text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if n := value[int](e, "select count(*) from bellhop.jobqueue where type = 'command'"); n != 2 {
		t.Errorf("%d commands are in the queue", n)
	}
	if _, err := operator.Exec(t.Context(), "insert into bellhop.jobqueue (type, args, run_on) values ('command', 'shutdown', 'big1')"); err == nil || !strings.Contains(err.Error(), "a command has args") {
		t.Errorf("a command with run_on: %v", err)
	}
}

// TestSignals_TellWhatGoesOn: USR1 and HUP a summary and a line a child, USR2
// the queries; nothing is disturbed. A crash tells the last summary.
func TestSignals_TellWhatGoesOn(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve(agents("type: sleep, command: [sleep], mode: exec",
		"type: item, command: ["+e.worker("item", "sleep 1000")+"], max: 1", "type: a, command: ["+e.worker("a", "")+"]"))
	job, items := e.insert("type, args", "sleep", "1000"), e.insert("type, msq", "item", numbers(5000))
	e.waitState(job, "running")
	e.waitState(e.insert("type", "a"), "succeeded")
	e.eventually("an item runs", "select exists (select from bellhop.child where type = 'item' and state = 'RUNNING')")
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGHUP} {
		before, asked := len(i.said()), time.Time{}
		pgtest.Eventually(t, patience, sig.String()+" is answered", func() bool {
			if time.Since(asked) > 5*time.Second { // who is too busy to answer within a second is left out: then once more
				asked = time.Now()
				i.signal(sig)
			}
			said := i.said()[before:]
			return strings.Contains(said, "summary: running 2,") &&
				strings.Contains(said, "child sleep.1 on local: RUNNING for ") &&
				strings.Contains(said, fmt.Sprintf(", job %d", job)) &&
				strings.Contains(said, "child a.1 on local: READY")
		})
	}
	has(t, i.said(), "dead 0;", "queries 1;")
	i.signal(syscall.SIGUSR2)
	i.waitSaid(fmt.Sprintf("msq job %d (item), fence 1, round 1: items done 0, failed 0, of ?; waiting ", items))
	i.waitSaid("; " + numbers(5000))
	if e.state(job) != "running" || e.state(items) != "running" {
		t.Error("the signals have disturbed what runs")
	}
	// As a bug in the runtime's eyes: the helper has the last summary.
	i.signal(syscall.SIGABRT)
	<-i.exited
	has(t, i.said(), "SIGABRT", "bellhop has crashed", "Its last summary:\n", "child sleep.1 on local: RUNNING for ")
}

// TestServe_RecoversWhatTheDeadLeft: -R gives back before anything else, and
// touches nobody who lives.
func TestServe_RecoversWhatTheDeadLeft(t *testing.T) {
	t.Parallel()
	e := setup(t)
	config := "instance: {heartbeat: 200ms, lag: 10m}\nhosts:\n  - {name: local, slots: 1}\n" + agents("type: sleep, command: [sleep], mode: exec")
	live := e.serve(config)
	kept := e.insert("type, args", "sleep", "1000")
	e.waitState(kept, "running")
	pgtest.Freeze(t, live.cmd.Process.Pid) // or it would do it first
	defer live.signal(syscall.SIGCONT)
	// One of this machine whose process is gone, and one of another that is silent, as their rows tell.
	gone := value[int64](e, `insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		select 'gone', hostname, machine, 1 << 29, '1', version, '1 h' from bellhop.instance where id = $1 returning id`, live.id)
	silent := value[int64](e, `insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag, heartbeat_at)
		values ('silent', 'x', 'another', 7, '1', 'v', '1 s', clock_timestamp() - interval '1 min') returning id`)
	busy := value[int64](e, `insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('busy', 'x', 'another', 7, '1', 'v', '1 h') returning id`)
	e.sql("insert into bellhop.asserted values ($1)", busy) // the database has not crashed since it came
	for _, id := range []int64{gone, silent, busy} {
		e.sql("insert into bellhop.jobqueue (type, args, state, instance, fence, attempt, started_at) values ('sleep', '0', 'running', $1, 1, 1, now())", id)
	}
	second := e.serve(config, "-R")
	for _, text := range []string{
		"gave back the jobs of a dead instance", `"name":"gone"`, `"name":"silent"`, "left alone",
	} {
		second.waitSaid(text)
	}
	e.eventually("what the dead had left is done", "select count(*) = 2 from bellhop.jobqueue where state = 'succeeded'")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where instance = $1 and state = 'running'", busy); n != 1 ||
		e.state(kept) != "running" {
		t.Error("it has touched what lives")
	}
}

// TestStats_PerType: what is done, failed, said Success, died, and items.
func TestStats_PerType(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("a", `case $line in die) exit 3;; esac; echo Success; echo Success`) + "]"))
	e.waitState(e.insert("type, args", "a", "x"), "succeeded")
	e.waitState(e.insert("type, args", "a", "die"), "failed")
	e.waitState(e.insert("type, msq", "a", numbers(10)), "succeeded")
	has(t, e.ok("stats", "-o", "json"), `"successes": 22`, `"deaths": 1`, `"items_done": 10`, `"succeeded": 2`, `"failed": 1`)
	has(t, e.ok("stats"), "SUCCESSES")
}
