package main

import (
	"context"
	"io"
	"strings"
	"testing"

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

// contextUntil is a context that ends when a channel is closed.
func contextUntil(end <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-end; cancel() }()
	return ctx, cancel
}
