package main

import (
	"io"
	"strings"
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
