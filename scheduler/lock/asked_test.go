package lock

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each case: who holds what, who waits for what (in this order), what is asked, and
// what becomes of it.
func TestAnswer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		held, waits string // "1 db:a=exclusive, …"
		ask         Ask
		want        string
	}{
		"free":               {"", "", Ask{Job: 1, Locks: []string{"db:a=exclusive"}}, "granted db:a=exclusive"},
		"big":                {"", "", Ask{Job: 1, Locks: []string{"big"}}, "granted big"},
		"held":               {"2 db:a=shared", "", Ask{Job: 1, Locks: []string{"db:a=exclusive"}}, "waits: db:a=exclusive, and job 2 has db:a=shared"},
		"held by all":        {"2 db:*=exclusive", "", Ask{Job: 1, Locks: []string{"db:a=shared"}}, "waits: db:a=shared, and job 2 has db:*=exclusive"},
		"shared":             {"2 db:a=shared", "", Ask{Job: 1, Locks: []string{"db:a=shared"}}, "granted db:a=shared"},
		"its own":            {"1 db:a=exclusive", "", Ask{Job: 1, Locks: []string{"db:a=shared"}}, "granted db:a=shared"},
		"upgrade":            {"1 db:a=shared", "", Ask{Job: 1, Locks: []string{"db:a=exclusive"}}, "granted db:a=exclusive"},
		"upgrade, not alone": {"1 db:a=shared, 2 db:a=shared", "", Ask{Job: 1, Locks: []string{"db:a=exclusive"}}, "waits: db:a=exclusive, and job 2 has db:a=shared"},
		"upgrade before who waits for it": {"1 db:a=shared", "2 db:a=exclusive", Ask{Job: 1, Locks: []string{"db:a=exclusive"}},
			"granted db:a=exclusive"},
		"behind who asked before": {"3 db:a=shared", "2 db:a=exclusive", Ask{Job: 1, Locks: []string{"db:a=shared"}},
			"waits: db:a=shared, and job 2 has asked for db:a=exclusive before"},
		"all or nothing":     {"2 db:b=exclusive", "", Ask{Job: 1, Locks: []string{"db:a=shared", "db:b=shared"}}, "waits: db:b=shared, and job 2 has db:b=exclusive"},
		"youngest of two":    {"2 db:b=exclusive, 1 db:a=exclusive", "1 db:b=exclusive", Ask{Job: 2, Locks: []string{"db:a=shared"}}, "cycle job 2 waits for db:a=shared, and job 1 has db:a=exclusive; job 1 waits for db:b=exclusive, and job 2 has db:b=exclusive"},
		"the older one":      {"2 db:b=exclusive, 1 db:a=exclusive", "2 db:a=exclusive", Ask{Job: 1, Locks: []string{"db:b=shared"}}, "waits: db:b=shared, and job 2 has db:b=exclusive"},
		"upgrade by both":    {"1 db:a=shared, 2 db:a=shared", "1 db:a=exclusive", Ask{Job: 2, Locks: []string{"db:a=exclusive"}}, "cycle job 2 waits for db:a=exclusive, and job 1 has db:a=shared; job 1 waits for db:a=exclusive, and job 2 has db:a=shared"},
		"any":                {"2 n:a=exclusive", "", Ask{Job: 1, Any: 2, Locks: []string{"n:a=shared", "n:b=exclusive", "n:c=exclusive", "n:d=exclusive"}}, "granted n:b=exclusive n:c=exclusive"},
		"any, that it has":   {"1 n:a=exclusive", "", Ask{Job: 1, Any: 1, Locks: []string{"n:a=exclusive"}}, "granted n:a=exclusive"},
		"any, not a wanted":  {"", "2 n:a=exclusive", Ask{Job: 1, Any: 1, Locks: []string{"n:a=exclusive"}}, "too few: 1 of n:a=exclusive are wanted, and 0 free"},
		"any, one twice":     {"", "", Ask{Job: 1, Any: 2, Locks: []string{"n:a=shared", "n:a=shared"}}, "too few: 2 of n:a=shared, n:a=shared are wanted, and 1 free"},
		"unlock":             {"1 db:a=shared, 1 db:b=shared", "", Ask{Job: 1, Unlock: []string{"db:a"}}, "freed db:a"},
		"unlock with a mode": {"1 db:a=shared", "", Ask{Job: 1, Unlock: []string{"db:a=shared"}}, "freed db:a"},
		"unlock another's":   {"2 db:a=shared", "", Ask{Job: 1, Unlock: []string{"db:a"}}, "refused"},
		"unknown":            {"", "", Ask{Job: 1, Locks: []string{"db:?=shared"}}, "refused"},
		"malformed":          {"", "", Ask{Job: 1, Any: 1, Locks: []string{"db:a=shared", "db"}}, "refused"},
	}
	for name, c := range cases {
		var waiting []Awaiting
		for i, g := range grantsOf(t, c.waits) {
			waiting = append(waiting, Awaiting{Grant: g, Since: time.Unix(int64(i), 0)})
		}
		a := AnyLevel.Answer([]Ask{c.ask}, grantsOf(t, c.held), waiting)[0]
		got := "granted " + strings.Join(a.Granted, " ")
		switch {
		case a.Refused != "":
			got = "refused"
		case a.TooFew != "":
			got = "too few: " + a.TooFew
		case a.Cycle != "":
			got = "cycle " + a.Cycle
		case len(a.Waits) > 0:
			got = "waits: " + a.Why
		case len(a.Freed) > 0:
			got = "freed " + a.Freed[0].Level + ":" + a.Freed[0].Name
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func grantsOf(t *testing.T, text string) (list []Grant) {
	t.Helper()
	for _, one := range strings.Split(text, ", ") {
		var job ID
		var want string
		if _, err := fmt.Sscan(one, &job, &want); text == "" || err != nil {
			continue
		}
		set, err := ParseAll([]string{want}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, grants(Job{ID: job, Locks: set}, nil)...)
	}
	return list
}
