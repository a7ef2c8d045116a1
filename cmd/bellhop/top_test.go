package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"bellhop/sql/store"
)

func busyView() topView {
	job := int64(42)
	v := topView{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Instances: []store.InstanceRow{{ID: 1}},
		Hosts: []store.HostRow{{Instance: 1, Name: "local", Slots: 8, Children: 3, Running: 2}, {Instance: 1, Name: "none", Slots: 0}},
		Queue: []store.QueueRow{{State: "ready", Type: "a", N: 12, Why: "no_room"}, {State: "running", Type: "a", N: 2}, {State: "held", N: 3}, {State: "ready", Type: "öd", N: 1, Why: "unknown_type"}}}
	for n := range 30 {
		v.Children = append(v.Children, store.ChildRow{Instance: 1, Host: "local", Name: "a.1", Type: "a", State: "RUNNING", Job: &job, Done: int64(n), Age: 3})
	}
	return v
}

func TestTop_FrameTellsHostsQueueAndChildren(t *testing.T) {
	t.Parallel()
	v := busyView()
	v.Children = v.Children[:1]
	before := v
	before.At = v.At.Add(-2 * time.Second)
	v.Children = []store.ChildRow{v.Children[0]}
	v.Children[0].Done = 300
	v.pace(before)
	text := strings.Join(v.frame(0, 0), "\n")
	for _, want := range []string{"03:04:05  150/s  running 2  ready 13  children 3/8", "held 3", "local  3/8    ########............  2", "none   0/0    --------------------",
		"a     12     2        150/s  no_room", "öd    1      0        0.0/s  unknown_type", "a.1    RUNNING"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := strings.Join(topView{}.frame(0, 0), "\n"); !strings.Contains(text, noInstance) {
		t.Errorf("nobody runs:\n%s", text)
	}
}

// However small the terminal: no line is wider, and no more lines than it has.
func TestTop_FrameFitsAnyTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 120).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height")
		lines := busyView().frame(width, height)
		if len(lines) > height || len(lines) == 0 {
			t.Fatalf("%d lines on %d", len(lines), height)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width || strings.ContainsAny(line, "\n\x1b") {
				t.Fatalf("%d characters on %d: %q", n, width, line)
			}
		}
	})
}

func TestTop_OneLookWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.id("a")
	out := s.ok("top")
	for _, want := range []string{"bellhop  ", "ready 1", noInstance, "TYPE"} {
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
	s := setup(t)
	screen, program := terminal(t, 17)
	var read strings.Builder
	drawn, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		buffer, frames := make([]byte, 4096), 0
		for {
			n, err := screen.Read(buffer)
			read.Write(buffer[:n])
			if seen := strings.Count(read.String(), "\x1b[J"); seen >= 2 && frames < 2 {
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
		a := &app{stdin: strings.NewReader(""), stdout: program, stderr: io.Discard, getenv: func(string) string { return "" }}
		ctx, cancel := contextUntil(end)
		defer cancel()
		root := a.root()
		root.SetArgs([]string{"--database-url", s.url, "top", "--interval", "100ms"})
		ended <- a.report(root.ExecuteContext(ctx))
	}()
	<-drawn
	close(end)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	program.Close()
	<-closed
	text := read.String()
	if !strings.HasPrefix(text, "\x1b[?1049h\x1b[?25l") || !strings.HasSuffix(text, "\x1b[?25h\x1b[?1049l") {
		t.Errorf("it begins %q and ends %q", text[:min(20, len(text))], text[max(0, len(text)-20):])
	}
	for _, line := range strings.FieldsFunc(strings.ReplaceAll(text, "\x1b[H", "\n"), func(r rune) bool { return r == '\n' || r == '\r' }) {
		for _, code := range []string{"\x1b[?1049h", "\x1b[?25l", "\x1b[K", "\x1b[J", "\x1b[?25h", "\x1b[?1049l"} {
			line = strings.ReplaceAll(line, code, "")
		}
		if n := utf8.RuneCountInString(line); n > 17 {
			t.Errorf("%d characters: %q", n, line)
		}
	}
}

// contextUntil is a context that ends when a channel is closed.
func contextUntil(end <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-end; cancel() }()
	return ctx, cancel
}
