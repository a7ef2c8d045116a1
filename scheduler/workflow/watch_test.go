package workflow

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNamed_IsANameOfItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(0, 400, -1).Draw(t, "a"), rapid.StringN(0, 400, -1).Draw(t, "b")
		if n := Named(a); utf8.RuneCountInString(n) > maxEvent || strings.Contains(n, "\x00") || !utf8.ValidString(n) {
			t.Fatalf("%q", n)
		}
		clean := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
		if (Named(a) == Named(b)) != (clean(a) == clean(b)) {
			t.Fatalf("%q and %q are %q and %q", a, b, Named(a), Named(b))
		}
	})
	long := strings.Repeat("a", 500)
	if Named(long+"1") == Named(long+"2") {
		t.Error("two long names are one")
	}
	at := time.Date(2026, 11, 1, 2, 3, 4, 5, time.FixedZone("", 3600))
	if got := FileEvent("/srv/a", 7, at, ""); got != "/srv/a 7 2026-11-01T01:03:04.000000005Z" {
		t.Error(got)
	}
	if got := FileEvent("/srv/a", 7, at, FileByPath); got != "/srv/a" {
		t.Error(got)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	got := Fields([]byte(`{"a":"x","b":1.50,"c":null,"d":{"e":[1]},"f":true}`))
	for name, want := range map[string]string{"a": "x", "b": "1.50", "d": `{"e":[1]}`, "f": "true"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, there := got["c"]; there || len(got) != 5 || !strings.HasPrefix(got["PAYLOAD"], `{"a"`) {
		t.Errorf("%q", got)
	}
	for text, n := range map[string]int{"order 7": 1, "": 1, "[1]": 1, "\xff": 0, strings.Repeat("x", maxPayload+1): 0} {
		if got := Fields([]byte(text)); len(got) != n {
			t.Errorf("of %.10q came %q", text, got)
		}
	}
	s := Sensor{Match: map[string]string{"a": "x", "f": "true"}}
	if !s.Matches(got) || s.Matches(map[string]string{"a": "x"}) || !(&Sensor{}).Matches(nil) {
		t.Error("matches")
	}
}
