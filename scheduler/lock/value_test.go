package lock

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// set reads locks that a test is sure of.
func set(t testing.TB, texts ...string) Set {
	t.Helper()
	wants := make([]Want, len(texts))
	for i, text := range texts {
		w, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		wants[i] = w
	}
	return NewSet(wants...)
}

// Ganeti design-predictive-queue, merge within a job; nothing is forgotten.
func TestMerge_KeepsBothModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []string
		kind Kind
		text []string
	}{
		{nil, KindNone, []string{}},
		{[]string{"a:x=shared", "a:y=shared"}, KindShared, []string{"a:x=shared", "a:y=shared"}},
		{[]string{"a:x=exclusive", "a:y=exclusive"}, KindExclusive, []string{"a:x=exclusive", "a:y=exclusive"}},
		{[]string{"a:x=shared", "a:y=exclusive"}, KindExclusive, []string{"a:x=shared", "a:y=exclusive"}},
		{[]string{"a:x=shared", "a:x=exclusive"}, KindExclusive, []string{"a:x=exclusive"}},
		{[]string{"a:x=exclusive", "a:x=shared"}, KindExclusive, []string{"a:x=exclusive"}},
		{[]string{"a:x=shared", "a:?=shared"}, KindUnknownShared, []string{"a:?=shared", "a:x=shared"}},
		{[]string{"a:*=shared", "a:?=shared"}, KindAllShared, []string{"a:*=shared", "a:?=shared"}},
		{[]string{"a:*=shared", "a:x=exclusive"}, KindExclusive, []string{"a:*=shared", "a:x=exclusive"}},
		{[]string{"a:?=exclusive", "a:x=exclusive"}, KindUnknownExclusive, []string{"a:?=exclusive", "a:x=exclusive"}},
		{[]string{"a:*=exclusive", "a:?=exclusive"}, KindAllExclusive, []string{"a:*=exclusive", "a:?=exclusive"}},
		{[]string{"a:*=exclusive", "a:*=shared"}, KindAllExclusive, []string{"a:*=exclusive"}},
	} {
		s := set(t, c.in...)
		if s.At("a").Kind() != c.kind || !slices.Equal(s.Text(), c.text) {
			t.Errorf("%q: %v, %q", c.in, s.At("a").Kind(), s.Text())
		}
	}
}

func TestMerge_IsASemilattice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := sets().Draw(t, "a"), sets().Draw(t, "b"), sets().Draw(t, "c")
		same := func(x, y Set) {
			if !slices.Equal(x.Text(), y.Text()) {
				t.Fatalf("%q, %q", x.Text(), y.Text())
			}
		}
		same(a.Merge(b), b.Merge(a))
		same(a.Merge(b).Merge(c), a.Merge(b.Merge(c)))
		same(a.Merge(a), a)
		same(a.Merge(Set{}), a)
		same(a.Merge(b), NewSet(append(a.Wants(), b.Wants()...)...))
		if m := a.Merge(b); m.At("a").Kind() < max(a.At("a").Kind(), b.At("a").Kind()) {
			t.Fatalf("a merge wants less: %q", m.Text())
		}
	})
}

func TestResolve_WhatIsNotThereIsUnknown(t *testing.T) {
	t.Parallel()
	job := map[string]string{"args": "*", "vars.C": "42", "vars.EMPTY": ""}
	lookup := func(name string) (string, bool) { v, ok := job[name]; return v, ok }
	for text, want := range map[string]string{
		"a:${vars.C}=exclusive":        "a:42=exclusive",
		"a:c-${vars.C}:${args}=shared": "a:c-42:*=shared",
		"a:${args}=shared":             `a:\*=shared`, // a value is a name, whatever it says
		"a:${key}=exclusive":           "a:?=exclusive",
		"a:x${vars.NO}=shared":         "a:?=shared",
		"a:${vars.EMPTY}=shared":       "a:?=shared",
		"a:x${vars.EMPTY}=shared":      "a:x=shared",
		"a:$${args}=shared":            "a:${args}=shared",
		"a:*=shared":                   "a:*=shared",
		"a:?=exclusive":                "a:?=exclusive",
		"big":                          "big",
	} {
		list, err := ParseTemplates([]string{text}, testLevels)
		if err != nil {
			t.Error(err)
			continue
		}
		if s, err := Resolve(list, lookup); err != nil || !slices.Equal(s.Text(), []string{want}) {
			t.Errorf("%s: %q, %v", text, s.Text(), err)
		}
	}
}

func TestResolve_NoLockHasSuchAName(t *testing.T) {
	t.Parallel()
	list, _ := ParseTemplates([]string{"a:${args}=shared"}, testLevels)
	for _, value := range []string{string(make([]byte, MaxName+1)), "\xff", "\x00"} {
		if s, err := Resolve(list, func(string) (string, bool) { return value, true }); err == nil {
			t.Errorf("%q: %q", value, s.Text())
		}
	}
}

func TestParseTemplates_FindsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := ParseTemplates([]string{"a:x${foo}=shared", "z:1=shared", "a:${vars.}=shared", "a:${args=shared", "a:1=shared"}, testLevels)
	want := `lock "a:x${foo}=shared", character 4: "${foo}" stands for nothing; write ${args}, ${key} or ${vars.NAME}; $${ for the letters themselves
lock "z:1=shared", character 1: there is no level "z"; the levels are a, b, c; others are named in policy.levels
lock "a:${vars.}=shared", character 3: "${vars.}" stands for nothing; write ${args}, ${key} or ${vars.NAME}; $${ for the letters themselves
lock "a:${args=shared", character 3: "${args" stands for nothing; write ${args}, ${key} or ${vars.NAME}; $${ for the letters themselves`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestNewSet_DoesNotChangeWhatItIsGiven(t *testing.T) {
	t.Parallel()
	given := []Want{{Level: "b", Name: "1", Mode: Shared}, {Level: "a", Name: "1", Mode: Shared}}
	kept := slices.Clone(given)
	NewSet(given...)
	if !reflect.DeepEqual(given, kept) {
		t.Error(given)
	}
}
