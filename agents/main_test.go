package agents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// TestMain: the test binary is also the guard (by argv[0], in guard's init)
// and, when told so, a whole scheduler that a test can kill.
func TestMain(m *testing.M) {
	if spec := os.Getenv("BELLHOP_TEST_SCHEDULER"); spec != "" {
		beScheduler(spec)
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if compiled.path != "" {
			_ = os.RemoveAll(filepath.Dir(compiled.path)) // a folder in /tmp that stays is no failure
		}
		os.Exit(code)
	}))
}

// bench is a launcher with everything that comes out of it.
type bench struct {
	t        testing.TB
	dir      string
	launcher *Launcher
	mu       sync.Mutex
	entries  []scheduler.Entry
	stderr   strings.Builder
}

func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stderr.Write(p)
}

func (b *bench) log() []scheduler.Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]scheduler.Entry(nil), b.entries...)
}

func (b *bench) told() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stderr.String()
}

// logged finds the entries that contain text.
func (b *bench) logged(text string) (found []scheduler.Entry) {
	for _, e := range b.log() {
		if strings.Contains(e.Text, text) {
			found = append(found, e)
		}
	}
	return found
}

const (
	testType  scheduler.TypeName  = "work"
	testChild scheduler.ChildName = "work.1"
)

// setup makes a launcher of one type.
func setup(t testing.TB, spec Spec) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	spec.Type = testType
	b.launcher = NewLauncher(Config{Specs: []Spec{spec}, Stderr: b, Log: func(e []scheduler.Entry) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.entries = append(b.entries, e...)
	}})
	t.Cleanup(b.launcher.Close)
	return b
}

// script writes an executable file.
func script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func sh(t testing.TB, text string) Spec {
	t.Helper()
	return Spec{Command: []string{script(t, "#!/bin/sh\n"+text)}}
}

// child is a Process and who takes its events.
type child struct {
	*Process
	b      *bench
	rings  chan struct{}
	events []scheduler.ChildEvent
	next   int
}

func (b *bench) tryLaunch(lease time.Duration) (*child, error) {
	c := &child{b: b, rings: make(chan struct{}, 1)}
	p, err := b.launcher.Launch(testType, testChild, "local", lease, func() {
		select {
		case c.rings <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	c.Process = p
	b.t.Cleanup(func() {
		c.Kill()
		c.gone(patience)
	})
	return c, nil
}

func (b *bench) launch() *child {
	b.t.Helper()
	c, err := b.tryLaunch(0)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

const patience = 3 * time.Minute

// await returns the next event, which has to be of that kind.
func (c *child) await(kind scheduler.EventKind) scheduler.ChildEvent {
	c.b.t.Helper()
	deadline := time.After(patience)
	for c.next == len(c.events) {
		if c.events = c.Take(c.events); c.next < len(c.events) {
			break
		}
		select {
		case <-c.rings:
		case <-deadline:
			c.b.t.Fatalf("waited %s for %v; the log: %v", patience, kind, c.b.log())
		}
	}
	ev := c.events[c.next]
	c.next++
	if ev.Kind != kind {
		c.b.t.Fatalf("got event %v (%+v), want %v", ev.Kind, ev, kind)
	}
	return ev
}

// silent reports that no event is there.
func (c *child) silent() bool {
	c.events = c.Take(c.events)
	return c.next == len(c.events)
}

func (c *child) gone(within time.Duration) {
	c.b.t.Helper()
	select {
	case <-c.Done():
	case <-time.After(within):
		c.b.t.Fatalf("the child still lives after %s", within)
	}
}

func line(job int, args string) scheduler.Line {
	return scheduler.Line{
		Claim:   scheduler.Claim{Job: scheduler.JobID(job), Fence: scheduler.Fence(job * 10)},
		Attempt: 1,
		HasArgs: true,
		Args:    args,
	}
}

func (c *child) feed(lines ...scheduler.Line) { c.Feed(lines) }

// eventually polls for what has no event of its own.
func eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !ok(); {
		if time.Now().After(deadline) && !ok() { // it may have come while this was not looking
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(2 * time.Millisecond) // it is seen in /proc, in a file or on a counter, none of which tells
	}
}

// alive: it may still do something. One that is dying has no memory any more,
// and no mark by which a sweep could tell it, some time before it is dead.
func alive(pid int) bool {
	s, ok := guard.ReadStat(pid)
	if !ok || s.Dead() {
		return false
	}
	memory, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	return err == nil && !bytes.HasPrefix(memory, []byte("0 "))
}

// pidIn reads a pid that an agent left in a file.
func pidIn(t testing.TB, path string) (pid int) {
	t.Helper()
	eventually(t, patience, "a pid in "+path, func() bool {
		b, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		n, err := fmt.Sscanf(string(b), "%d\n", &pid)
		return n == 1 && err == nil && strings.HasSuffix(string(b), "\n")
	})
	return pid
}

// guardOf is the pid of the child's guard.
func guardOf(t testing.TB, agent int) int {
	t.Helper()
	s, ok := guard.ReadStat(agent)
	if !ok {
		t.Fatalf("no process %d", agent)
	}
	return s.Parent
}

func stop(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}
