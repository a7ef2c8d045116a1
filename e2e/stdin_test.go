package e2e

import (
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

// heardBuffer is what a program has said so far.
type heardBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heardBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heardBuffer) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// `serve -I` needs no database, finishes what runs at SIGINT, and kills it at
// SIGTERM.
func TestServeStdin_Signals(t *testing.T) {
	t.Parallel()
	for sig, want := range map[syscall.Signal]string{syscall.SIGINT: "1 a succeeded", syscall.SIGTERM: ""} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			e := &env{t: t, dir: pgtest.Dir(t)}
			agent := e.worker("agent", `echo up >>"$DIR/up"; until [ -e "$DIR/go" ]; do sleep 0.01; done`)
			cmd := exec.Command(binary, "serve", "-I", "-c", e.file("bellhop.yaml", "limits: {kill_after: 1s}\n"+agents("type: a, command: ["+agent+"]"), 0o644))
			cmd.Dir, cmd.Env = e.dir, environment(e.dir)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var heard heardBuffer
			cmd.Stdout, cmd.Stderr = &heard, &heard
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(stdin, "a x\n"); err != nil {
				t.Fatal(err)
			}
			pgtest.Eventually(t, patience, "the agent works", func() bool { return len(e.lines("up")) == 1 })
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if sig == syscall.SIGINT {
				e.file("go", "", 0o644)
			}
			_ = cmd.Wait() // how it ended is in ProcessState
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d\n%s", code, heard.String())
			}
			if got := strings.TrimSpace(heard.String()); got != want {
				t.Errorf("said %q, want %q", got, want)
			}
		})
	}
}
