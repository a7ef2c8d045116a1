package look

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// shown is a screen that has looked once.
func shown(width, height int) screen {
	s := screen{every: time.Second, pace: &pace{}, colour: func(line string) string { return line }}
	half := float32(0.5)
	v := busyView()
	v.Jobs = []store.JobRow{
		{ID: 42, Type: "a", State: scheduler.Running, Progress: &half},
		{ID: 43, Type: "b", State: scheduler.Running},
	}
	for _, m := range []tea.Msg{tea.WindowSizeMsg{Width: width, Height: height}, looked{view: v}} {
		s = step(s, m)
	}
	return s
}

func step(s screen, m tea.Msg) screen {
	next, _ := s.Update(m)
	return next.(screen)
}

func typed(s screen, keys ...string) screen {
	named := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "backspace": tea.KeyBackspace,
		"up": tea.KeyUp, "down": tea.KeyDown, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp,
		"home": tea.KeyHome, "end": tea.KeyEnd}
	for _, k := range keys {
		if t, is := named[k]; is {
			s = step(s, tea.KeyMsg{Type: t})
			continue
		}
		s = step(s, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
	}
	return s
}

func TestScreen_KeysScrollFilterAndPause(t *testing.T) {
	t.Parallel()
	s := shown(100, 12)
	text := s.View()
	for _, want := range []string{"bellhop  03:04:05", "HOST", "q quit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "JOB ") {
		t.Errorf("all of it on 12 lines:\n%s", text)
	}
	if down := typed(s, "down", "down"); down.offset != 2 || !strings.Contains(down.View(), "bellhop  03") {
		t.Errorf("two lines down: %d", down.offset)
	}
	if end := typed(s, "end"); !strings.Contains(end.View(), "a.1") || strings.Contains(end.View(), "more") {
		t.Errorf("the end is\n%s", end.View())
	}
	if back := typed(s, "end", "home", "up"); back.offset != 0 {
		t.Errorf("back at %d", back.offset)
	}

	tall := shown(100, 80)
	if !strings.Contains(tall.View(), "##########") && !strings.Contains(tall.View(), "#####..... 50 %") {
		t.Errorf("no progress in\n%s", tall.View())
	}
	only := typed(tall, "/", "ö", "d", "enter")
	text = only.View()
	if !strings.Contains(text, "only öd") || !strings.Contains(text, "unknown_type") || strings.Contains(text, "a.1") {
		t.Errorf("only öd is\n%s", text)
	}
	if all := typed(only, "esc"); all.filter != "" || !strings.Contains(all.View(), "a.1") {
		t.Error("esc shows all")
	}
	if some := typed(tall, "/", "q", "backspace", "4", "3"); some.filter != "43" || !strings.Contains(some.View(), "filter: 43_") {
		t.Errorf("while it is typed, q is a letter: %q", some.filter)
	}

	held := typed(tall, "p")
	now := tall.view
	now.At = now.At.Add(time.Hour)
	if text := step(held, looked{view: now}).View(); !strings.Contains(text, "03:04:05") || !strings.Contains(text, "PAUSED") {
		t.Errorf("paused:\n%s", text)
	}
	if text := step(typed(held, "p"), looked{view: now}).View(); !strings.Contains(text, "04:04:05") {
		t.Errorf("it goes on:\n%s", text)
	}
	if _, quit := s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); quit == nil || quit() != tea.Quit() {
		t.Error("q does not quit")
	}
	if next, quit := s.Update(looked{err: errors.New("gone")}); quit == nil || next.(screen).err == nil {
		t.Error("an error does not end it")
	}
}

// Law: whatever is typed, on a terminal of any size, no line is wider than it, and
// there are no more lines than it has.
func TestScreen_FitsAnyTerminal(t *testing.T) {
	t.Parallel()
	keys := []string{"up", "down", "pgup", "pgdown", "home", "end", "/", "a", "p", "enter", "esc", "backspace", "ö"}
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(2, 120).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height")
		s := typed(shown(width, height), rapid.SliceOfN(rapid.SampledFrom(keys), 0, 20).Draw(t, "keys")...)
		lines := strings.Split(s.View(), "\n")
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
