package lock

import (
	"slices"
	"strings"
	"testing"
)

func TestParseShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"${vars.CUSTOMER}":             {"vars.CUSTOMER"},
		"c-${vars.A}/${vars.B}":        {"=c-", "vars.A", "=/", "vars.B"},
		"${vars.A}${args}$${x}-${key}": {"vars.A", "args", "=${", "=x}-", "key"},
	} {
		s, err := ParseShare(text)
		if err != nil || s.Text() != text || !slices.Equal(s.Parts(), want) {
			t.Errorf("%s: %q %v, want %q", text, s.Parts(), err, want)
		}
	}
	for text, want := range map[string]string{
		"": "it is empty", "mail": "names no var", "${args}": "names no var", "$${vars.A}": "names no var",
		"${CUSTOMER}": "stands for nothing", "${vars.}": "stands for nothing", "${vars.A": "stands for nothing",
		"${vars.A}" + strings.Repeat("x", 200): "209 characters", "${vars.A}\xff": "not valid text",
	} {
		if s, err := ParseShare(text); err == nil || !strings.Contains(err.Error(), want) || s.Text() != "" {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
