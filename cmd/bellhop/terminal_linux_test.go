package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bellhop/cmd/bellhop/internal/clitest"
)

func TestLogs_EscapeControlCharactersOnATerminalOnly(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a")
	s.over(id, "succeeded", 0)
	s.sql("insert into bellhop.log (job, attempt, level, line) values (1, 1, 'out', e'\\x1b[31mred')")
	if out := s.ok("logs", id); out != "\x1b[31mred\n" {
		t.Errorf("to a pipe: %q", out)
	}
	screen, program := clitest.Terminal(t, 80)
	if code := run([]string{"--database-url", s.url, "logs", id}, strings.NewReader(""), program, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	program.Close()
	if text, _ := io.ReadAll(screen); string(text) != "\\x1b[31mred\r\n" {
		t.Errorf("to a terminal: %q", text)
	}
}

// No command asks the terminal for its colours: escapes would come before all that it prints, and it would wait for a
// terminal that does not answer. The libraries of a terminal do so where they are linked in, before main.
func TestCommands_AskNoTerminalForItsColours(t *testing.T) {
	t.Parallel()
	screen, program := clitest.Terminal(t, 80)
	c := exec.CommandContext(t.Context(), os.Args[0], "version")
	c.Env = append(os.Environ(), "BELLHOP_TEST_PROGRAM=1", "TERM=xterm-256color")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // its own: others are never asked
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	if text, _ := io.ReadAll(screen); !strings.HasPrefix(string(text), "bellhop ") {
		t.Errorf("it printed %q", text)
	}
}
