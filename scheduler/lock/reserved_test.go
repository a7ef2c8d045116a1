package lock

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Whoever is reserved for is so until a filter, or a limit that is full, keeps it waiting.
func TestChoose_WhoIsReservedForUnderFilters(t *testing.T) {
	t.Parallel()
	now := time.Unix(10_000_000, 0)
	all, err := ParsePredicate(`["opcode",["=","type","old"]]`)
	if err != nil {
		t.Fatal(err)
	}
	old := Waiting{Job: 1, Type: "old", Since: now.Add(-time.Hour), Locks: []string{"a:x=exclusive", "a:y=exclusive"}}
	for _, c := range []struct {
		action, reason string
		parked         string // behind what it waits then; empty: it is reserved for
	}{
		{"ACCEPT", "", ""},
		{"RATE_LIMIT 2", "", ""},
		{"RATE_LIMIT 1", "", "filter:r"},
		{"RATE_LIMIT 2 per 1h", "", ""},
		{"PAUSE", "", "paused:r"},
		{"CONTINUE", "rate-limit:2:mail", ""},
		{"CONTINUE", "rate-limit:1:mail", "rate-limit:1:mail"},
	} {
		action, err := ParseAction(c.action)
		if err != nil {
			t.Fatal(err)
		}
		old := old
		old.Reasons = []string{c.reason}
		got := AnyLevel.Choose(Pass{
			Now: now,
			Held: []Grant{
				{Job: 3, Level: "a", Name: "y", Mode: Exclusive.String()},
				{Job: 4, Level: limitLevel, Name: "1:mail", Mode: Slot},
			},
			Reserved: []Waiting{old},
			Waiting:  []Waiting{{Job: 2, Type: "young", Since: now, Locks: []string{"a:x=exclusive"}}},
			Running:  []Waiting{{Job: 3, Type: "old"}},
			Rules:    []Rule{{ID: "r", Action: action, Predicates: []Predicate{all}}},
			Most:     map[string]int{"old": 5, "young": 5},
			Total:    5,
		})
		young := slices.ContainsFunc(got.Start, func(s Start) bool { return s.Job == 2 })
		if young != (c.parked != "") {
			t.Errorf("%s, %q: the young one starts: %v", c.action, c.reason, young)
		}
		var behind string
		for _, w := range got.Wait {
			if w.Job == 1 {
				behind = w.Behind
			}
		}
		if behind != c.parked || slices.Contains(got.Parked, 1) != (c.parked != "") {
			t.Errorf("%s, %q: the old one waits behind %q, parked %v, want %q", c.action, c.reason, behind, got.Parked, c.parked)
		}
	}
	rules := []Rule{{ID: "r", Action: Action{Kind: Reject}}}
	reject := AnyLevel.Choose(Pass{Now: now, Reserved: []Waiting{old}, Rules: rules})
	if len(reject.Reject) != 1 {
		t.Errorf("what is rejected is not cancelled where it is reserved for: %+v", reject)
	}
}

// Behind what jobs wait whose locks cannot be read has an index: it is short whatever they say.
func TestChoose_WhatCannotBeReadIsWaitedForUnderAShortName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*MaxName)
	for text, want := range map[string]string{
		long:                     "unreadable:*",
		long + ":a=exclusive":    "unreadable:*",
		"db:" + long + "=shared": "unreadable:db",
		"no lock":                "unreadable:*",
	} {
		got := AnyLevel.Choose(Pass{Waiting: []Waiting{{Job: 1, Locks: []string{text}}}})
		if len(got.Wait) != 1 || got.Wait[0].Behind != want {
			t.Errorf("%.20s…: %.60v, want %s", text, got.Wait, want)
		}
	}
}
