package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
)

// family is an agent whose first run never ends and has a child, and a grandchild
// that has left its session and its parents. It notes their pids in "family",
// itself first; a run that finds one of those before it alive notes it in
// "beside". A run with "for ever" never ends.
func (e *env) family(mode string) (yaml string) {
	work := `for pid in $(cat $DIR/family 2>/dev/null); do
	grep -qs . /proc/$pid/cmdline && echo $pid >> $DIR/beside
done
[ -s $DIR/family ] && [ "$line" != "for ever" ] || {
	sleep 1000 & child=$!
	(setsid bash -c 'echo $$ > '$DIR'/stranger.'$$'; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
	until [ -s $DIR/stranger.$$ ]; do sleep 0.01; done
	echo "$$ $child $(cat $DIR/stranger.$$)" >> $DIR/family
	sleep 1000
}`
	if mode == "exec" {
		return agents("type: a, mode: exec, command: [" + e.script("agent", "line=$1\n"+work) + "]")
	}
	return agents("type: a, command: [" + e.worker("agent", work) + "]")
}

// relatives waits for the n-th family, and gives its guard and its members.
func (e *env) relatives(n int) (warden int, pids []int) {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, fmt.Sprintf("family %d is there", n),
		func() bool { return len(e.lines("family")) >= n })
	for _, text := range strings.Fields(e.lines("family")[n-1]) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			e.t.Fatal(err)
		}
		e.t.Cleanup(func() { // should the test fail
			if strings.Contains(ofProcess(pid, "environ"), guard.MarkName+"=") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		pids = append(pids, pid)
	}
	agent, ok := guard.ReadStat(pids[0])
	if !ok || len(livingOf(pids)) != 3 {
		e.t.Fatalf("of the family %v live %v", pids, livingOf(pids))
	}
	return agent.Parent, pids
}

// ofProcess reads a file of a process; empty: it is gone.
func ofProcess(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return string(text)
}

func livingOf(pids []int) (living []int) {
	for _, pid := range pids {
		if s, ok := guard.ReadStat(pid); ok && !s.Dead() {
			living = append(living, pid)
		}
	}
	return living
}

// innocent checks that a job ended well at its first attempt, that no death was
// counted, and that no run found one before it alive.
func (e *env) innocent(id int64) {
	e.t.Helper()
	if j := e.waitState(id, "succeeded"); j.Attempt != 1 {
		e.t.Errorf("the job is %+v", j)
	}
	if n := value[int](e, "select deaths from bellhop.jobqueue where id = $1", id); n != 0 {
		e.t.Errorf("%d deaths are counted for the job", n)
	}
	if n := value[int](e, "select count(*) from bellhop.agent where deaths <> '{}' or trouble <> '{}'"); n != 0 {
		e.t.Error("a death is counted for its type")
	}
	if beside := e.lines("beside"); len(beside) > 0 {
		e.t.Errorf("it ran beside %v of the run before", beside)
	}
}

func murder(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestGuard_ThatDiesIsNoFaultOfTheJob: it runs again, when nothing is left of it.
func TestGuard_ThatDiesIsNoFaultOfTheJob(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"warm", "exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			i := e.serve(e.family(mode))
			id := e.insert("type, args, max_attempts", "a", "once", 1)
			warden, pids := e.relatives(1)
			murder(t, warden)
			e.innocent(id)
			if left := livingOf(pids); len(left) > 0 {
				t.Errorf("%v live", left)
			}
			has(t, i.said(), "the guard of a child died")
		})
	}
}

// TestGuard_KilledTogetherWithTheScheduler: the next one ends what nobody guards.
func TestGuard_KilledTogetherWithTheScheduler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"warm", "exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			yaml := e.family(mode)
			i := e.serve(yaml)
			id := e.insert("type, args, max_attempts", "a", "once", 1)
			warden, pids := e.relatives(1)
			i.killWith(warden)
			t.Logf("without a guard %v of %v live", livingOf(pids), pids) // unless a test beside this one has ended them
			e.serve(yaml)
			e.innocent(id)
			if left := livingOf(pids); len(left) > 0 {
				t.Errorf("%v live", left)
			}
		})
	}
}

// killWith kills an instance and a guard of its, which does nothing meanwhile.
func (i *instance) killWith(warden int) {
	i.b.t.Helper()
	pgtest.Freeze(i.b.t, warden)
	i.kill()
	murder(i.b.t, warden)
}

// TestGuard_CancelOfAJobWhoseGuardDied ends it, whether its scheduler lives or not.
func TestGuard_CancelOfAJobWhoseGuardDied(t *testing.T) {
	t.Parallel()
	e := setup(t)
	yaml := e.family("warm")
	i := e.serve(yaml)
	id := e.insert("type, args", "a", "for ever")
	warden, first := e.relatives(1)
	murder(t, warden)
	_, second := e.relatives(2)
	e.cancel(id, "--now")
	e.waitState(id, "cancelled")
	if left := livingOf(append(first, second...)); len(left) > 0 {
		t.Errorf("%v live", left)
	}
	id = e.insert("type, args", "a", "for ever")
	warden, third := e.relatives(3)
	e.waitState(id, "running")
	i.killWith(warden)
	e.cancel(id, "--now")
	e.serve(yaml)
	e.waitState(id, "cancelled")
	if left := livingOf(third); len(left) > 0 {
		t.Errorf("%v live", left)
	}
	if runs, beside := e.lines("family"), e.lines("beside"); len(runs) != 3 || len(beside) > 0 {
		t.Errorf("runs: %v, beside %v", runs, beside)
	}
}

// TestGuard_KilledByItsOwnAgent: the pauses keep it from running again and again at once, and the third death ends it,
// also if the first two come within a moment. A retry begins the count anew, and not the pauses.
func TestGuard_KilledByItsOwnAgent(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("agent", `date +%s%N >> $DIR/began; kill -9 $PPID; sleep 1000`) + "]"))
	id := e.insert("type, max_attempts", "a", 1)
	j := e.waitState(id, "quarantined")
	runs := len(e.lines("began"))
	if runs != 3 || j.Attempt != 1 || !strings.HasPrefix(j.Error, "kills_guard: 3 times") {
		t.Fatalf("it has run %d times, in attempt %d, and its error is %q", runs, j.Attempt, j.Error)
	}
	e.ok("retry", fmt.Sprint(id))
	pgtest.Eventually(t, patience, "it has run four times", func() bool { return len(e.lines("began")) >= 4 })
	var began []time.Time
	for _, text := range e.lines("began") {
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		began = append(began, time.Unix(0, ns))
	}
	for n, least := range map[int]time.Duration{2: time.Second, 3: 2 * time.Second} {
		if pause := began[n].Sub(began[n-1]); pause < least {
			t.Errorf("run %d began %v after the one before, want %v or more", n+1, pause, least)
		}
	}
	e.cancel(id, "--now")
	e.waitState(id, "cancelled")
}

// TestSSH_AGuardThatWasKilledThere: before anything begins on the host again,
// what it left is ended.
func TestSSH_AGuardThatWasKilledThere(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	i := e.serve("hosts:\n" + s.host("far", "slots: 1") + e.family("warm"))
	id := e.insert("type, args, run_on, max_attempts", "a", "once", "far", 1)
	warden, pids := e.relatives(1)
	if program := ofProcess(warden, "cmdline"); !strings.Contains(program, guard.Name) {
		t.Fatalf("the agent's parent is %q", program)
	}
	murder(t, warden)
	e.innocent(id)
	if left := livingOf(pids); len(left) > 0 {
		t.Errorf("%v live", left)
	}
	i.stop()
	s.empty()
}
