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
	s.sql("update bellhop.jobqueue set state = 'assigned', instance = 1, host = 'local', fence = 1 where id = $1::text::bigint", s.id("a"))
	out := s.ok("top")
	for _, want := range []string{"bellhop  ", "running 0  ready 1", "assigned 1\n", look.NoInstance, "TYPE"} {
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

// The keys that run most stand first, then those that wait most; behind those of a type, how many others there are.
func TestTop_ShowsTheKeysThatMatter(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.id("plain")
	if out := s.ok("top"); strings.Contains(out, "SHARE") {
		t.Errorf("no type has shares, and yet it shows some:\n%s", out)
	}
	s.sql(`insert into bellhop.share values ('mail', 'customer-42', 3), ('mail', 'idle', 0.5)`)
	s.sql(`insert into bellhop.jobqueue (type, share) select 'mail', 'customer-' || k from generate_series(1, 60) k, generate_series(1, 3)`)
	s.sql(`insert into bellhop.jobqueue (type, share) select 'mail', 'customer-42' from generate_series(1, 1100)`)
	s.sql(`insert into bellhop.jobqueue (type, share, run_on, priority) select 'scan', e'\x1b[2Jä', 'h', 3 from generate_series(1, 2)`)
	s.sql(`insert into bellhop.jobqueue (type, share, state, fence, attempt, started_at)
		select 'mail', 'runs', 'running', 1, 1, now() from generate_series(1, 2)`)
	out := s.ok("top", "--once")
	_, table, _ := strings.Cut(out, "TYPE  SHARE")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) != 8 {
		t.Fatalf("it has %d lines:\n%s", len(lines), out)
	}
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	for i, want := range map[int]string{
		1: "mail runs 1 0 2", 2: "mail customer-42 3 1000 or more 0", 3: "mail customer-1 1 3 0",
		6: "mail … 56 more keys - - -", 7: `scan \x1b[2Jä 1 2 0`,
	} {
		if lines[i] != want {
			t.Errorf("line %d is %q, not %q, in\n%s", i, lines[i], want, table)
		}
	}
	if out := s.ok("top", "-o", "json"); !strings.Contains(out, `"name": "runs"`) || !strings.Contains(out, `"shares"`) {
		t.Errorf("json: %s", out)
	}
}
