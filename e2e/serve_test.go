package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
)

// instance is one `bellhop serve`.
type instance struct {
	b       *env
	id      int64  // in bellhop.instance
	dir     string // its own: everything that it starts has it in its environment
	cmd     *exec.Cmd
	config  string // the file
	exited  chan struct{}
	address string // of its web server, where the test has named one

	mu     sync.Mutex
	stderr strings.Builder
}

// sections are what a configuration has where a test says nothing about it.
// The lag is long because a busy machine must not make an instance look dead.
var sections = []struct{ name, text string }{
	{"instance", "instance: {heartbeat: 200ms, lag: 1m}"},
	{"limits", "limits: {kill_after: 1s, min_ready: 100ms, window: 3s}"},
	{"hosts", "hosts:\n  - {name: local, slots: 4}"},
}

// configuration completes the top-level sections of a bellhop.yaml.
func (e *env) configuration(yaml string) string {
	text := "listen: " + cmp.Or(e.listen, "127.0.0.1:0") + "\n"
	if !hasSection(yaml, "database") {
		text += fmt.Sprintf("database: {url: %q}\n", e.url)
	}
	for _, s := range sections {
		if !hasSection(yaml, s.name) {
			text += s.text + "\n"
		}
	}
	return text + yaml
}

func hasSection(yaml, name string) bool { return strings.Contains("\n"+yaml, "\n"+name+":") }

// agents is the section of that name: one line per agent, such as
// "type: a, command: [/bin/a]".
func agents(list ...string) string {
	text := "agents:\n"
	for _, a := range list {
		text += "  - {" + a + "}\n"
	}
	return text
}

// serve starts an instance and waits until it has registered. yaml is what the
// test wants to say; args are added to the command line. It is stopped, and
// nothing of it may be left, when the test ends.
func (e *env) serve(yaml string, args ...string) *instance {
	e.t.Helper()
	i := e.start(e.configuration(yaml), args...)
	pgtest.Eventually(e.t, patience, "the instance is registered", func() bool {
		e.t.Helper()
		select {
		case <-i.exited:
			e.t.Fatalf("serve ended with %d:\n%s", i.cmd.ProcessState.ExitCode(), i.said())
		default:
		}
		// The database may just be down on purpose.
		err := e.pool.QueryRow(e.t.Context(), "select id from bellhop.instance where pid = $1 and state = 'live' order by id desc limit 1", i.cmd.Process.Pid).Scan(&i.id)
		// Its row is there before it knows: a database that is killed in between has never been its own.
		return err == nil && strings.Contains(i.said(), `"instance registered"`)
	})
	return i
}

// start starts `bellhop serve` with exactly this configuration, and waits for
// nothing.
func (e *env) start(yaml string, args ...string) *instance {
	e.t.Helper()
	e.runs++
	i := &instance{
		b:       e,
		address: e.listen,
		dir:     filepath.Join(e.dir, fmt.Sprintf("instance-%d", e.runs)),
		exited:  make(chan struct{}),
	}
	// A name of its own for the program, by which its guards are known.
	program := filepath.Join(i.dir, "bellhop")
	if err := errors.Join(os.Mkdir(i.dir, 0o755), link(binary, program)); err != nil {
		e.t.Fatal(err)
	}
	i.config = filepath.Join(i.dir, "bellhop.yaml")
	if err := os.WriteFile(i.config, []byte(yaml), 0o600); err != nil {
		e.t.Fatal(err)
	}
	i.cmd = exec.Command(program, append([]string{"serve", "-c", i.config}, args...)...)
	i.cmd.Dir, i.cmd.Env, i.cmd.Stderr = i.dir, append(environment(i.dir), e.env...), i
	if err := i.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	go func() {
		defer close(i.exited)
		_ = i.cmd.Wait() // how it ended is in ProcessState
	}()
	e.t.Cleanup(func() {
		i.stop()
		if e.t.Failed() {
			e.t.Logf("%s said:\n%s", filepath.Base(i.dir), i.said())
		}
	})
	return i
}

// link gives a file a second name, by copying where it must.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// Write takes its stderr.
func (i *instance) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stderr.Write(p)
}

// said is its stderr so far.
func (i *instance) said() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stderr.String()
}

// waitSaid waits until its stderr holds that text.
func (i *instance) waitSaid(text string) {
	i.b.t.Helper()
	pgtest.Eventually(i.b.t, patience, fmt.Sprintf("serve says %q", text),
		func() bool { return strings.Contains(i.said(), text) })
}

func (i *instance) signal(sig syscall.Signal) {
	i.b.t.Helper()
	if err := i.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) { // dead, and not waited for yet
		i.b.t.Fatalf("signal %s: %v", sig, err)
	}
}

// exit waits for its end and gives the exit code, −1 for a signal.
func (i *instance) exit() int {
	i.b.t.Helper()
	select {
	case <-i.exited:
	case <-time.After(patience):
		_ = i.cmd.Process.Kill()
		i.b.t.Errorf("serve does not end:\n%s", i.said())
		<-i.exited
	}
	return i.cmd.ProcessState.ExitCode()
}

// stop ends it with SIGTERM, checks that it ended well and that nothing of it
// is left. Does nothing where it has ended before.
func (i *instance) stop() {
	i.b.t.Helper()
	select {
	case <-i.exited:
	default:
		i.signal(syscall.SIGTERM)
		if code := i.exit(); code != 0 {
			i.b.t.Errorf("serve: exit code %d\n%s", code, i.said())
		}
	}
	i.gone()
}

// kill ends it with SIGKILL and waits for its end, not for its agents'.
func (i *instance) kill() {
	i.b.t.Helper()
	_ = i.cmd.Process.Kill() // fails where it is dead already
	<-i.exited
}

// gone checks that nothing which it started lives any more, and gives how long
// that took.
func (i *instance) gone() time.Duration {
	i.b.t.Helper()
	began := time.Now()
	pgtest.Eventually(i.b.t, patience, "what the instance started is dead", func() bool {
		return len(i.started()) == 0
	})
	return time.Since(began)
}

// processes are the living ones of its agents, and of the guards of lines. The guard of
// this machine's agents stays as long as the instance does.
func (i *instance) processes() []int {
	return slices.DeleteFunc(i.started(), func(pid int) bool {
		line := ofProcess(pid, "cmdline")
		return strings.HasPrefix(line, "bellhop-crash-helper\x00") ||
			strings.HasPrefix(line, guard.Name+"\x00") && !strings.Contains(line, "\x00--host\x00")
	})
}

// started are the living ones that came from it, itself not among them: its
// guards run its program, and all others have its folder in their environment.
func (i *instance) started() (pids []int) {
	guard.EachProcess(func(pid int) {
		if pid == i.cmd.Process.Pid {
			return
		}
		program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // gone meanwhile: empty
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if program != filepath.Join(i.dir, "bellhop") && !strings.Contains("\x00"+string(environment), "\x00TMPDIR="+i.dir+"\x00") {
			return
		}
		if s, ok := guard.ReadStat(pid); ok && !s.Dead() {
			pids = append(pids, pid)
		}
	})
	return pids
}

// TestHarness_SeesWhatAnInstanceStarts: the checks that nothing is left look
// at the right processes.
func TestHarness_SeesWhatAnInstanceStarts(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", "setsid sleep 1000 & echo OK; while read -r line; do echo OK; done")
	i := e.serve(agents("type: a, command: ["+agent+"]"), "--verbose")
	e.waitState(e.insert("type", "a"), "succeeded")
	if n := len(i.processes()); n != 2 {
		t.Errorf("%d processes, want an agent and its sleep", n)
	}
	i.stop()
}

// TestServe_TakesNoMoreThanThePageSays: connections and open files, with every
// slot taken (docs/production.md).
func TestServe_TakesNoMoreThanThePageSays(t *testing.T) {
	t.Parallel()
	e := setup(t)
	const slots = 8
	i := e.serve(fmt.Sprintf("hosts:\n  - {name: local, slots: %d}\n", slots) + agents("type: a, command: ["+e.worker("agent", "sleep 1000")+"]"))
	e.sql("insert into bellhop.jobqueue (type) select 'a' from generate_series(1, $1::int)", slots)
	e.eventually("every slot is taken", "select count(*) = $1 from bellhop.jobqueue where state = 'running'", slots)
	own := "from pg_stat_activity where datname = current_database() and application_name like 'bellhop%' and application_name <> 'bellhop web'"
	if n := value[int](e, "select count(*) "+own); n > 7 { // the page's six, and one that comes and goes on a slow machine
		t.Errorf("%d connections", n)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", i.cmd.Process.Pid))
	if err != nil {
		t.Skipf("NOT TESTED: open files; %v", err)
	}
	if len(files) > 128+slots*8 {
		t.Errorf("%d open files for %d slots", len(files), slots)
	}
	e.eventually("what the pages had is let go of", "select not exists (select from pg_stat_activity where datname = current_database() and application_name = 'bellhop web')")
}
