package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// familyOf is an agent that ignores what it can ignore and has a child, and a
// daemon that has got away from its session, process group, parent and pipes.
// Their pids are left in the files child and daemon of the folder.
func familyOf(t testing.TB, then string) (Spec, string) {
	t.Helper()
	dir := t.TempDir()
	spec := sh(t, `trap '' HUP TERM INT
sleep 1000 & echo $! >$1/child
(setsid sh -c 'echo $$ >'$1'/daemon; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &)
while [ ! -s $1/daemon ]; do sleep 0.01; done
`+then)
	spec.Command = append(spec.Command, dir)
	return spec, dir
}

func allDead(t testing.TB, within time.Duration, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, within, "process "+strconv.Itoa(pid)+" dead", func() bool { return !alive(pid) })
	}
}

func TestGuard_KillTakesTheWholeTree(t *testing.T) {
	t.Parallel()
	within(t, time.Second, func() time.Duration { return killTree(t) })
}

func killTree(t *testing.T) time.Duration {
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	c := setup(t, spec).launch()
	c.await(scheduler.EventReady)
	pids := []int{c.Pid(), pidIn(t, filepath.Join(dir, "child")), pidIn(t, filepath.Join(dir, "daemon"))}
	c.Close() // ignored
	start := time.Now()
	c.Kill()
	ev := c.await(scheduler.EventExited)
	took := time.Since(start)
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d lives after EventExited", pid)
		}
	}
	if ev.ExitCode != 137 || ev.Signal != 9 || ev.Told() != "killed on order" {
		t.Errorf("exit is %+v", ev)
	}
	return took
}

func TestGuard_AgentsOwnExitTakesWhatItLeftBehind(t *testing.T) {
	t.Parallel()
	spec, dir := familyOf(t, "echo OK; read l; exit 4")
	c := setup(t, spec).launch()
	c.await(scheduler.EventReady)
	pids := []int{pidIn(t, filepath.Join(dir, "child")), pidIn(t, filepath.Join(dir, "daemon"))}
	c.feed(line(1, "x"))
	if ev := c.await(scheduler.EventExited); ev.ExitCode != 4 {
		t.Errorf("exit is %+v", ev)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d lives after EventExited", pid)
		}
	}
}

func TestGuard_ForkBombIsKilled(t *testing.T) {
	t.Parallel()
	// Bounded by its own count, so that a failure leaves no bomb.
	c := setup(t, sh(t, `echo OK
bomb() { [ $1 -gt 0 ] && { bomb $(($1-1)) & bomb $(($1-1)) & }; sleep 1000; }
bomb 7`)).launch()
	c.await(scheduler.EventReady)
	root := guardOf(t, c.Pid())
	eventually(t, patience, "the bomb goes off", func() bool { return len(guard.Descendants(root)) > 40 })
	pids := guard.Descendants(root)
	start := time.Now()
	c.Kill()
	c.await(scheduler.EventExited)
	t.Logf("%d processes died within %s", len(pids), time.Since(start))
	allDead(t, 0, pids...)
}

// beScheduler is the helper process: it launches children and waits to be killed.
func beScheduler(command string) {
	n, _ := strconv.Atoi(os.Getenv("BELLHOP_TEST_CHILDREN"))
	instance, _ := strconv.Atoi(os.Getenv("BELLHOP_TEST_INSTANCE"))
	l := NewLauncher(Config{Specs: []Spec{{Type: testType, Command: strings.Fields(command)}}})
	l.SetInstance(scheduler.InstanceID(instance))
	for range n {
		woken := make(chan struct{}, 1)
		p, err := l.Launch(testType, testChild, "local", 0, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		if err != nil {
			_, _ = os.Stdout.WriteString("error " + err.Error() + "\n")
			os.Exit(1)
		}
		for ready := false; !ready; {
			<-woken
			for _, ev := range p.Take(nil) {
				ready = ready || ev.Kind == scheduler.EventReady
			}
		}
		_, _ = os.Stdout.WriteString("ready\n")
	}
	select {}
}

// startScheduler runs the helper and returns when its children are ready.
func startScheduler(t *testing.T, spec Spec, children, instance int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BELLHOP_TEST_SCHEDULER="+strings.Join(spec.Command, " "),
		"BELLHOP_TEST_CHILDREN="+strconv.Itoa(children), "BELLHOP_TEST_INSTANCE="+strconv.Itoa(instance))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	buf := make([]byte, 0, 4096)
	for strings.Count(string(buf), "ready\n") < children {
		n, err := out.Read(buf[len(buf):cap(buf)])
		if err != nil {
			t.Fatalf("the helper said %q: %v", buf, err)
		}
		buf = buf[:len(buf)+n]
	}
	return cmd
}

// within fails the test when something takes longer each time. The promise is of
// a time, and a busy machine may take it away once or twice.
func within(t *testing.T, promise time.Duration, once func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		if took = append(took, once()); slices.Min(took) <= promise {
			t.Logf("it took %s", took)
			return
		}
	}
	t.Errorf("it took %s; the promise is %s", took, promise)
}

func TestGuard_SchedulerKilledMinusNineLeavesNothing(t *testing.T) {
	t.Parallel()
	within(t, time.Second, func() time.Duration { return killScheduler(t) })
}

// killScheduler tells how long a scheduler's guards and agents outlive it.
func killScheduler(t *testing.T) time.Duration {
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	cmd := startScheduler(t, spec, 3, 4711)
	guards := Leftovers(instance(4711, cmd.Process.Pid))
	if len(guards) != 1 || len(Leftovers(instance(471, cmd.Process.Pid))) != 0 {
		t.Fatalf("guards are %v", guards)
	}
	var pids []int
	eventually(t, patience, "each agent sleeps, which it does after its OK", func() bool {
		pids = append([]int{pidIn(t, filepath.Join(dir, "daemon"))}, guards...)
		for _, g := range guards {
			pids = append(pids, guard.Descendants(g)...)
		}
		return len(pids) >= 2+3*4
	})
	start := time.Now()
	stop(t, cmd.Process.Pid, syscall.SIGKILL)
	allDead(t, patience, pids...)
	return time.Since(start)
}

func TestGuard_TermEndsTheTreeAndOtherSignalsDoNot(t *testing.T) {
	t.Parallel()
	c := setup(t, sh(t, upper)).launch()
	c.await(scheduler.EventReady)
	g := guardOf(t, c.Pid())
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGPIPE} {
		stop(t, g, sig)
	}
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	stop(t, g, syscall.SIGTERM)
	if ev := c.await(scheduler.EventExited); ev.Signal != 9 || !strings.Contains(ev.Told(), "its guard was told to end") {
		t.Errorf("exit is %+v", ev)
	}
}

func TestGuard_KilledGuardTakesItsAgentAlong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The daemon has left the session, and still has the agent's stderr.
	spec := sh(t, `sleep 1000 & echo $! >$1/child
setsid sh -c 'echo $$ >'$1'/daemon; exec sleep 1000' </dev/null &
(setsid sh -c 'echo $$ >'$1'/stranger; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
while [ ! -s $1/daemon ] || [ ! -s $1/stranger ]; do sleep 0.01; done
echo OK; while :; do sleep 1000; done`)
	spec.Command = append(spec.Command, dir)
	c := setup(t, spec).launch()
	c.await(scheduler.EventReady)
	pids := []int{
		c.Pid(),
		pidIn(t, filepath.Join(dir, "child")),
		pidIn(t, filepath.Join(dir, "daemon")),
		pidIn(t, filepath.Join(dir, "stranger")),
	}
	stop(t, guardOf(t, c.Pid()), syscall.SIGKILL)
	ev := c.await(scheduler.EventExited)
	if ev.Signal != 9 || !strings.Contains(ev.Told(), "its guard died") || ev.Stop != scheduler.StopUnguarded {
		t.Errorf("exit is %+v", ev)
	}
	allDead(t, 0, pids...)
}

func TestGuard_StoppedGuardDoesNotSaveItsAgentFromKill(t *testing.T) {
	t.Parallel()
	c := setup(t, sh(t, upper)).launch()
	c.await(scheduler.EventReady)
	pid := c.Pid()
	g := guardOf(t, pid)
	pgtest.Freeze(t, g)
	c.Kill()
	c.await(scheduler.EventExited)
	allDead(t, 0, pid, g)
}

func TestGuard_MissedLeaseKillsAndARenewedOneDoesNot(t *testing.T) {
	t.Parallel()
	within(t, 1300*time.Millisecond, func() time.Duration { return missLease(t) })
}

// missLease tells how long after its last renewal an agent died.
func missLease(t *testing.T) time.Duration {
	c := setup(t, sh(t, upper)).launch()
	c.await(scheduler.EventReady)
	c.Lease(time.Second)
	c.Lease(time.Hour)
	time.Sleep(1500 * time.Millisecond) // the passing of time is what is tested
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	last := time.Now()
	c.Lease(300 * time.Millisecond)
	ev := c.await(scheduler.EventExited)
	took := time.Since(last)
	if took < 290*time.Millisecond {
		t.Errorf("died %s after the last renewal", took)
	}
	if !strings.Contains(ev.Told(), "lease") || ev.Signal != 9 {
		t.Errorf("exit is %+v", ev)
	}
	return took
}

// look is an agent that tells in what state it was started.
const look = `grep -E 'SigIgn|SigBlk|Umask' /proc/$$/status | sed 's/^/LOG /'
ls /proc/$$/fd
set -- $(cat /proc/$$/stat)
[ $5 = $$ ] && [ $6 = $$ ] && echo LOG own session
tr '\0' '\n' </proc/$$/environ | sed 's/^/LOG env /'
echo OK; read -r l`

func TestGuard_AgentStartsClean(t *testing.T) {
	t.Parallel()
	// A descriptor that the scheduler itself does not know of.
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	b := setup(t, Spec{Command: []string{"sh", "-c", look}, Env: map[string]string{"COLOUR": "blue"}})
	b.launch().await(scheduler.EventReady)
	for _, want := range []string{"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "Umask:\t0022", "0", "1", "2", "own session", "env COLOUR=blue"} {
		if !slices.ContainsFunc(b.log(), func(e scheduler.Entry) bool { return e.Text == want }) {
			t.Errorf("no %q in %v", want, b.log())
		}
	}
	if slices.ContainsFunc(b.log(), func(e scheduler.Entry) bool { return len(e.Text) == 1 && e.Text > "2" }) {
		t.Errorf("more descriptors than three: %v", b.log())
	}
	for _, e := range b.logged("env ") {
		name, _, _ := strings.Cut(strings.TrimPrefix(e.Text, "env "), "=")
		if !slices.Contains([]string{"PATH", "HOME", "LANG", "TMPDIR", "COLOUR", "BELLHOP_GUARD"}, name) {
			t.Errorf("the agent has %s", e.Text)
		}
	}
}

func TestGuard_UserIsDroppedTo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a child under another account: run the tests as root")
	}
	spec := sh(t, `echo "LOG $(id -u) $(id -g) $(id -G) $HOME"; `+upper)
	if err := os.Chmod(filepath.Dir(spec.Command[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(spec.Command[0])), 0o755); err != nil {
		t.Fatal(err)
	}
	spec.User = "nobody"
	b := setup(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	who, err := lookUpAccount("nobody")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.log()[0].Text; !strings.HasPrefix(got, strconv.Itoa(int(who.uid))+" "+strconv.Itoa(int(who.gid))+" ") ||
		!strings.HasSuffix(got, " "+who.home) || strings.Contains(got+" ", " 0 ") {
		t.Errorf("the agent is %q", got)
	}
	pid := c.Pid()
	stop(t, guardOf(t, pid), syscall.SIGKILL) // Pdeathsig has to outlive the change of account
	c.await(scheduler.EventExited)
	allDead(t, 0, pid)
}

func TestGuard_IsSmallAndBearsItsOwnName(t *testing.T) {
	t.Parallel()
	c := setup(t, sh(t, upper)).launch()
	c.await(scheduler.EventReady)
	g := strconv.Itoa(guardOf(t, c.Pid()))
	comm, err := os.ReadFile("/proc/" + g + "/comm")
	if err != nil || string(comm) != guard.Name+"\n" {
		t.Errorf("its name is %q", comm)
	}
	cmdline, _ := os.ReadFile("/proc/" + g + "/cmdline")
	if got := strings.ReplaceAll(string(cmdline), "\x00", " "); got != "bh-guard --instance 0 --scheduler "+thisProcess()+" " {
		t.Errorf("its command line is %q", got)
	}
	own := privateKB(t, g)
	t.Logf("a guard: %d kB private, %d kB resident", own, statusKB(t, g, "VmRSS:"))
	if own > 8<<10 && !raceEnabled {
		t.Errorf("a guard has %d kB of its own", own)
	}
}

// privateKB is what would be free if the process were gone.
func privateKB(t *testing.T, pid string) (kb int) {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) == 3 && strings.HasPrefix(f[0], "Private_") {
			n, _ := strconv.Atoi(f[1])
			kb += n
		}
	}
	return kb
}

func TestGuard_ImportsNextToNothing(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "./guard").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	for _, path := range strings.Fields(string(out)) {
		if slices.Contains([]string{"fmt", "reflect", "strings", "strconv", "net", "os/exec"}, path) {
			t.Errorf("the guard imports %s, and so starts only after it", path)
		}
	}
}
