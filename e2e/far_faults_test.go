package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

// sleeper is an agent that says where it is at work, and is at work for as long
// as the test wants: until the file go is there.
func (e *env) sleeper() string {
	return e.worker("sleeper", `echo "$line $$ $BASHPID" >>$DIR/began; while [ ! -e $DIR/go ]; do sleep 0.05; done; echo "$line" >>$DIR/done`)
}

func (e *env) letGo() { e.file("go", "", 0o600) }

// began waits until the agents have begun so many lines.
func (e *env) began(n int) {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, "the agents are at work", func() bool { return len(e.lines("began")) >= n })
}

// firstAgent is the agent that began the first line, for livingAmong. (Its guard
// and its login's shells may be leaving when the agent is dead.)
func (e *env) firstAgent() map[int]string {
	e.t.Helper()
	e.began(1)
	pid := number(e.t, strings.Fields(e.lines("began")[0])[1])
	return map[int]string{pid: startTicks(pid)}
}

// What is at work when the line goes silent is dead before the job is given to
// another host; none of it counts; and the host comes back by itself.
func TestSSH_SilentLine(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	sleeper := e.sleeper()
	i := e.serve("hosts:\n" + s.host("proxied", "slots: 1") + agents("type: a, command: ["+sleeper+"]"))
	job, stuck := e.insert("type, args", "a", "one"), e.insert("type, args, run_on", "a", "two", "proxied")
	first := e.firstAgent()
	other := e.serve(agents("type: a, command: [" + sleeper + "]")) // another machine, as far as these two know
	p.Set(wire.Fault{Silent: true})
	e.began(2)
	if len(livingAmong(first)) > 0 {
		t.Error("the agent lives on the host that the line was lost to, and the job has begun elsewhere")
	}
	e.letGo()
	if j := e.waitState(job, "succeeded"); j.Attempt != 1 || e.ranOn(job) != "local" {
		t.Errorf("%+v on %s", j, e.ranOn(job))
	}
	e.waitHost("proxied", "down", "silent: ")
	e.eventually("the job that only it could run says so", "select coalesce(waiting_for, '') like 'host_down: proxied: silent: %' from bellhop.jobqueue where id = $1", stuck)
	p.Set(wire.Fault{})
	p.Reset("")
	if j := e.waitState(stuck, "succeeded"); j.Attempt != 1 || e.ranOn(stuck) != "proxied" {
		t.Errorf("%+v on %s", j, e.ranOn(stuck))
	}
	e.waitHost("proxied", "up", "")
	if n := value[int](e, "select count(*) from bellhop.agent where trouble <> '{}'"); n != 0 {
		t.Error("a type is in trouble over a line")
	}
	other.stop()
	i.stop()
	s.empty()
}

// Our side of the line is gone at once, and nobody tells the other: what runs
// there lives on until its lease ends, and so long the job is nobody else's.
func TestSSH_CutWithoutTheHostKnowing(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	sleeper := e.sleeper()
	i := e.serve("hosts:\n" + s.host("proxied", "slots: 1") + agents("type: a, command: ["+sleeper+"]"))
	job := e.insert("type, args", "a", "one")
	first := e.firstAgent()
	e.serve(agents("type: a, command: [" + sleeper + "]"))
	p.Set(wire.Fault{Silent: true, Untold: true})
	for _, pid := range i.processes() {
		if program, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")); filepath.Base(program) == "ssh" {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	e.began(2)
	if len(livingAmong(first)) > 0 {
		t.Error("the agent lives there, and the job has begun elsewhere")
	}
	s.empty()
	e.letGo()
	if j := e.waitState(job, "succeeded"); j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
}

// A line that is cut leaves nothing behind, and what it had begun is begun again.
func TestSSH_CutLines(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	e.serve("hosts:\n" + s.host("proxied", "slots: 3") + agents("type: a, command: ["+e.sleeper()+"]"))
	for _, args := range []string{"1", "2", "3"} {
		e.insert("type, args, max_attempts", "a", args, 1)
	}
	e.began(3)
	p.Reset("")
	e.began(6)
	if n := value[int](e, "select count(*) from bellhop.jobqueue where attempt <> 1"); n != 0 {
		t.Errorf("%d jobs count an attempt that the line lost", n)
	}
	e.letGo()
	e.waitAll("succeeded 3")
	if done := e.lines("done"); len(done) != 3 {
		t.Errorf("done: %q", done)
	}
}

// The items of a query that a line loses are done again, and none is failed.
func TestSSH_ItemsOfACutLine(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	agent := e.worker("agent", `echo "$line" >>$DIR/began; sleep 0.05; echo "$line" >>$DIR/done`)
	e.serve("hosts:\n" + s.host("proxied", "slots: 2") + agents("type: a, command: ["+agent+"]"))
	id := e.insert("type, msq", "a", "select g as n from generate_series(1, 100) g")
	e.began(20)
	p.Reset("")
	if j := e.waitState(id, "succeeded"); j.Done != 100 || j.Failed != 0 || j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	seen := map[string]bool{}
	for _, line := range e.lines("done") {
		seen[line] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different items were done", len(seen))
	}
}

// A host that reboots: all its children are gone, ssh is refused for a while,
// and then it is there again, by itself.
func TestSSH_TheHostReboots(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	e.serve("hosts:\n" + s.host("far", "slots: 2") + agents("type: a, command: ["+e.sleeper()+"]", "type: sh, command: [sh, -c], mode: exec"))
	e.insert("type, args", "a", "1")
	e.insert("type, args", "sh", "cd "+e.dir+"; echo >>began; while [ ! -e go ]; do sleep 0.05; done")
	e.began(2)
	s.reboot()
	e.waitHost("far", "down", "refused: ")
	e.insert("type, args", "a", "3")
	e.eventually("the job says why it waits", "select bool_and(coalesce(waiting_for, '') like 'host_down: far: refused: %') from bellhop.jobqueue")
	e.letGo()
	s.start()
	e.waitAll("succeeded 3")
	e.waitHost("far", "up", "")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where attempt <> 1 or deaths <> 0"); n != 0 {
		t.Errorf("%d jobs count what the reboot lost", n)
	}
}

// The scheduler is killed: what it ran on other hosts is dead as soon as there.
func TestSSH_SchedulerKilled(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	config := "hosts:\n" + s.host("far", "slots: 3") + agents("type: a, command: ["+e.sleeper()+"]")
	i := e.serve(config)
	for _, args := range []string{"1", "2", "3"} {
		e.insert("type, args", "a", args)
	}
	e.began(3)
	i.kill()
	start := time.Now()
	s.empty()
	t.Logf("all dead there after %s", time.Since(start))
	e.letGo()
	e.serve(config)
	e.waitAll("succeeded 3")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where attempt <> 1"); n != 0 {
		t.Errorf("%d jobs count an attempt that the scheduler lost", n)
	}
}

// The scheduler is killed while the line is silent: whoever takes over on the
// same machine, where that is known at once, waits for what runs there too.
func TestSSH_SchedulerKilledWhileTheLineIsSilent(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	sleeper := e.sleeper()
	i := e.serve("hosts:\n" + s.host("proxied", "slots: 1") + agents("type: a, command: ["+sleeper+"]"))
	job := e.insert("type, args", "a", "one")
	first := e.firstAgent()
	e.serve(agents("type: a, command: [" + sleeper + "]"))
	p.Set(wire.Fault{Silent: true, Untold: true})
	i.kill()
	e.began(2)
	if len(livingAmong(first)) > 0 {
		t.Error("the agent lives there, and the job has begun elsewhere")
	}
	s.empty()
	e.letGo()
	if j := e.waitState(job, "succeeded"); j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
}

// The scheduler is stopped by a signal that it cannot see: so are the leases
// not renewed, here and there.
func TestSSH_SchedulerSuspended(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	i := e.serve("instance: {heartbeat: 200ms, lag: 3s}\nhosts:\n" + s.host("far", "slots: 1") + agents("type: a, command: ["+e.sleeper()+"]"))
	e.insert("type, args", "a", "1")
	e.began(1)
	pgtest.Freeze(t, i.cmd.Process.Pid)
	defer i.signal(syscall.SIGCONT)
	s.empty()
	e.letGo()
}

// Told to stop while lines are being opened, by a server that accepts and then
// hangs: it stops at once, and leaves nothing.
func TestSSH_StoppedWhileOpening(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	i := e.serve("hosts:\n" + s.host("proxied", "slots: 8") + agents("type: a, command: ["+e.sleeper()+"]"))
	e.waitHost("proxied", "up", "")
	p.Set(wire.Fault{Silent: true})
	for range 8 {
		e.insert("type, args", "a", "x")
	}
	e.eventually("lines are being opened", "select exists (select from bellhop.jobqueue where state = 'assigned')")
	start := time.Now()
	i.stop()
	if took := time.Since(start); took > patience/2 {
		t.Errorf("it took %s to stop", took)
	}
	e.eventually("all jobs are ready again", "select bool_and(state = 'ready' and attempt = 0) from bellhop.jobqueue")
	s.empty()
}

// hangs is a server that accepts, says nothing, and counts.
func hangs(t *testing.T) (address string, count func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	var served sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		served.Wait()
		for _, c := range open {
			_ = c.Close()
		}
	})
	return l.Addr().String(), func() int { return int(n.Load()) }
}

// Each way in which a host cannot be reached is a state with words, which the
// jobs that wait for it say too, and it is not tried in a storm.
func TestSSH_EachTroubleHasItsWords(t *testing.T) {
	t.Parallel()
	changed, refusing, good := openSSHD(t), openSSHD(t), openSSHD(t)
	changed.key("another_key")
	changed.trust("another_key.pub")
	refusing.write("authorized_keys", "")
	unknown := openSSHD(t)
	unknown.write("known_hosts", "")
	address, connections := hangs(t)
	_, hanging, _ := net.SplitHostPort(address)
	named := func(s *sshd, name string) string {
		return strings.Replace(s.host("far", "slots: 8"), "name: far", "name: "+name, 1)
	}
	e := setup(t)
	e.serve("hosts:\n" + named(changed,
		"changed") + named(refusing, "refusing") + named(unknown, "unknown") + named(good, "good") +
		"  - {name: hanging, slots: 8, connect: [ssh, -F, none, -o, ConnectTimeout=2, -p, \"" + hanging + "\", 127.0.0.1]}\n" +
		"  - {name: nameless, slots: 8, connect: [ssh, -F, none, host.invalid]}\n" +
		agents("type: a, command: [true], mode: exec"))
	for name, trouble := range map[string]string{"changed": "host_key_changed: ", "refusing": "login_refused: ",
		"unknown": "host_key_unknown: ",
		"hanging": "silent: ", "nameless": "unknown_name: "} {
		var jobs []int64
		for range 10 {
			jobs = append(jobs, e.insert("type, run_on", "a", name))
		}
		e.waitHost(name, "down", trouble)
		e.eventually(name+": the jobs say why they wait", "select bool_and(coalesce(waiting_for, '') like 'host_down: ' || $2 || ': ' || $3 || '%' and attempt = 0) from bellhop.jobqueue where id = any ($1)",
			jobs, name, trouble)
	}
	e.waitState(e.insert("type", "a"), "succeeded")
	if n := connections(); n == 0 || n > 20 {
		t.Errorf("%d connections to a server that hangs", n)
	}
	// What was wrong is mended: it is found out without being told.
	refusing.write("authorized_keys", refusing.read("user_key.pub"))
	e.waitHost("refusing", "up", "")
	e.eventually("its jobs are done", "select bool_and(state = 'succeeded') from bellhop.jobqueue where run_on = 'refusing'")
	if n := value[int](e, "select count(*) from bellhop.agent where trouble <> '{}'"); n != 0 {
		t.Error("a type is in trouble over a host")
	}
}

// The near guard itself is killed: the far side ends by itself, and only then
// is the job anybody else's.
func TestSSH_TheLinesGuardIsKilled(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	i := e.serve("hosts:\n" + s.host("far", "slots: 1") + agents("type: a, command: ["+e.sleeper()+"]"))
	job := e.insert("type, args", "a", "1")
	e.began(1)
	for _, pid := range i.processes() {
		if program, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")); strings.HasSuffix(program,
			"/bellhop") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	e.began(2)
	e.letGo()
	if j := e.waitState(job, "succeeded"); j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
}
