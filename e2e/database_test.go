package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

// setupOwn gives a migrated database in a server that the test may break.
func setupOwn(t *testing.T) (*pgdev.Cluster, *env) {
	t.Helper()
	c := pgtest.Cluster(t)
	e := on(t, c.URL())
	e.ok("migrate")
	return c, e
}

// restart restarts the server; the test's own connections are made anew.
func (e *env) restart(c *pgdev.Cluster, mode string) {
	e.t.Helper()
	if err := c.Restart(e.t.Context(), mode); err != nil {
		e.t.Fatal(err)
	}
	e.pool.Reset()
	pgtest.Eventually(e.t, patience, "the server answers", func() bool { return e.pool.Ping(e.t.Context()) == nil })
}

// waitDone waits until n jobs have succeeded.
func (e *env) waitDone(n int) {
	e.t.Helper()
	e.eventually(fmt.Sprintf("%d jobs are done", n), "select count(*) >= $1 from bellhop.jobqueue where state = 'succeeded'", n)
}

// pickUp is how long a job waited from its INSERT to its start.
func (e *env) pickUp(id int64) time.Duration {
	e.t.Helper()
	return time.Duration(value[float64](e, "select extract(epoch from started_at - created_at)::float8 from bellhop.jobqueue where id = $1", id) * float64(time.Second))
}

// submitted inserts one job, waits for its end and checks how soon it began.
func (e *env) submitted(within time.Duration, when string) {
	e.t.Helper()
	id := e.insert("type, args", "work", "1ms")
	e.waitState(id, "succeeded")
	if took := e.pickUp(id); took > within {
		e.t.Errorf("%s: a job was picked up after %v", when, took)
	}
}

// soon is what is promised to happen within a second; the rest is for a busy
// machine.
const soon = 2 * time.Second

// TestDatabase_RestartedUnderLoad: what runs is not disturbed, nothing is
// counted against a job, and nothing runs twice.
func TestDatabase_RestartedUnderLoad(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"fast", "immediate"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c, e := setupOwn(t)
			j := newJournal(t)
			e.serve(calm(4) + agents(j.agent("work", "warm"), j.agent("slow", "exec")))
			e.insertMany(400, "20ms")
			e.sql("insert into bellhop.jobqueue (type, args) select 'slow', '400ms' from generate_series(1, 8)")
			for n := range 3 {
				e.waitDone(60 * (n + 1))
				e.restart(c, mode)
			}
			e.waitAll("succeeded 408")
			j.check(1)
			j.proves(e)
			j.once()
		})
	}
}

// TestDatabase_AwayForLongerThanTheLag: the instance ends what it runs, since
// it may be taken for dead, and goes on when the database is back.
func TestDatabase_AwayForLongerThanTheLag(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	j := newJournal(t)
	i := e.serve(quick(4) + agents(j.agent("work", "exec")))
	e.insertMany(4, "hold")
	j.waitRunning(e, i, 4)
	before := j.alive()
	c.Kill()
	i.waitSaid("lease lost")
	pgtest.Eventually(t, patience, "the agents are dead", func() bool { return len(livingAmong(before)) == 0 })
	e.restart(c, "fast")
	j.waitRunning(e, i, 4)
	j.letGo()
	e.waitAll("succeeded 4")
	j.check(1)
	j.proves(e)
}

// TestDatabase_CrashUnclaimsWhatRuns: claims are committed asynchronously, so
// a crash of the database can forget one while its agent is at work. Nobody
// begins the job a second time; its own instance takes it again.
func TestDatabase_CrashUnclaimsWhatRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		slots int
		while string // what happens between the crash and the next connection
	}{
		"with room for more": {4, ""},
		"with no room":       {2, ""},
		"and the agents end": {2, "end"},
		"beside another":     {2, "another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, e := setupOwn(t)
			j := newJournal(t)
			line, url := through(t, e.url)
			// No heartbeat for long after the first, children that are up, and nothing that is told of them in the
			// meantime: any other commit would take the claims to the disk with it. So would the server, with a page
			// that it writes in the background.
			for _, s := range []string{"alter system set bgwriter_lru_maxpages = 0", "alter system set autovacuum = off",
				"select pg_reload_conf()"} {
				e.sql(s)
			}
			i := e.serve(fmt.Sprintf("database: {url: %q}\ninstance: {heartbeat: 10m, lag: 30m}\nhosts:\n  - {name: local, slots: %d}\n", url, test.slots) +
				agents(j.agent("work", "exec")))
			e.insertMany(2, "300ms")
			e.waitAll("succeeded 2")
			var other *instance
			if test.while == "another" { // that has room, and is not there when the jobs come
				other = e.serve(
					fmt.Sprintf("instance: {heartbeat: 10m, lag: 30m}\nhosts:\n  - {name: local, slots: %d}\n", test.slots) +
						agents(j.agent("work", "exec")))
				e.eventually("it has nothing to write any more", "select count(*) = 2 from bellhop.asserted")
				pgtest.Freeze(t, other.cmd.Process.Pid)
			}
			unclaimed := func() string {
				return value[string](e, "select string_agg(concat_ws(' ', state, fence, attempt, instance), ', ') from bellhop.jobqueue where args = 'hold'")
			}
			writer := value[int](e, "select pid from pg_stat_activity where backend_type = 'walwriter'")
			pgtest.Freeze(t, writer)
			go wakeToQuit(t.Context(), writer)
			line.Set(wire.Fault{Only: "bellhop upkeep", Silent: true})
			e.insertMany(2, "hold")
			pgtest.Eventually(t, patience, "the agents are at work", func() bool { return len(j.alive()) == 2 })
			before := j.alive()
			line.Set(wire.Fault{Cut: func([]byte) bool { return true }}) // nobody gets back in before we have looked
			e.restart(c, "immediate")
			if got := unclaimed(); got != "ready 0 0, ready 0 0" {
				t.Fatalf("the crash was to undo the claims; the jobs are %s", got)
			}
			if test.while == "end" {
				j.letGo()
				pgtest.Eventually(t, patience, "the agents have ended", func() bool { return len(livingAmong(before)) == 0 })
			}
			if other != nil {
				other.signal(syscall.SIGCONT)
				other.waitSaid("nothing is claimed before every instance has said what it runs")
				if now := j.alive(); len(now) != 2 {
					t.Errorf("%d agents are at work", len(now))
				}
			}
			line.Set(wire.Fault{})
			i.waitSaid("the database had lost claims; they are taken again")
			if test.while != "end" {
				e.eventually("it holds them again", "select count(*) = 2 from bellhop.jobqueue where args = 'hold' and state = 'running' and fence = 1 and attempt = 1 and instance = $1", i.id)
				e.ok("kick")
				e.sql("insert into bellhop.jobqueue (type, args) values ('work', '1ms')")
				// Everything has looked at the queue and at what is held since.
				begins := test.slots / 4 // where there is room for it
				if other != nil {
					begins = 1
				}
				e.eventually("it works on", "select (select count(*) from bellhop.jobqueue where args = '1ms' and state <> 'ready') = $1", begins)
				if now := j.alive(); len(livingAmong(before)) != 2 {
					t.Errorf("the agents at work are %v, were %v", now, before)
				}
				j.letGo()
			}
			pgtest.Eventually(t, patience, "all are done", func() bool {
				return value[int](e, "select count(*) from bellhop.jobqueue where state <> 'succeeded'") == 0
			})
			j.check(1)
			j.proves(e)
			j.once()
		})
	}
}

// wakeToQuit lets a stopped process of the server go on as soon as it has been
// told to quit: it does that first, and writes nothing any more.
func wakeToQuit(ctx context.Context, pid int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(status)) {
			name, mask, _ := strings.Cut(line, ":")
			pending, _ := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			if (name == "SigPnd" || name == "ShdPnd") && pending&(1<<(syscall.SIGQUIT-1)) != 0 {
				_ = syscall.Kill(pid, syscall.SIGCONT) // or it is gone already
				return
			}
		}
		<-tick.C
	}
}

// TestDatabase_ConnectionsKilledUnderLoad: every connection of the scheduler,
// again and again.
func TestDatabase_ConnectionsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve(calm(4) + agents(j.agent("work", "warm")))
	e.insertMany(400, "15ms")
	killed := 0
	for n := range 8 {
		e.waitDone(40 * n)
		killed += value[int](e, `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where datname = current_database() and application_name like 'bellhop %'`)
	}
	if killed < 16 {
		t.Errorf("only %d connections were killed", killed)
	}
	e.waitAll("succeeded 400")
	j.check(1)
	j.proves(e)
	j.once()
	if strings.Contains(i.said(), "stale owner") {
		t.Error("its own jobs were taken for somebody else's")
	}
}

// TestDatabase_ListenerKilled: the bell is heard again at once, and what rang
// in between is found.
func TestDatabase_ListenerKilled(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	e.serve(calm(1) + agents(j.agent("work", "warm")))
	e.submitted(patience, "warming up")
	const bell = "from pg_stat_activity where datname = current_database() and application_name = 'bellhop bell'"
	// a pick-up may take long on a busy machine; a listener that is gone for good would make most of them wait for the
	// scan
	late := 0
	prompt := func(what string) {
		id := e.insert("type, args", "work", "1ms")
		if e.waitState(id, "succeeded"); e.pickUp(id) > soon {
			t.Logf("%s: a job was picked up after %v", what, e.pickUp(id))
			late++
		}
	}
	for range 4 {
		e.eventually("it listens", "select exists (select 1 "+bell+" and query ilike 'listen%')")
		before := value[int](e, "select pid "+bell)
		e.sql("select pg_terminate_backend($1)", before)
		prompt("while nobody listens")
		e.eventually("it listens again", "select exists (select 1 "+bell+" and pid <> $1 and query ilike 'listen%')", before)
		prompt("after it listens again")
	}
	if late > 2 {
		t.Errorf("%d of 8 jobs were not picked up within %v", late, soon)
	}
}

// TestDatabase_ListenerSilentlyCut: a line that swallows everything is found
// out, and until then the safety scan finds the work.
func TestDatabase_ListenerSilentlyCut(t *testing.T) {
	t.Parallel()
	t.Run("is found out", func(t *testing.T) {
		t.Parallel()
		e, j := setup(t), newJournal(t)
		line, url := through(t, e.url)
		i := e.serve(fmt.Sprintf("database: {url: %q, listen_url: %q}\n", e.url, url) + calm(1) + agents(j.agent("work", "warm")))
		e.submitted(patience, "warming up")
		line.Deafen("")
		i.waitSaid("deaf for too long")
		// two ends
		pgtest.Eventually(t, patience, "it listens anew", func() bool { return line.Hearing("bellhop bell") == 2 })
		late := 0 // one that listens no more would leave most to the scan
		for range 8 {
			id := e.insert("type, args", "work", "1ms")
			if e.waitState(id, "succeeded"); e.pickUp(id) > soon {
				late++
			}
		}
		if late > 2 {
			t.Errorf("%d of 8 jobs were not picked up within %v after the line was found out", late, soon)
		}
	})
	t.Run("is bridged by the safety scan", func(t *testing.T) {
		t.Parallel()
		e, j := setup(t), newJournal(t)
		line, url := through(t, e.url)
		i := e.serve(fmt.Sprintf("database: {url: %q, listen_url: %q}\ninstance: {heartbeat: 10s, lag: 30s}\n", e.url,
			url) + agents(j.agent("work", "warm")))
		e.submitted(patience, "warming up")
		line.Deafen("")
		e.submitted(patience, "while it is deaf")
		if strings.Contains(i.said(), "deaf for too long") {
			t.Error("it was found out before the safety scan was needed: this test shows nothing")
		}
	})
}

// TestDatabase_AnswerToCommitLost: whether an outcome is recorded is not
// known, and it is recorded once all the same.
func TestDatabase_AnswerToCommitLost(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func([]byte) bool{
		// Updated, and ready for the next query: it is committed.
		"after the commit": func(answer []byte) bool {
			return (bytes.Contains(answer, []byte("UPDATE ")) || bytes.Contains(answer, []byte("SELECT "))) &&
				bytes.HasSuffix(answer, []byte("Z\x00\x00\x00\x05I")) && rand.IntN(3) == 0
		},
		"anywhere": wire.AfterBytes(func() int { return 700 + rand.IntN(1000)<<rand.IntN(4) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, j := setup(t), newJournal(t)
			line, url := through(t, e.url)
			i := e.serve(fmt.Sprintf("database: {url: %q}\n", url) + calm(4) + agents(j.agent("work", "warm")))
			line.Set(wire.Fault{Only: "bellhop recorder", Cut: cut})
			good, bad := 0, 0
			for good == 0 || line.AnswersCut() == 0 { // few large batches may get through whole
				e.insertMany(200, "5ms")
				e.sql("insert into bellhop.jobqueue (type, args, max_attempts) select 'work', '5ms fail', 2 from generate_series(1, 20)")
				good, bad = good+200, bad+20
				e.waitAll(fmt.Sprintf("succeeded %d, failed %d", good, bad))
				if good == 2000 {
					t.Fatal("no answer was cut")
				}
			}
			j.check(2)
			j.proves(e)
			if n := value[int](e, `select count(*) from bellhop.jobqueue q
				where (select count(*) from bellhop.attempt a where a.job = q.id) <> case q.state when 'failed' then 2 else 1 end`); n > 0 {
				t.Errorf("%d jobs have too many or too few attempts on record", n)
			}
			if n := len(j.starts()); n != good+bad {
				t.Errorf("%d jobs were begun, want %d", n, good+bad)
			}
			if n, want := len(j.entries()), 2*good+2*bad; n != want { // two tries of each that fails, and no end
				t.Errorf("the agents began and finished %d times, want %d", n, want)
			}
			if strings.Contains(i.said(), "stale owner") {
				t.Error("its own jobs were taken for somebody else's")
			}
		})
	}
}

// TestDatabase_TooNewForServe: an old binary leaves a newer schema alone.
func TestDatabase_TooNewForServe(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("insert into bellhop.schema_version (version, name) values (9999, 'from the future')")
	i := e.start(e.configuration(agents("type: work, command: [sleep]")))
	if code := i.exit(); code != 78 {
		t.Errorf("exit code %d, want 78", code)
	}
	has(t, i.said(), "newer", "9999")
}

// TestUpgrade_ARunningInstanceGoesOnBesideANewerSchema: a rolling upgrade
// migrates first. What runs goes on, and what is started later is the newer one.
func TestUpgrade_ARunningInstanceGoesOnBesideANewerSchema(t *testing.T) {
	t.Parallel()
	e := setup(t)
	old := e.serve(agents("type: a, mode: exec, command: [/bin/true]"))
	// As migrations are: they add, and take away only what no older binary uses.
	e.sql("alter table bellhop.jobqueue add column of_the_future text")
	e.sql("insert into bellhop.schema_version (version, name) values (9999, 'of the future')")
	for range 3 {
		e.waitState(e.insert("type", "a"), "succeeded")
	}
	again := e.start(e.configuration(agents("type: a, mode: exec, command: [/bin/true]")))
	if code := again.exit(); code != 78 {
		t.Errorf("an older binary that is started: exit code %d\n%s", code, again.said())
	}
	e.waitState(e.insert("type", "a"), "succeeded")
	old.stop()

	// Where the schema says that binaries of this one's version may be started on it, it is the way back.
	e.sql("update bellhop.schema_version set works_from = (select max(version) from bellhop.schema_version where version < 9999) where version = 9999")
	back := e.serve(agents("type: a, mode: exec, command: [/bin/true]"))
	e.waitState(e.insert("type", "a"), "succeeded")
	has(t, e.ok("migrate"), "nothing to do", "9999", "works with it")
	back.stop()
}
