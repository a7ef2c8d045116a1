package words

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "漢字": 4, "e\u0301": 1, "🚀 3": 4, "ｆ": 2, "…": 1} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d, want %d", text, got, want)
		}
	}
	if got := Pad("漢", 4) + "|"; got != "漢  |" {
		t.Errorf("%q", got)
	}
}

// What is cut fits, and begins as it was.
func TestCut_Fits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, width := rapid.StringOf(rapid.RuneFrom([]rune("aé漢🚀\u0301…"))).Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "width")
		got := Cut(text, width)
		begin, cut := strings.CutSuffix(got, "…")
		switch {
		case Width(got) > width:
			t.Errorf("%q takes %d of %d", got, Width(got), width)
		case Width(text) <= width && got != text:
			t.Errorf("%q is cut to %q, and fits", text, got)
		case cut && !strings.HasPrefix(text, begin):
			t.Errorf("%q does not begin %q", got, text)
		}
	})
}
