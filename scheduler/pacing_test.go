package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// What each look comes to, one after the other, and when the next one is made. What is slowed down has a star.
func TestPacing(t *testing.T) {
	t.Parallel()
	const never, ms = time.Duration(-1), time.Millisecond
	nothing, failed, more := Look{Next: 0}, Look{Next: never, Failed: true}, Look{Did: 1, Next: 0}
	for name, test := range map[string]struct {
		want  string
		looks []Look
	}{
		"nobody has to look":            {"[never never]", []Look{{Next: never}, {Did: 1, Next: never}}},
		"when it is wanted":             {"[1m0s 10ms]", []Look{{Next: time.Minute}, {Did: 1, Next: 10 * ms}}},
		"a day ahead":                   {"[1h0m0s]", []Look{{Next: 24 * time.Hour}}},
		"there is more":                 {"[0s 0s]", []Look{more, more}},
		"another has it":                {"[50ms* 100ms* 200ms* 300ms* 300ms*]", slices.Repeat([]Look{nothing}, 5)},
		"it fails":                      {"[50ms* 100ms* 200ms* 300ms* 300ms*]", slices.Repeat([]Look{failed}, 5)},
		"it fails after something":      {"[50ms* 100ms* 50ms*]", []Look{failed, failed, {Did: 1, Next: never, Failed: true}}},
		"it was had":                    {"[50ms* 100ms* 0s 50ms*]", []Look{nothing, nothing, more, nothing}},
		"there is nothing any more":     {"[50ms* 100ms* never 50ms*]", []Look{nothing, nothing, {Next: never}, nothing}},
		"asked for, and there was some": {"[0s]", []Look{{Did: 1, Next: time.Hour, Asked: true}}},
		"asked for, and there was none": {"[50ms* 100ms*]", []Look{{Next: never, Asked: true}, {Next: never, Asked: true}}},
		"asked for, the next is far":    {"[50ms* 100ms* 1h0m0s]", []Look{{Next: 9 * time.Hour, Asked: true}, {Next: 9 * time.Hour, Asked: true}, {Next: 9 * time.Hour}}},
		"asked for, and it failed":      {"[50ms*]", []Look{{Did: 1, Next: never, Asked: true, Failed: true}}},
		"soon, and not yet":             {"[50ms* 100ms* 500ms]", []Look{{Next: 20 * ms}, {Next: 70 * ms}, {Next: 500 * ms}}},
		"it comes after all":            {"[50ms* 100ms* 1s 50ms*]", []Look{nothing, nothing, {Next: time.Second}, nothing}},
	} {
		p := Pacing{Soon: 50 * ms, Late: 300 * ms}
		var got []string
		for _, look := range test.looks {
			var in time.Duration
			p, in = p.After(look)
			said := in.String()
			if in < 0 {
				said = "never"
			}
			if p.Slowed() {
				said += "*"
			}
			got = append(got, said)
		}
		if s := fmt.Sprint(got); s != test.want {
			t.Errorf("%s: the next looks are in %s, want %s", name, s, test.want)
		}
	}
}
