package lock

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestConflicts_OnlyWhatIsKnownForbids(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		clash bool
	}{
		{"a:x=exclusive", "a:x=exclusive", true}, {"a:x=exclusive", "a:x=shared", true}, {"a:x=shared", "a:x=shared", false},
		{"a:x=exclusive", "a:y=exclusive", false}, {"a:x=exclusive", "b:x=exclusive", false},
		{"a:*=exclusive", "a:x=shared", true}, {"a:*=exclusive", "a:*=shared", true}, {"a:*=shared", "a:*=shared", false},
		{"a:*=shared", "a:x=shared", false}, {"a:*=shared", "a:x=exclusive", true}, {"a:*=exclusive", "b:x=shared", false},
		{"a:?=exclusive", "a:x=exclusive", false}, {"a:?=exclusive", "a:*=exclusive", false}, {"a:?=exclusive", "a:?=exclusive", false},
		{"big", "a:x=shared", true}, {"big", "a:?=shared", true}, {"big", "big", true}, {"big", "", false}, {"", "", false},
	} {
		var a, b Set
		if c.a != "" {
			a = set(t, c.a)
		}
		if c.b != "" {
			b = set(t, c.b)
		}
		if is, why := Conflicts(a, b); is != c.clash || is && why.String() != c.a+" is wanted, "+c.b+" is held" {
			t.Errorf("%q beside %q: %v, %v", c.a, c.b, is, why)
		}
	}
}

func TestConflicts_IsSymmetricAndGrowsWithAMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := sets().Draw(t, "a"), sets().Draw(t, "b"), sets().Draw(t, "c")
		ab, why := Conflicts(a, b)
		if ba, back := Conflicts(b, a); ab != ba || ab && (why == Conflict{} || back == Conflict{}) {
			t.Fatal("one way only")
		}
		if more, _ := Conflicts(a.Merge(c), b); ab && !more {
			t.Fatal("a job that wants more conflicts less")
		}
	})
}

// A check costs what the job names, not what is held.
func BenchmarkIndex_Blocker(b *testing.B) {
	for _, holders := range []int{100, 10_000} {
		index := NewIndex()
		for i := range holders {
			index.Add(ID(i), set(b, "a:"+strconv.Itoa(i)+"=exclusive", "b:all=shared"))
		}
		job := set(b, "a:free=exclusive", "b:all=shared")
		b.Run(strconv.Itoa(holders), func(b *testing.B) {
			for b.Loop() {
				index.Blocker(job)
			}
		})
	}
}
