package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/cmd/bellhop/internal/look"
)

func TestTop_OneLookWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.id("a")
	out := s.ok("top")
	for _, want := range []string{"bellhop  ", "ready 1", look.NoInstance, "TYPE"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if out = s.ok("top", "-o", "json"); !strings.Contains(out, `"queue"`) {
		t.Errorf("json: %s", out)
	}
}

// On a terminal it draws in place, and leaves it as it was, whatever ends it.
func TestTop_LeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	screen, program := clitest.Terminal(t, 17)
	var read strings.Builder
	drawn, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		buffer, frames := make([]byte, 4096), 0
		for {
			n, err := screen.Read(buffer)
			read.Write(buffer[:n])
			if seen := strings.Count(read.String(), "bellhop"); seen >= 1 && frames < 1 {
				frames = seen
				close(drawn)
			}
			if err != nil {
				return
			}
		}
	}()
	ended := make(chan int)
	end := make(chan struct{})
	go func() {
		a := &cli.App{Stdin: strings.NewReader(""), Stdout: program, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		ctx, cancel := contextUntil(end)
		defer cancel()
		root := newRoot(a)
		root.SetArgs([]string{"--database-url", s.url, "top", "--interval", "100ms"})
		ended <- a.Report(root.ExecuteContext(ctx))
	}()
	<-drawn
	close(end)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	program.Close()
	<-closed
	text := read.String()
	// The other screen, without a cursor; and back.
	for _, code := range []string{"\x1b[?1049h", "\x1b[?25l", "\x1b[?25h", "\x1b[?1049l"} {
		if !strings.Contains(text, code) {
			t.Errorf("it does not say %q: %q", code, text)
		}
	}
	if strings.LastIndex(text, "\x1b[?25l") > strings.LastIndex(text, "\x1b[?25h") ||
		strings.LastIndex(text, "\x1b[?1049h") > strings.LastIndex(text, "\x1b[?1049l") {
		t.Errorf("the terminal is not as it was: %q", text[max(0, len(text)-60):])
	}
}

// SIGTERM ends it as q does; it draws anew where its terminal gets another size.
func TestTop_HearsSignals(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	screen, program := clitest.Terminal(t, 80)
	was, err := term.GetState(int(program.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "--database-url", s.url, "top")
	c.Env = append(os.Environ(), "BELLHOP_TEST_PROGRAM=1", "NO_COLOR=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	buffer, text := make([]byte, 4096), ""
	until := func(want string) {
		t.Helper()
		for !strings.Contains(text, want) {
			n, err := screen.Read(buffer)
			if text += string(buffer[:n]); err != nil {
				t.Fatalf("no %q in %q: %v", want, text, err)
			}
		}
		text = ""
	}
	until("q quit · ↑↓ scroll")
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: 20}); err != nil {
		t.Fatal(err)
	}
	until("\x1b[5;1H\x1b[Kq quit · ↑↓ scroll …")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until("\x1b[?25h\x1b[?1049l")
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if is, err := term.GetState(int(program.Fd())); err != nil || !reflect.DeepEqual(is, was) {
		t.Errorf("the modes of the terminal are %v, not %v (%v)", is, was, err)
	}
}

// contextUntil is a context that ends when a channel is closed.
func contextUntil(end <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-end; cancel() }()
	return ctx, cancel
}
