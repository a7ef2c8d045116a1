package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

// TestFailover_ANewJobIsNotDoneByAnOldRun: a standby that is promoted has not received the primary's newest end, and
// gives the same ids again. The jobs that get them run, whatever the instance still holds under those ids.
func TestFailover_ANewJobIsNotDoneByAnOldRun(t *testing.T) {
	t.Parallel()
	primary := pgtest.Cluster(t)
	standby := pgtest.Standby(t, primary)
	e := on(t, pgtest.Hosts(t, "target_session_attrs=read-write", primary, standby))
	e.ok("migrate")
	work := e.script("work", `echo "$BELLHOP_JOB_ID $1" >>$DIR/ran
case $1 in old*) while [ ! -e $DIR/go ]; do sleep 0.05; done;; esac
`)
	i := e.serve("instance: {lag: 2m}\nhosts: [{name: local, slots: 6}]\n" +
		agents("type: w, mode: exec, max: 6, command: ["+work+"]"))
	e.waitState(e.insert("type, args", "w", "first"), "succeeded")
	pgtest.CaughtUp(t, primary, standby)
	pgtest.StopReceiving(t, standby)

	// A standby has up to 32 ids of a sequence in advance: more than those have to be lost.
	e.sql("insert into bellhop.jobqueue (type, args) select 'w', 'short' from generate_series(1, 60)")
	e.waitDone(61)
	old := column[int64](e, "insert into bellhop.jobqueue (type, args) select 'w', 'old' || i from generate_series(1, 4) i returning id")
	e.eventually("the old ones run", "select count(*) = 4 from bellhop.jobqueue where state = 'running'")

	// The new jobs are there before the instance finds the new server.
	i.signal(syscall.SIGSTOP)
	primary.Kill()
	pgtest.Promote(t, standby)
	e.pool.Reset()
	fresh := column[int64](e, "insert into bellhop.jobqueue (type, args) select 'w', 'new' || i from generate_series(1, 100) i returning id")
	if !slices.ContainsFunc(old, func(id int64) bool { return slices.Contains(fresh, id) }) {
		t.Fatalf("none of %d was given again: %d", old, fresh)
	}
	if err := os.WriteFile(filepath.Join(e.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	i.signal(syscall.SIGCONT)
	e.waitAll("succeeded 101")
	ran := e.lines("ran")
	for n, id := range fresh {
		if line := fmt.Sprintf("%d new%d", id, n+1); !slices.Contains(ran, line) {
			t.Errorf("job %d is recorded as done, and has not run", id)
		}
	}
	if n := value[int](e, "select count(*) from bellhop.jobqueue where args like 'new%' and fence < 1000000"); n > 0 {
		t.Errorf("%d jobs of the new server have fences that the old one can have given", n)
	}
	// What was lost is told until somebody has read it.
	i.waitSaid("it has lost what the one before it had confirmed")
	has(t, e.run("doctor").stdout, "have no row any more")
	if n := value[int](e, "select count(*) from bellhop.loss where gone >= 60"); n != 1 { // the short ones at least
		t.Errorf("told: %q", column[string](e, "select l::text from bellhop.loss l"))
	}
	e.sql("select bellhop.loss_seen()")
	if out := e.run("doctor").stdout; strings.Contains(out, "have no row any more") {
		t.Errorf("told after it was read:\n%s", out)
	}
	if t.Failed() {
		t.Log(strings.Join(ran, "\n"))
	}
}
