package cli

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

// What is quoted shows nothing that a terminal obeys, and a shell that it is pasted into has the same text again.
func TestShellWord_CanBePasted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "it's", `back\slash`, "a b", "$(id)`id`", "naïve 日本", "", "-rf",
		"\x1b[2J'\\\x07", "\u009b2K\u202egnp\u2066", "tab\there\nand\rthere", "\x1b7digits\x1b", "\u200b"} {
		word := ShellWord(text)
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q moves a terminal", word)
		}
		back, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+word).Output()
		if string(back) != text || err != nil {
			t.Errorf("%q came back as %q, %v", text, back, err)
		}
	}
}

func TestPrintable_KeepsLinesAndTabs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a\n\tb\n": "a\n\tb\n", "a\x1b[1m\nb\r\n": "a\\x1b[1m\nb\\r\n", "\u202e\t\x9b": "\\u202e\t\\x9b", "\xff": "\\xff",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
