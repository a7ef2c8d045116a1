package pgdev_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// owner is another process that owns a cluster.
type owner struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	dir   string
	pid   int // the server's
	url   string
}

// newOwner starts one; dir "" is a temporary cluster.
func newOwner(t *testing.T, dir string) *owner {
	t.Helper()
	if _, err := pgdev.Find(); err != nil {
		pgtest.Cluster(t) // skips or fails by the one rule
	}
	o := &owner{cmd: exec.Command(os.Args[0])}
	o.cmd.Env = append(os.Environ(), "PGDEV_TEST_OWN="+dir)
	o.cmd.Stderr = os.Stderr
	var err error
	if o.stdin, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &o.dir, &o.pid, &o.url); err != nil {
		t.Fatalf("the owner says %q", line)
	}
	return o
}

// kill is kill -9.
func (o *owner) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

// leave lets the owner stop in good order.
func (o *owner) leave(t *testing.T) {
	t.Helper()
	if _, err := o.stdin.Write([]byte{'.'}); err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestOwnerKilled_TemporaryClusterGoes(t *testing.T) {
	t.Parallel()
	o := newOwner(t, "")
	o.kill()
	pgtest.Eventually(t, 30*time.Second, "the server is gone", func() bool { return dead(o.pid) })
	pgtest.Eventually(t, 30*time.Second, "the folder is gone", func() bool { return missing(o.dir) })
	if list := working(t, o.dir); len(list) > 0 {
		t.Errorf("processes left: %v", list)
	}
}

func TestOwnerKilled_KeptClusterIsStoppedAndKept(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	o := newOwner(t, dir)
	ask(t, o.url, "CREATE TABLE kept AS SELECT 'yes' AS was")
	o.kill()
	pgtest.Eventually(t, 30*time.Second, "the server is gone", func() bool { return dead(o.pid) })
	c := begin(t, pgdev.Config{Dir: dir})
	if got := ask(t, c.URL(), "SELECT was FROM kept"); got != "yes" {
		t.Errorf("kept: %q", got)
	}
	// stopped in good order, not by a crash
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || strings.Contains(string(log), "was not properly shut down") {
		t.Errorf("the watcher let the server crash: %v", err)
	}
}

// TestOwnerKilled_WhileTheClusterIsMade: whatever it was doing.
func TestOwnerKilled_WhileTheClusterIsMade(t *testing.T) {
	t.Parallel()
	if _, err := pgdev.Find(); err != nil {
		pgtest.Cluster(t) // skips or fails by the one rule
	}
	dir := folder(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PGDEV_TEST_OWN="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 30*time.Second, "initdb is at work", func() bool { return !missing(filepath.Join(dir, "data.new", "PG_VERSION")) })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	pgtest.Eventually(t, 30*time.Second, "initdb is gone", func() bool { return len(working(t, dir)) == 0 })
	c := begin(t, pgdev.Config{Dir: dir})
	ask(t, c.URL(), "SELECT 'there'")
}

func TestOwners_SecondAttachesAndLastStops(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := newOwner(t, dir)
	second := begin(t, pgdev.Config{Dir: dir})
	if second.PID() != first.pid || second.URL() != first.url {
		t.Fatalf("a second server: %d, not %d", second.PID(), first.pid)
	}
	ask(t, second.TCPURL(), "SELECT 'the password is the same'")
	first.leave(t)
	if second.PID() != first.pid {
		t.Fatal("the first owner took the server with it")
	}
	third := newOwner(t, dir)
	third.kill()
	// Its watcher still has its share, for a moment.
	pgtest.Eventually(t, time.Minute, "only one watcher is left", func() bool { return watchers(t, dir) == 1 })
	if got := ask(t, second.URL(), "SELECT 'still there'"); got != "still there" {
		t.Error(got)
	}
	if err := second.Restart(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	last := second.PID()
	stop(t, second)
	if !dead(last) || len(working(t, dir)) > 0 {
		t.Error("the last owner left the server running")
	}
}

func TestOwners_StartWhileTheLastStops(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for i := range 5 {
		o := newOwner(t, dir)
		o.kill() // its watcher is at work while the next one starts
		c, err := pgdev.Start(t.Context(), pgdev.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(t, c.URL(), "SELECT '"+strconv.Itoa(i)+"'"); got != strconv.Itoa(i) {
			t.Error(got)
		}
		stop(t, c)
	}
}
