package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestRedact_HidesPasswords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"cannot use postgres://u:secret@h/d now", "postgres://u:p@secret@h/d", "postgres://h/d?user=u&password=secret",
		"host=h password=secret user=u", "host=h password = 'sec ret secret' user=u",
	} {
		if got := Redact(text); strings.Contains(got, "secret") || !strings.Contains(got, "xxxxx") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if text := "postgres://u@h:5432/d has no password"; Redact(text) != text {
		t.Errorf("%q became %q", text, Redact(text))
	}
}

func TestReport_IsOneParagraphWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	if got := paragraph("one\n\n\ttwo\x1b[2J\n"); got != "one\n  two\\x1b[2J" {
		t.Errorf("got %q", got)
	}
	if f := ExplainFailure(errors.New("disk full")); f.Code != ExitSystem {
		t.Errorf("got %+v", f)
	}
}
