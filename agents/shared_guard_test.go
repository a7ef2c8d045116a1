package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// daemonOf is an agent with a daemon that keeps nothing of it: no session, no
// parent, no pipe, and no environment.
func daemonOf(t testing.TB) (b *bench, file func(args string) string) {
	t.Helper()
	b = setup(t, sh(t, `echo OK
while read -r l; do
	(setsid env -i /bin/sh -c 'echo $$ >'"$l"'; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
	until [ -s "$l" ]; do sleep 0.01; done
	echo OK
done`))
	return b, func(name string) string { return filepath.Join(b.dir, name) }
}

func TestGuard_OneForAllAndEachKeepsItsOwn(t *testing.T) {
	t.Parallel()
	b, file := daemonOf(t)
	one, other := b.launch(), b.launch()
	for name, c := range map[string]*child{"one": one, "other": other} {
		c.await(scheduler.EventReady)
		c.feed(line(1, file(name)))
		c.await(scheduler.EventAnswered)
	}
	if a, b := guardOf(t, one.Pid()), guardOf(t, other.Pid()); a != b {
		t.Errorf("guards are %d and %d", a, b)
	}
	ones, others := pidIn(t, file("one")), pidIn(t, file("other"))
	if a, b := guardOf(t, ones), guardOf(t, one.Pid()); a != b {
		t.Fatalf("the daemon's parent is %d, the guard %d", a, b)
	}
	one.Kill()
	one.await(scheduler.EventExited)
	allDead(t, 0, ones)
	if !alive(others) || !alive(other.Pid()) {
		t.Fatal("what is of the other one is dead too")
	}
	other.feed(line(2, file("again")))
	other.await(scheduler.EventAnswered)
	pid := other.Pid()
	other.Close()
	other.await(scheduler.EventExited)
	allDead(t, 0, others, pid, pidIn(t, file("again")))
}

func TestGuard_ThatDiesIsTheEndOfAllAndTheNextHasAnother(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, upper))
	var all []*child
	for range 5 {
		c := b.launch()
		c.await(scheduler.EventReady)
		all = append(all, c)
	}
	first := guardOf(t, all[0].Pid())
	stop(t, first, syscall.SIGKILL)
	for _, c := range all {
		pid := c.Pid()
		if ev := c.await(scheduler.EventExited); ev.Stop != scheduler.StopUnguarded {
			t.Errorf("exit is %+v", ev)
		}
		allDead(t, 0, pid)
	}
	c := b.launch()
	c.await(scheduler.EventReady)
	if g := guardOf(t, c.Pid()); g == first {
		t.Error("the guard is the dead one")
	}
	c.Kill()
	c.await(scheduler.EventExited)
	idle := guardOfLauncher(b)
	stop(t, idle, syscall.SIGKILL) // with nobody under it
	waitDead(idle)                 // all its threads: until then its socket is open
	c = b.launch()
	c.await(scheduler.EventReady)
}

func guardOfLauncher(b *bench) int { return b.launcher.shared.pid }

// TestGuard_ThatStandsStillIsFoundByTheNextStart: who waits for it to start an agent ends it.
func TestGuard_ThatStandsStillIsFoundByTheNextStart(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, upper))
	c := b.launch()
	c.await(scheduler.EventReady)
	pgtest.Freeze(t, guardOf(t, c.Pid()))
	if _, err := b.tryLaunch(0); err == nil {
		t.Error("it has started one")
	}
	if ev := c.await(scheduler.EventExited); ev.Stop != scheduler.StopUnguarded {
		t.Errorf("exit is %+v", ev)
	}
	b.launch().await(scheduler.EventReady)
}

func TestGuard_WithoutDescriptorsRefusesAndGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, upper))
	c := b.launch()
	c.await(scheduler.EventReady)
	g := guardOf(t, c.Pid())
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g))
	if err != nil {
		t.Fatal(err)
	}
	was := setFiles(t, g, uint64(len(open)+7))
	var refused error
	for range 10 {
		if _, refused = b.tryLaunch(0); refused != nil {
			break
		}
	}
	if refused == nil || !strings.Contains(refused.Error(), "too many open files") {
		t.Errorf("error is %v", refused)
	}
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	setFiles(t, g, was)
	again := b.launch()
	again.await(scheduler.EventReady)
	if guardOf(t, again.Pid()) != g {
		t.Error("it is another guard")
	}
}

// setFiles sets how many descriptors a process may have, and tells how many it might.
func setFiles(t *testing.T, pid int, most uint64) (was uint64) {
	t.Helper()
	var old syscall.Rlimit
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_NOFILE, 0,
		uintptr(unsafe.Pointer(&old)), 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	next := syscall.Rlimit{Cur: most, Max: old.Max}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_NOFILE,
		uintptr(unsafe.Pointer(&next)), 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	return old.Cur
}

func TestGuard_OfANewNumberIsANewOne(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, upper))
	c := b.launch()
	c.await(scheduler.EventReady)
	g := guardOf(t, c.Pid())
	b.launcher.SetInstance(4716)
	next := b.launch()
	next.await(scheduler.EventReady)
	guards, of := Leftovers(instance(4716, os.Getpid())), guardOf(t, next.Pid())
	if len(guards) != 1 || guards[0] != of || of == g {
		t.Errorf("guards are %v, that of the next is %d, that of the one before %d", guards, of, g)
	}
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	c.Kill()
	c.await(scheduler.EventExited)
	allDead(t, 0, g)
}

// TestExec_ManyAtOnce: each run is told once, whatever else comes and goes.
func TestExec_ManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, execSh(t, `exit $1`))
	const children, runs = 12, 25
	var all []*child
	for range children {
		c := b.launch()
		c.await(scheduler.EventReady)
		for i := range runs {
			c.feed(line(i+1, strconv.Itoa(i)))
		}
		all = append(all, c)
	}
	for _, c := range all {
		for i := range runs {
			if ev := c.await(scheduler.EventAnswered); ev.ExitCode != i || int(ev.Claim.Job) != i+1 {
				t.Errorf("run %d gave %+v", i, ev)
			}
		}
	}
	if left := guard.Descendants(guardOfLauncher(b)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestExec_EndsThoughItsGuardStandsStill: with nothing to be heard any more, the
// guard is asked.
func TestExec_EndsThoughItsGuardStandsStill(t *testing.T) {
	t.Parallel()
	b := setup(t, execSh(t, `read l <"$1"`))
	fifo := filepath.Join(b.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, fifo))
	eventually(t, patience, "it runs", func() bool { return c.Pid() != 0 })
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // it waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Freeze(t, guardOfLauncher(b))
	_ = w.Close()
	if ev := c.await(scheduler.EventExited); ev.Stop != scheduler.StopUnguarded {
		t.Errorf("exit is %+v", ev)
	}
}

// BenchmarkExec is the rate of processes that do nothing, eight at a time.
func BenchmarkExec(b *testing.B) {
	l := NewLauncher(Config{Specs: []Spec{{Type: testType, Mode: ModeExec, Command: []string{"/bin/true"}}}})
	defer l.Close()
	const children = 8
	var all sync.WaitGroup
	for range children {
		c := newBenchChild(b, l)
		all.Go(func() { c.do(b.N / children) })
		defer func() { c.p.Kill(); <-c.p.Done() }()
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
