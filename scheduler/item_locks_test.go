package scheduler

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTakeLocks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                         nil,
		"{}":                       nil,
		"{NULL}":                   nil,
		`{""}`:                     nil,
		"big":                      {"big"},
		"a:b=shared":               {"a:b=shared"},
		"{a:b=shared,big}":         {"a:b=shared", "big"},
		"{NULL,a:b=shared}":        {"a:b=shared"},
		`{"a:b c=shared"}`:         {"a:b c=shared"},
		`{"a:,}{\"\\=shared",big}`: {`a:,}{"\=shared`, "big"},
		`{"NULL"}`:                 {"NULL"},
	} {
		rest, locks, err := TakeLocks([]Column{{"n", "1"}, {LocksColumn, text}, {"m", "2"}})
		if err != nil || !slices.Equal(locks, want) || !slices.Equal(rest, []Column{{"n", "1"}, {"m", "2"}}) {
			t.Errorf("%s: %q, %q, %v; want %q", text, rest, locks, err, want)
		}
	}
	for _, text := range []string{"{", "{a", "{a,", "{a,}", "{,a}", `{"a`, `{"a"`,
		`{"a"b}`, "{a}b", "{{a},{b}}", `{a"b"}`, `{"a",}`} {
		if _, locks, err := TakeLocks([]Column{{LocksColumn, text}}); err == nil ||
			!strings.Contains(err.Error(), "not a list of texts; make it text[]") {
			t.Errorf("%s: %q, %v", text, locks, err)
		}
	}
	plain := []Column{{"n", "1"}, {"Locks", "2"}}
	if rest, locks, err := TakeLocks(plain); err != nil || locks != nil || !slices.Equal(rest, plain) {
		t.Errorf("without the column: %q, %q, %v", rest, locks, err)
	}
}

// What PostgreSQL writes of a list is read back, whatever stands in it.
func TestTakeLocks_ReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringN(1, 10, -1), 1, 4).Draw(t, "list")
		quoted := make([]string, len(want))
		for i, w := range want {
			quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
		}
		_, locks, err := TakeLocks([]Column{{LocksColumn, "{" + strings.Join(quoted, ",") + "}"}})
		if err != nil || !slices.Equal(locks, want) {
			t.Fatalf("%q, %v; want %q", locks, err, want)
		}
	})
}

// Whatever the column holds, there is an answer.
func TestTakeLocks_IsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune(`{}",\aN`))).Draw(t, "text")
		_, _, _ = TakeLocks([]Column{{LocksColumn, text}})
	})
}
