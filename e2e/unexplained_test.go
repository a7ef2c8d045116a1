package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

var faultsDuration = flag.Duration("faults-duration", 45*time.Second,
	"how long TestExplain_FaultsLeaveNoJobWithoutACause goes on; -seed says what it does")

// TestExplain_FaultsLeaveNoJobWithoutACause: whatever is killed, stopped, locked or paused, an
// instance never says that a job waits for no cause that is known; and in the end every job is over.
func TestExplain_FaultsLeaveNoJobWithoutACause(t *testing.T) {
	t.Parallel()
	seed := *nemesisSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./e2e -run WithoutACause -seed %d -faults-duration %s", seed, *faultsDuration)
	c, e := setupOwn(t)
	f := &faults{env: e, cluster: c, j: newJournal(t), luck: rand.New(rand.NewPCG(seed, 0)), done: map[string]int{}}
	for n := range 2 {
		v := &victim{yaml: fmt.Sprintf("instance: {heartbeat: 500ms, lag: 3s}\nhosts:\n  - {name: local, slots: 4}\n"+
			"  - {name: far%d, slots: 2, connect: [%q]}\n", n, e.script(fmt.Sprint("to", n), fmt.Sprintf("[ ! -e $DIR/away%d ] || exit 1\nexec \"$@\"\n", n))) +
			"limits: {kill_after: 1s, min_ready: 1s, window: 3s, deaths: 4}\n" + agents(f.agents()...)}
		v.instance = e.serve(v.yaml)
		f.victims = append(f.victims, v)
	}
	for end := time.Now().Add(*faultsDuration); time.Now().Before(end); {
		f.load()
		f.harm()
		time.Sleep(time.Duration(100+f.luck.IntN(1500)) * time.Millisecond) // the pace of the harm, no event to wait for
	}
	f.heal()
	pgtest.Eventually(t, 2*patience, "every job is over", func() bool {
		return value[int](e, "select count(*) from bellhop.jobqueue where state not in ('succeeded', 'failed', 'quarantined', 'cancelled')") == 0
	})
	for _, v := range f.victims {
		f.judge(v.instance)
	}
	t.Logf("%d jobs; %v", value[int](e, "select count(*) from bellhop.jobqueue"), f.done)
	if t.Failed() {
		t.Logf("what was done:\n%s", strings.Join(f.story, "\n"))
	}
}

// faults are what the test does to two instances and their server.
type faults struct {
	*env
	cluster *pgdev.Cluster
	j       *journal
	luck    *rand.Rand
	victims []*victim
	done    map[string]int
	story   []string
	open    []chan struct{} // transactions, until they are to end
	holding sync.WaitGroup
}

const faultTypes = 12 // more than slots

// agents: one that stays up, many that compete for slots, one of which there is one at a time, one that must be alone.
func (f *faults) agents() []string {
	list := []string{
		"type: items, command: [" + f.worker("items", "sleep 0.01") + "]",
		f.j.agent("work", "warm"),
		f.j.agent("once", "exec") + ", max: 1",
	}
	for n := range faultTypes {
		list = append(list, f.j.agent(fmt.Sprint("t", n), []string{"warm", "exec"}[n%2]))
	}
	return list
}

// load keeps the queue filled, not so far that no slot is ever free.
func (f *faults) load() {
	f.t.Helper()
	f.try(fmt.Sprintf(`insert into bellhop.jobqueue (type, args, max_attempts, priority, run_on)
		select case when i %% 7 = 0 then 'once' when i %% 3 = 0 then 'work' else 't' || (i * 31 + %d) %% %d end, (2 + i * 37 %% 250) || 'ms', 20, i %% 3,
		       case when i %% 11 = 0 then 'far' || i %% 2 end
		from generate_series(1, greatest(0, 30 - (select count(*)::int from bellhop.jobqueue where state = 'ready'))) i`, f.luck.IntN(100), faultTypes))
	if f.luck.IntN(4) == 0 {
		f.try("insert into bellhop.jobqueue (type, msq, max_attempts) values ('items', 'select ''5ms'' as line from generate_series(1, 20)', 20)")
	}
	if f.luck.IntN(4) == 0 {
		f.try("insert into bellhop.jobqueue (type, args, locks, max_attempts) select 'work', '20ms', '{node:a=exclusive}', 20 from generate_series(1, 3)")
	}
}

// try runs a statement that the faults may meet.
func (f *faults) try(text string) { _, _ = f.pool.Exec(f.t.Context(), text) }

func (f *faults) did(act string) {
	f.done[act]++
	f.story = append(f.story, time.Now().UTC().Format("15:04:05.000 ")+act)
}

// judge fails the test where an instance says that it knows no cause.
func (f *faults) judge(i *instance) {
	f.t.Helper()
	for line := range strings.Lines(i.said()) {
		if strings.Contains(line, "no cause is known") {
			f.t.Errorf("%s: %s", filepath.Base(i.dir), line)
		}
	}
}

// harm does one thing.
func (f *faults) harm() {
	f.t.Helper()
	now := time.Now()
	for _, v := range f.victims {
		if !v.resume.IsZero() && now.After(v.resume) {
			f.goOn(v)
		}
	}
	n := f.luck.IntN(len(f.victims))
	v := f.victims[n]
	span := time.Duration(500+f.luck.IntN(6000)) * time.Millisecond
	switch f.luck.IntN(13) {
	case 0:
		f.did("kill -9 of an instance")
		f.goOn(v)
		f.judge(v.instance)
		v.instance.kill()
		v.instance.gone()
		v.instance = f.start(f.configuration(v.yaml))
	case 1:
		if v.resume.IsZero() {
			f.did("an instance stands still")
			pgtest.Freeze(f.t, v.instance.cmd.Process.Pid)
			v.resume = now.Add(span)
		}
	case 2:
		f.did("connections are ended")
		f.try("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'bellhop %'")
	case 3:
		f.did("agents are killed")
		f.kill(v.instance.processes())
	case 4:
		f.did("guards are killed")
		f.kill(v.instance.started())
	case 5:
		f.did("the database is restarted")
		f.endTransactions()
		f.restart(f.cluster, []string{"fast", "immediate"}[f.luck.IntN(2)])
	case 6:
		f.did("the database crashes")
		f.endTransactions()
		f.cluster.Kill()
		f.restart(f.cluster, "fast")
	case 7:
		f.did("rows of the queue are locked")
		f.hold("select from bellhop.jobqueue where state = 'ready' order by random() limit 15 for update skip locked", span)
	case 8:
		f.did("rows of instances are locked")
		f.hold("select from bellhop.instance for update", span)
	case 9:
		f.did("the table is locked")
		f.hold("lock table bellhop.jobqueue in share row exclusive mode", min(span, 3*time.Second))
	case 10:
		f.did("a type is paused, another goes on")
		f.try(fmt.Sprintf("select bellhop.pause('t%d')", f.luck.IntN(faultTypes)))
		f.try("select bellhop.resume((select type from bellhop.paused order by random() limit 1))")
	case 11:
		away := filepath.Join(f.dir, fmt.Sprint("away", n))
		f.did("a host goes away or comes back")
		if f.luck.IntN(2) == 0 {
			f.file(filepath.Base(away), "", 0o644)
			f.kill(v.instance.started())
		} else {
			f.back(n)
		}
	case 12:
		f.did("a connection is cut")
		f.try("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'bellhop %' order by random() limit 1")
	}
}
