package e2e

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// daemon runs a program of the system, which may be in /usr/sbin, until the test is over. What it said is shown if that
// has failed.
func daemon(t *testing.T, env []string, dir, name string, args ...string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		program = "/usr/sbin/" + name
	}
	var said bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, &said, &said
	cmd.WaitDelay = time.Second // what it has started may hold its streams
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		force := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // on our order
		force.Stop()
		if t.Failed() {
			t.Logf("%s %q said:\n%s", name, args, said.String())
		}
	})
}
