package scheduler

import (
	"strings"
	"testing"
)

func TestTooNested(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                                           false,
		`{"a":[{"b":[]}]}`:                           false,
		strings.Repeat("[", 100):                     false,
		strings.Repeat("[", 101):                     true,
		strings.Repeat(`{"a":`, 101):                 true,
		strings.Repeat("[],", 1_000):                 false,
		`"` + strings.Repeat("[", 1_000):             false,
		`"\"` + strings.Repeat("[", 1_000) + `"`:     false,
		`"\\"` + strings.Repeat("[", 101):            true,
		`{"x":"` + strings.Repeat(`\"[`, 200) + `"}`: false,
	} {
		if got := TooNested([]byte(text)); got != want {
			t.Errorf("%.40q: %t", text, got)
		}
	}
}
