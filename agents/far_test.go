package agents

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// afar makes a launcher whose host "local" is reached by connect. The far side
// keeps its guard under the home that is returned.
func afar(t testing.TB, spec Spec, connect ...string) (*bench, string) {
	t.Helper()
	home := t.TempDir()
	b := &bench{t: t, dir: home}
	spec.Type = testType
	b.launcher = NewLauncher(Config{Specs: []Spec{spec}, Stderr: b,
		Connect: map[scheduler.HostName][]string{
			"local": append([]string{"env", "HOME=" + home, "XDG_CACHE_HOME="}, connect...),
		},
		Log: func(e []scheduler.Entry) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.entries = append(b.entries, e...)
		}})
	return b, home
}

func TestFar_WarmAgentWorksAndEnds(t *testing.T) {
	t.Parallel()
	b, home := afar(t, sh(t, `trap '' HUP; echo OK; while read -r l; do echo "LOG got $l"; echo "err $l" >&2; echo OK; done; echo bye >&2; exit 7`))
	c := b.launch()
	c.await(scheduler.EventReady)
	for i := range 3 {
		c.feed(line(i+1, "x y"))
		if ev := c.await(scheduler.EventAnswered); !ev.OK {
			t.Errorf("answer %+v", ev)
		}
	}
	c.Close()
	if ev := c.await(scheduler.EventExited); ev.ExitCode != 7 || !strings.Contains(ev.Told(), "bye") ||
		ev.Stop != scheduler.StopNone {
		t.Errorf("exit is %+v", ev)
	}
	if len(b.logged("got x y")) != 3 || len(b.logged("err x y")) != 3 {
		t.Errorf("log: %v", b.log())
	}
	if kept, _ := filepath.Glob(filepath.Join(home, ".cache/bellhop/bh-guard-*")); len(kept) != 1 {
		t.Errorf("kept on the host: %v", kept)
	}
}

func TestFar_ExecHasExitCodeSignalAndArguments(t *testing.T) {
	t.Parallel()
	b, _ := afar(t, Spec{Mode: ModeExec, Command: []string{"sh", "-c"}, Env: map[string]string{"A": "b c"}}, "HERE=there")
	c := b.launch()
	c.await(scheduler.EventReady)
	for args, want := range map[string]int{
		`exit 3`: 3, `kill -9 $$`: 137, `[ "$A" = "b c" ]`: 0, `[ "$HERE" = there ]`: 0, `exit 255`: 255,
		`[ "$BELLHOP_JOB_ID" = 1 ]`: 0, `[ -z "$SSH_AUTH_SOCK" ]`: 0, `[ "$(umask)" = 0022 ]`: 0, `[ "$(ls /proc/self/fd | wc -l)" = 4 ]`: 0,
	} {
		c.feed(line(1, args))
		if ev := c.await(scheduler.EventAnswered); ev.ExitCode != want {
			t.Errorf("%s: %+v", args, ev)
		}
	}
}

// What fills every pipe on the way, in both directions, holds up nothing for good.
func TestFar_CarriesMuch(t *testing.T) {
	t.Parallel()
	b, _ := afar(t, sh(t, `echo OK; while read -r l; do sleep 0.1; printf '%s\n' "$l" >&2; printf '%s\n' "$l"; echo OK; done`))
	c := b.launch()
	c.await(scheduler.EventReady)
	much := strings.Repeat("0123456789abcdef", 40_000)
	for i := range 3 {
		c.feed(line(i+1, much))
		if ev := c.await(scheduler.EventAnswered); !ev.OK {
			t.Fatalf("answer %+v", ev)
		}
	}
	if got := b.logged(much); len(got) == 0 {
		t.Error("what it said did not come whole")
	}
}

func TestFar_WhatCannotBeStartedIsTheAgentsFault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Command: []string{"/nowhere/agent"}}, "no such file"},
		{Spec{Command: []string{plain}}, "not executable"},
		{Spec{Command: []string{"true"}, WorkDir: "/nowhere"}, "no such directory to work in"},
		{Spec{Command: []string{"true"}, User: "nobody"}, "log in there as that user"},
	} {
		b, _ := afar(t, c.spec)
		ev := b.launch().await(scheduler.EventExited)
		if ev.Stop != scheduler.StopNone || !strings.Contains(ev.Told(), c.want) {
			t.Errorf("%v: %+v, want %q", c.spec.Command, ev, c.want)
		}
		if err := b.launcher.Look(context.Background(), testType, "local"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("look at %v: %v", c.spec.Command, err)
		}
	}
}

func TestFar_WhatCannotBeReachedIsTheHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		connect []string
		code    string
	}{
		{[]string{"/nowhere/ssh"}, "line_lost"},
		{[]string{"sh", "-c", "echo 'Permission denied (publickey).' >&2; exit 255"}, "login_refused"},
		{[]string{"sh", "-c", "echo '/bin/agent: Permission denied.' >&2; exit 126"}, "line_lost"},
		{[]string{"sh", "-c", "echo 'open: Permission denied (os error 13)' >&2; exit 1"}, "line_lost"},
		{[]string{"sh", "-c", "echo nonsense; exit 0"}, "line_lost"},
		{[]string{"sh", "-c", "printf '\\nbellhop-far 1 want Linux m68k\\n'; read a; printf '\\nbellhop-far 1 none\\n'"}, "no_guard"},
		{[]string{"sh", "-c", "printf '\\nbellhop-far 1 guard\\n'; echo nonsense"}, "line_lost"},
	} {
		b, _ := afar(t, sh(t, "echo OK; read l"), c.connect...)
		ev := b.launch().await(scheduler.EventExited)
		if ev.Stop != scheduler.StopUnreached || !strings.HasPrefix(ev.Told(), c.code+": ") {
			t.Errorf("%q: %+v, want %s", c.connect, ev, c.code)
		}
		err := b.launcher.Reach(context.Background(), "local")
		if err == nil || !strings.HasPrefix(err.Error(), c.code+": ") {
			t.Errorf("reach over %q: %v", c.connect, err)
		}
	}
}

func TestFar_KillTakesTheWholeTree(t *testing.T) {
	t.Parallel()
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	b, _ := afar(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	pids := []int{c.Pid(), pidIn(t, filepath.Join(dir, "child")), pidIn(t, filepath.Join(dir, "daemon"))}
	c.Close() // ignored
	c.Kill()
	if ev := c.await(scheduler.EventExited); ev.Told() != "killed on order" || ev.Signal != 9 {
		t.Errorf("exit is %+v", ev)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d lives after EventExited", pid)
		}
	}
}

// copyingWay is a process of its own that copies, as ssh is.
var copyingWay = []string{"sh", "-c", `echo $$ >$HOME/way; { mkfifo $HOME/in.$$; cat <&3 >$HOME/in.$$ & } 3<&0; "$@" <$HOME/in.$$ | cat`, "sh"}

// toTheWay signals what copies.
func (b *bench) toTheWay(sig syscall.Signal) {
	b.t.Helper()
	for _, pid := range guard.Descendants(guardOf(b.t, pidIn(b.t, filepath.Join(b.dir, "way")))) {
		if name, _ := os.ReadFile("/proc/" + itoa(pid) + "/comm"); string(name) == "cat\n" {
			// The other half of the way may have died of the first one's end.
			if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
				b.t.Fatal(err)
			}
		}
	}
}

// The line is cut: both its ends know, and what ran is dead before it is said.
func TestFar_CutLine(t *testing.T) {
	t.Parallel()
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	b, _ := afar(t, spec, copyingWay...)
	c := b.launch()
	c.await(scheduler.EventReady)
	pids := []int{c.Pid(), pidIn(t, filepath.Join(dir, "child")), pidIn(t, filepath.Join(dir, "daemon"))}
	c.feed(line(1, "x"))
	b.toTheWay(syscall.SIGKILL)
	ev := c.await(scheduler.EventExited)
	if ev.Stop != scheduler.StopUnreached {
		t.Errorf("exit is %+v", ev)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d lives after EventExited", pid)
		}
	}
}

// The line goes silent with nobody knowing: the lease ends what ran, and only
// then is it said.
func TestFar_SilentLine(t *testing.T) {
	t.Parallel()
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	b, _ := afar(t, spec, copyingWay...)
	c := b.launch()
	c.await(scheduler.EventReady)
	pids := []int{c.Pid(), pidIn(t, filepath.Join(dir, "child")), pidIn(t, filepath.Join(dir, "daemon"))}
	b.toTheWay(syscall.SIGSTOP)
	start := time.Now()
	ev := c.await(scheduler.EventExited)
	if ev.Stop != scheduler.StopUnreached || !strings.HasPrefix(ev.Told(), "silent: ") {
		t.Errorf("exit is %+v", ev)
	}
	t.Logf("found dead after %s", time.Since(start))
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d lives after EventExited", pid)
		}
	}
}

func TestFar_LeaseMissed(t *testing.T) {
	t.Parallel()
	b, _ := afar(t, sh(t, "echo OK; while :; do sleep 1000; done"))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.Lease(time.Second)
	pid := c.Pid()
	ev := c.await(scheduler.EventExited)
	if ev.Stop != scheduler.StopFenced {
		t.Errorf("exit is %+v", ev)
	}
	if alive(pid) {
		t.Error("the agent lives")
	}
}

// What a FOSSology agent says on 1 and 2 comes in the order in which it was
// said, over a line that carries both apart.
func TestFar_FOSSologyHasOneStream(t *testing.T) {
	t.Parallel()
	spec := sh(t, `echo "VERSION: 1"; echo OK; read -r data; i=0
while [ $i -lt 300 ]; do printf 'half '; echo "$i whole" >&2; i=$((i+1)); done; echo "BYE 0"`)
	spec.Dialect = DialectFOSSology
	b, _ := afar(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "7"))
	if ev := c.await(scheduler.EventAnswered); !ev.OK {
		t.Fatalf("answer is %+v", ev)
	}
	said := b.logged("whole")
	if len(said) != 300 {
		t.Fatalf("%d lines were logged", len(said))
	}
	for i, e := range said {
		if want := "half " + itoa(i) + " whole"; e.Text != want {
			t.Fatalf("line %d is %q, want %q", i, e.Text, want)
		}
	}
}

// A line that is lost is the host's trouble, and not an agent that left without
// BYE; but what BYE has said holds.
func TestFar_FOSSologyOnACutLine(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"", "BYE 0", "BYE 3"} {
		spec := sh(t, `echo "VERSION: 1"; echo OK; read -r data; echo "`+last+`"; echo "pid $$"; exec sleep 1000`)
		spec.Dialect = DialectFOSSology
		b, _ := afar(t, spec, copyingWay...)
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(line(1, "7"))
		eventually(t, patience, "the agent is at work", func() bool { return len(b.logged("pid ")) == 1 })
		pid := c.Pid()
		b.toTheWay(syscall.SIGKILL)
		if last != "" {
			if ev := c.await(scheduler.EventAnswered); ev.OK != (last == "BYE 0") || !ev.OK && ev.ExitCode != 3 {
				t.Errorf("%s: %+v", last, ev)
			}
		} else if ev := c.await(scheduler.EventExited); ev.Stop != scheduler.StopUnreached || strings.Contains(ev.Told(), "BYE") {
			t.Errorf("exit is %+v", ev)
		}
		if alive(pid) {
			t.Errorf("%q: the agent lives", last)
		}
	}
}

// Orders that come while the line is being opened are carried out then.
func TestFar_KillWhileTheLineIsBeingOpened(t *testing.T) {
	t.Parallel()
	for _, runs := range []bool{false, true} {
		spec := sh(t, "echo OK; read l")
		if runs {
			spec.Mode = ModeExec
		}
		b, home := afar(t, spec, "sh", "-c", "echo $$ >$HOME/way; exec sleep 1000")
		c := b.launch()
		if runs {
			c.await(scheduler.EventReady)
			c.feed(line(1, "x"))
		}
		pid := pidIn(t, filepath.Join(home, "way"))
		c.Kill()
		if ev := c.await(scheduler.EventExited); ev.Stop != scheduler.StopUnreached || !strings.HasPrefix(ev.Told(), "given_up: ") {
			t.Errorf("exit is %+v", ev)
		}
		eventually(t, patience, "the way is dead", func() bool { return !alive(pid) })
	}
}

// Many children of a host that hangs do not knock one after the other.
func TestFar_WhoWaitsDoesNotTryWhatHasFailed(t *testing.T) {
	t.Parallel()
	b, home := afar(t, sh(t, "echo OK; read l"), "sh", "-c", `echo >>$HOME/tries; while [ $(wc -l <$HOME/tries) -lt 4 ]; do sleep 0.01; done; sleep 0.3; echo "timed out" >&2; exit 255`)
	var all []*child
	for range 12 {
		all = append(all, b.launch())
	}
	for _, c := range all {
		if ev := c.await(scheduler.EventExited); ev.Stop != scheduler.StopUnreached || !strings.HasPrefix(ev.Told(), "silent: ") {
			t.Errorf("exit is %+v", ev)
		}
	}
	if tries, _ := os.ReadFile(filepath.Join(home, "tries")); len(tries) != openAtOnce {
		t.Errorf("it was tried %d times", len(tries))
	}
}

func TestWay_QuotesForAnyShell(t *testing.T) {
	t.Parallel()
	words := []string{"", "a b", `it's`, `$HOME`, "`id`", `back\slash`, "bang!", "*", "~", "-n", "a;b|c&d>e<f", "ü\tx", "{a,b}", "#x", "[a]", "\n", "=x", "'\\!"}
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish", "csh", "tcsh"} {
		b, err := lookedUp(shell)
		if err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		for _, list := range [][]string{words, {strings.Repeat("long ü!", 3000), "x"}} {
			line := shellLine(append([]string{"/usr/bin/printf", `%s\0`}, list...))
			if strings.ContainsAny(line, "!\n") {
				t.Errorf("what a csh takes amiss even between quotes stands in %q", line)
			}
			out, err := b("-c", line)
			if err != nil || out != strings.Join(list, "\x00")+"\x00" {
				t.Errorf("%s: %.200q, %v", shell, out, err)
			}
		}
	}
}

func TestWay_SSHOptions(t *testing.T) {
	t.Parallel()
	argv := newWay(
		[]string{"/usr/bin/ssh", "-p", "22", "-oserveraliveinterval=60", "-o", "ConnectTimeout 3", "big1"},
	).argv([]string{"run", "a b"})
	if argv[0] != "/usr/bin/ssh" || argv[len(argv)-1] != shellLine([]string{"run", "a b"}) || argv[len(argv)-2] != "big1" {
		t.Errorf("%q", argv)
	}
	all := strings.Join(argv, " ")
	for option, want := range map[string]bool{"-o BatchMode=yes": true, "-o ServerAliveInterval=5": false, "-o ConnectTimeout=10": false,
		"-o ServerAliveCountMax=3": true, "StrictHostKeyChecking": false} {
		if strings.Contains(all, option) != want {
			t.Errorf("%s: want %v in %q", option, want, argv)
		}
	}
	if got := newWay([]string{"docker", "exec", "-i", "box"}).argv([]string{"run", "a b"}); strings.Join(got, "|") != "docker|exec|-i|box|run|a b" {
		t.Errorf("%q", got)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func lookedUp(shell string) (func(args ...string) (string, error), error) {
	path, err := exec.LookPath(shell)
	return func(args ...string) (string, error) {
		out, err := exec.Command(path, args...).Output()
		return string(out), err
	}, err
}
