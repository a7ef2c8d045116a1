package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal of a width, and gives both its ends.
func terminal(t *testing.T, width int) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)}); err != nil {
		t.Fatal(err)
	}
	return screen, program
}

// shown is what a table looks like on a terminal of 20 columns.
func shown(t *testing.T, env map[string]string) string {
	t.Helper()
	screen, program := terminal(t, 20)
	a := &app{stdout: program, getenv: func(name string) string { return env[name] }}
	if err := a.printTable(table{header: []string{"ID", "STATE", "WHAT"}, rows: [][]string{{"1", "failed", strings.Repeat("wörd ", 10)}}}); err != nil {
		t.Fatal(err)
	}
	program.Close()
	text, _ := io.ReadAll(screen) // ends with EIO once the program has closed its end
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestPrintTable_CutsAndColoursOnATerminal(t *testing.T) {
	t.Parallel()
	if got, want := shown(t, nil), "ID  STATE   WHAT\n1   \x1b[31mfailed\x1b[0m  wörd wö…\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, env := range map[string]map[string]string{"NO_COLOR": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}} {
		got := shown(t, env)
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s: coloured: %q", name, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 20 {
				t.Errorf("%s: a line of %d: %q", name, n, line)
			}
		}
	}
}

func TestLogs_EscapeControlCharactersOnATerminalOnly(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.id("a")
	s.over(id, "succeeded", 0)
	s.sql("insert into bellhop.log (job, attempt, level, line) values (1, 1, 'out', e'\\x1b[31mred')")
	if out := s.ok("logs", id); out != "\x1b[31mred\n" {
		t.Errorf("to a pipe: %q", out)
	}
	screen, program := terminal(t, 80)
	if code := run([]string{"--database-url", s.url, "logs", id}, strings.NewReader(""), program, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	program.Close()
	if text, _ := io.ReadAll(screen); string(text) != "\\x1b[31mred\r\n" {
		t.Errorf("to a terminal: %q", text)
	}
}
