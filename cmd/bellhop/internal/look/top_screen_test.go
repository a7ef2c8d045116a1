package look

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// shown is a screen that has looked once.
func shown(width, height int) screen {
	half := float32(0.5)
	v := busyView()
	v.Jobs = []view.JobRow{
		{ID: 42, Type: "a", State: scheduler.Running, Progress: &half},
		{ID: 43, Type: "b", State: scheduler.Running},
	}
	return newScreen().sized(width, height).looked(v)
}

func drawn(s screen) string { return strings.Join(s.lines(), "\n") }

func pressed(s screen, names ...string) screen {
	s, _ = s.keys(names)
	return s
}

func TestScreen_KeysScrollFilterAndPause(t *testing.T) {
	t.Parallel()
	s := shown(100, 12)
	text := drawn(s)
	for _, want := range []string{"bellhop  03:04:05", "HOST", "q quit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "JOB ") {
		t.Errorf("all of it on 12 lines:\n%s", text)
	}
	if down := pressed(s, "down", "down"); down.offset != 2 || !strings.Contains(drawn(down), "bellhop  03") {
		t.Errorf("two lines down: %d", down.offset)
	}
	if end := pressed(s, "end"); !strings.Contains(drawn(end), "a.1") || strings.Contains(drawn(end), "more") {
		t.Errorf("the end is\n%s", drawn(end))
	}
	if back := pressed(s, "end", "home", "up"); back.offset != 0 {
		t.Errorf("back at %d", back.offset)
	}

	tall := shown(100, 80)
	if !strings.Contains(drawn(tall), "##########") && !strings.Contains(drawn(tall), "#####..... 50 %") {
		t.Errorf("no progress in\n%s", drawn(tall))
	}
	only := pressed(tall, "/", "ö", "d", "enter")
	text = drawn(only)
	if !strings.Contains(text, "only öd") || !strings.Contains(text, "unknown_type") || strings.Contains(text, "a.1") {
		t.Errorf("only öd is\n%s", text)
	}
	if all := pressed(only, "esc"); all.filter != "" || !strings.Contains(drawn(all), "a.1") {
		t.Error("esc shows all")
	}
	if some := pressed(tall, "/", "q", "backspace", "4", "3"); some.filter != "43" || !strings.Contains(drawn(some), "filter: 43_") {
		t.Errorf("while it is typed, q is a letter: %q", some.filter)
	}

	held := pressed(tall, "p")
	now := tall.view
	now.At = now.At.Add(time.Hour)
	if text := drawn(held.looked(now)); !strings.Contains(text, "03:04:05") || !strings.Contains(text, "PAUSED") {
		t.Errorf("paused:\n%s", text)
	}
	if text := drawn(pressed(held, "p").looked(now)); !strings.Contains(text, "04:04:05") {
		t.Errorf("it goes on:\n%s", text)
	}
	for _, name := range []string{"q", "ctrl+c"} {
		if _, ends := s.key(name); !ends {
			t.Errorf("%s does not end it", name)
		}
	}
}

// Keys have the names of what was typed, as any terminal sends it; a key that top does not know is no letters.
func TestKeys_OfTerminals(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"q": "q", "aö": "a ö", "\x1b": "esc", "\x1b\x1b": "esc esc",
		"\x1b[A\x1b[B": "up down", "\x1bOA\x1bOB": "up down", "\x1b[5~\x1b[6~": "pgup pgdown",
		"\x1b[H\x1b[F": "home end", "\x1b[1~\x1b[4~": "home end", "\x1b[7~\x1b[8~": "home end",
		"\r": "enter", "\x7f": "backspace", "\x03": "ctrl+c", "\x1a": "", "\xc3": "",
		"\x1b[1;5Aq": "q", "\x1b[15~q": "q", "\x1b[[Aq": "q", "\x1bxq": "q",
	} {
		if got := strings.Join(keys([]byte(sent)), " "); got != want {
			t.Errorf("%q is %q, not %q", sent, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range keys(rapid.SliceOf(rapid.Byte()).Draw(t, "sent")) {
			if name == "" || !utf8.ValidString(name) {
				t.Fatalf("a key is named %q", name)
			}
		}
	})
}

// Law: whatever is typed, on a terminal of any size, no line is wider than it, and
// there are no more lines than it has.
func TestScreen_FitsAnyTerminal(t *testing.T) {
	t.Parallel()
	keys := []string{"up", "down", "pgup", "pgdown", "home", "end", "/", "a", "p", "enter", "esc", "backspace", "ö"}
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(2, 120).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height")
		s := pressed(shown(width, height), rapid.SliceOfN(rapid.SampledFrom(keys), 0, 20).Draw(t, "keys")...)
		lines := strings.Split(drawn(s), "\n")
		if len(lines) > height {
			t.Fatalf("%d lines on %d", len(lines), height)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width {
				t.Fatalf("%d characters on %d: %q", n, width, line)
			}
		}
	})
}
