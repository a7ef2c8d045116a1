// Package failover tests the built binary in what takes minutes, most of them in waiting: servers that are replaced,
// binaries of earlier commits beside it, a steady rate.
package failover

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// binary is what is tested, built once by TestMain.
var binary string

// patience is for what takes a second on a machine with nothing else to do.
const patience = 5 * time.Minute

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bellhop-failover-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "bellhop")
	build := exec.Command("go", "build", "-o", binary, "bellhop/cmd/bellhop")
	if said, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build bellhop: %v\n%s", err, said)
		return 1
	}
	return pgtest.Main(m)
}

// bellhop runs a command that must succeed.
func bellhop(t *testing.T, program, url string, args ...string) string {
	t.Helper()
	said, err := command(program, url, args...)
	if err != nil {
		t.Fatalf("bellhop %q: %v\n%s", args, err, said)
	}
	return said
}

func command(program, url string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "DATABASE_URL=" + url}
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// instance is one `bellhop serve`.
type instance struct {
	t      *testing.T
	cmd    *exec.Cmd
	exited chan struct{}
	mu     sync.Mutex
	stderr strings.Builder
}

// serve starts an instance of this program, whose agents are witnesses, and waits until it is registered.
func serve(t *testing.T, program, url, name, journal string) *instance {
	t.Helper()
	dir := pgtest.Dir(t)
	conf := filepath.Join(dir, "bellhop.yaml")
	if err := os.WriteFile(conf, []byte(fmt.Sprintf(`listen: 127.0.0.1:0
database: {url: %q}
instance: {name: %s}
hosts: [{name: local, slots: 4}]
agents: [{type: work, command: [%q, torture-agent], env: {BELLHOP_TORTURE: %q}}]
`, url, name, binary, journal)), 0o600); err != nil {
		t.Fatal(err)
	}
	i := &instance{t: t, cmd: exec.Command(program, "serve", "-c", conf), exited: make(chan struct{})}
	i.cmd.Dir, i.cmd.Stderr = dir, i
	i.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(i.exited)
		_ = i.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		i.stop()
		if t.Failed() {
			said := i.said()
			t.Logf("%s said:\n%s", name, said[max(0, len(said)-8000):])
		}
	})
	pgtest.Eventually(t, patience, name+" is registered", func() bool {
		if i.over() {
			t.Fatalf("serve has ended:\n%s", i.said())
		}
		return strings.Contains(i.said(), `"instance registered"`)
	})
	return i
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

func (i *instance) over() bool {
	select {
	case <-i.exited:
		return true
	default:
		return false
	}
}

// stop tells it to end, and kills it when it does not.
func (i *instance) stop() {
	i.t.Helper()
	if i.over() {
		return
	}
	_ = i.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-i.exited:
	case <-time.After(patience):
		i.t.Errorf("serve does not end:\n%s", i.said())
		_ = i.cmd.Process.Kill()
		<-i.exited
	}
}
