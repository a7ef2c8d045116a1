package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

var (
	nemesisSeed     = flag.Uint64("seed", 0, "what TestChaos_Nemesis does; 0: something else each time")
	nemesisDuration = flag.Duration("nemesis-duration", 10*time.Second, "how long TestChaos_Nemesis goes on")
)

// pythonAgent takes 10 ms a job and keeps a journal.
const pythonAgent = `
import fcntl, json, os, sys, time

folder = os.environ["FOLDER"]
book = os.open(folder + "/book", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
locks = os.open(folder + "/locks", os.O_CREAT | os.O_RDWR, 0o644)
stat = open("/proc/self/stat").read()
me = "%d %s" % (os.getpid(), stat[stat.rindex(")") + 1:].split()[19])

def note(what, job):
    entry = (what, job["id"], job["fence"], job["attempt"], me, time.time() * 1000)
    os.write(book, ("%s %d %d %d %s %d\n" % entry).encode())

print('{"bellhop":1}', flush=True)
for line in sys.stdin:
    job = json.loads(line)
    try:
        fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, job["id"])
        note("start", job)
    except OSError:
        note("overlap", job)
    time.sleep(0.010)
    note("end", job)
    fcntl.lockf(locks, fcntl.LOCK_UN, 1, job["id"])
    print('{"ok":true}', flush=True)
`

// python is an agent that runs pythonAgent, or one that does the same where
// there is no python3.
func (j *journal) python(e *env) string {
	if _, err := exec.LookPath("python3"); err != nil {
		j.t.Log("no python3: the agents are Go programs")
		return j.agent("work", "warm")
	}
	return fmt.Sprintf("type: work, command: [python3, %q], env: {FOLDER: %q}", e.file("agent.py", pythonAgent, 0o644),
		j.dir)
}

// TestChaos_KilledAgainAndAgain: 5,000 jobs, the scheduler killed five times
// and the database crashed once on the way.
func TestChaos_KilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	const jobs, kills = 5000, 5
	c, e := setupOwn(t)
	j := newJournal(t)
	yaml := calm(8) + agents(j.python(e))
	e.insertMany(jobs, "10ms")
	i := e.serve(yaml)
	for n := range kills {
		e.waitDone(jobs * (2*n + 1) / (2*kills + 2))
		j.killAndTime(i)
		i = e.serve(yaml)
		if n == kills/2 {
			e.waitDone(jobs * (2*n + 2) / (2*kills + 2))
			e.restart(c, "immediate")
		}
	}
	e.waitAll(fmt.Sprintf("succeeded %d", jobs))
	j.check(1)
	j.proves(e)
	t.Logf("%d jobs were begun %d times", jobs, len(j.starts())+again(j.starts()))
}

// again counts what was begun more than once.
func again(starts map[int64]int) (n int) {
	for _, times := range starts {
		n += times - 1
	}
	return n
}

// TestChaos_Nemesis does random harm to three instances under load. Its seed
// is told; the same one does the same harm, though not at the same moments.
func TestChaos_Nemesis(t *testing.T) {
	t.Parallel()
	seed := *nemesisSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./e2e -run Nemesis -seed %d -nemesis-duration %s", seed, *nemesisDuration)
	e, j := setup(t), newJournal(t)
	line, url := through(t, e.url)
	n := &nemesis{b: e, j: j, line: line, luck: rand.New(rand.NewPCG(seed, 0)), done: map[string]int{}}
	// One of them behind a line that can be cut. Deaths by the nemesis are
	// nobody's fault, so no type is ever barred.
	limits := "limits: {kill_after: 1s, min_ready: 100ms, window: 3s, deaths: 0}\n"
	for _, database := range []string{url, e.url, e.url} {
		n.victims = append(n.victims, &victim{yaml: fmt.Sprintf("database: {url: %q}\ninstance: {heartbeat: 200ms, lag: 1s}\nhosts:\n  - {name: local, slots: 3}\n", database) + limits +
			agents(j.agent("work", "warm"), j.agent("slow", "exec"))})
	}
	for _, v := range n.victims {
		v.instance = e.serve(v.yaml)
	}
	for end := time.Now().Add(*nemesisDuration); time.Now().Before(end); {
		n.load()
		n.harm()
		time.Sleep(time.Duration(20+n.luck.IntN(150)) * time.Millisecond) // the pace of the harm, no event to wait for
	}
	n.heal()
	pgtest.Eventually(t, patience, "every job is over", func() bool {
		return value[int](e, "select count(*) from bellhop.jobqueue where state not in ('succeeded', 'quarantined')") == 0
	})
	j.check(nemesisAttempts)
	j.proves(e)
	if q := value[int](e, "select count(*) from bellhop.jobqueue where state = 'quarantined'"); q > n.agentsKilled/3 {
		t.Errorf("%d jobs are quarantined, though only %d agents were killed", q, n.agentsKilled)
	}
	if bad := column[int64](e, `select q.id from bellhop.jobqueue q where state = 'succeeded'
		and (select count(*) from bellhop.attempt a where a.job = q.id and a.exit_code = 0) <> 1`); len(bad) > 0 {
		t.Errorf("jobs %v do not have exactly one attempt that succeeded", bad)
	}
	if t.Failed() {
		t.Logf("what was done:\n%s", strings.Join(n.story, "\n"))
	}
	t.Logf("%d jobs, begun again %d times; %v", len(j.starts()), again(j.starts()), n.done)
}

// nemesisAttempts is more than a job can lose to agents that are killed.
const nemesisAttempts = 20

type nemesis struct {
	b            *env
	j            *journal
	line         *wire.Proxy
	luck         *rand.Rand
	victims      []*victim
	healLine     time.Time // when the line behind the first is to heal; zero: it is well
	agentsKilled int
	done         map[string]int
	story        []string
}

// did keeps what was done to whom, for when it goes wrong.
func (n *nemesis) did(act string, v *victim, span time.Duration) {
	n.done[act]++
	n.story = append(n.story,
		fmt.Sprintf("%s %s %s %v", time.Now().UTC().Format("15:04:05.000"), act, filepath.Base(v.instance.dir), span))
}

type victim struct {
	yaml     string
	instance *instance
	resume   time.Time // when it is to go on; zero: it is not stopped
}

// load keeps the victims busy.
func (n *nemesis) load() {
	n.b.t.Helper()
	n.b.sql(`insert into bellhop.jobqueue (type, args, max_attempts)
		select case when i % 5 = 0 then 'slow' else 'work' end, (5 + i * 7 % 60) || 'ms', $1
		from generate_series(1, greatest(0, 40 - (select count(*)::int from bellhop.jobqueue where state = 'ready'))) i`, nemesisAttempts)
}

// harm does one thing, and ends what has gone on for long enough.
func (n *nemesis) harm() {
	n.b.t.Helper()
	now := time.Now()
	for _, v := range n.victims {
		if !v.resume.IsZero() && now.After(v.resume) {
			n.goOn(v)
		}
	}
	if !n.healLine.IsZero() && now.After(n.healLine) {
		n.mend()
	}
	v := n.victims[n.luck.IntN(len(n.victims))]
	serves := n.serves(v)
	// From well below to well above the lag of a second.
	span := time.Duration(200+n.luck.IntN(2300)) * time.Millisecond
	act := n.luck.IntN(20)
	switch {
	case act < 4:
		n.did("kill -9", v, span)
		n.goOn(v)
		n.j.killAndTime(v.instance)
		n.start(v)
	case act < 8 && v.resume.IsZero() && serves:
		n.did("stop", v, span)
		pgtest.Freeze(n.b.t, v.instance.cmd.Process.Pid)
		v.resume = now.Add(span)
	case act < 11:
		n.did("terminate connections", v, span)
		n.b.sql(`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'bellhop %'`)
	case act < 15:
		for pid := range n.j.alive() { // any
			n.did("kill an agent", v, span)
			n.agentsKilled++
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			break
		}
	case act < 17 && v.resume.IsZero() && serves && (v != n.victims[0] || n.healLine.IsZero()):
		n.did("SIGTERM", v, span)
		v.instance.stop()
		n.start(v)
	case act < 20 && n.healLine.IsZero():
		n.did("cut the line", v, span)
		n.line.Set(wire.Fault{Silent: true})
		n.healLine = now.Add(span)
	}
}

// start brings a victim up again, without waiting for it: its line may be cut.
func (n *nemesis) start(v *victim) {
	n.b.t.Helper()
	if v == n.victims[0] && !n.healLine.IsZero() {
		n.mend() // one that cannot reach its database does not start
	}
	v.instance = n.b.start(n.b.configuration(v.yaml))
}

// serves reports whether a victim is up. One that has lost its connection
// while it came up has ended with that error, and is started again.
func (n *nemesis) serves(v *victim) bool {
	n.b.t.Helper()
	up := strings.Contains(v.instance.said(), "bellhop serves")
	select {
	case <-v.instance.exited:
		if up {
			n.b.t.Errorf("%s ended by itself", filepath.Base(v.instance.dir))
		}
		n.did("start again", v, 0)
		n.start(v)
		return false
	default:
		return up
	}
}

func (n *nemesis) goOn(v *victim) {
	_ = v.instance.cmd.Process.Signal(syscall.SIGCONT) // harmless where it runs
	v.resume = time.Time{}
}

func (n *nemesis) mend() {
	n.line.Set(wire.Fault{})
	n.line.Reset("") // what was swallowed is lost: a line that heals is a new one
	n.healLine = time.Time{}
}

func (n *nemesis) heal() {
	for _, v := range n.victims {
		n.goOn(v)
	}
	n.mend()
	for _, v := range n.victims {
		pgtest.Eventually(n.b.t, patience, "it is up again", func() bool { return n.serves(v) })
	}
}
