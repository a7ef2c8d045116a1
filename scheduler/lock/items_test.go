package lock

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func setOf(t interface{ Fatal(...any) }, texts ...string) Set {
	set, err := ParseAll(texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Each case: what items 1, 2, … need, who may go at first, and who besides when all
// of these are over.
func TestItems(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		items       string
		first, next []int64
	}{
		"one at a time":             {"a:x=exclusive a:x=exclusive a:x=exclusive", []int64{1}, []int64{2}},
		"beside others":             {"a:x=exclusive a:x=exclusive a:y=exclusive", []int64{1, 3}, []int64{2}},
		"all share":                 {"a:x=shared a:x=shared", []int64{1, 2}, nil},
		"nobody is overtaken":       {"a:x=shared a:x=exclusive a:x=shared", []int64{1}, []int64{2}},
		"nor by who is in two ways": {"a:x=exclusive a:x=exclusive+a:y=exclusive a:y=exclusive", []int64{1}, []int64{2}},
		"all of a level":            {"a:x=shared a:*=exclusive b:x=exclusive a:y=shared", []int64{1, 3}, []int64{2}},
		"unknown forbids nothing":   {"a:x=exclusive a:?=exclusive a:*=exclusive", []int64{1, 2}, []int64{3}},
		"big runs alone":            {"a:x=shared big b:y=shared", []int64{1}, []int64{2}},
		"big beside unknown":        {"big a:?=shared", []int64{1}, []int64{2}},
	}
	for name, c := range cases {
		var d Items
		for i, text := range strings.Fields(c.items) {
			d.Add(int64(i+1), setOf(t, strings.Split(text, "+")...))
		}
		first := d.Next()
		for _, item := range first {
			d.Over(item)
			d.Over(item) // twice is as once
		}
		if next := d.Next(); !slices.Equal(first, c.first) || !slices.Equal(next, c.next) {
			t.Errorf("%s: %v and then %v, want %v and %v", name, first, next, c.first, c.next)
		}
	}
}

// anySet is what an item may need: few names, so that they meet. A generator is no
// value to share: tests run at the same time, and it writes into itself.
func anySet() *rapid.Generator[Set] { return rapid.Custom(drawSet) }

func drawSet(t *rapid.T) Set {
	texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a:x=shared", "a:x=exclusive", "a:y=shared", "a:y=exclusive", "a:*=shared",
		"a:*=exclusive", "a:?=exclusive", "b:x=exclusive", "b:?=shared", "big"}), 1, 3).Draw(t, "locks")
	return setOf(t, texts...)
}

// Whatever comes and ends in whatever order: no two that conflict may go at once,
// nobody is overtaken by one that conflicts, whoever is in nobody's way may go, and
// at the end all went.
func TestItems_Laws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d Items
		sets, may, went := map[int64]Set{}, []int64{}, map[int64]bool{}
		clash := func(a, b int64) bool { is, _ := Conflicts(sets[a], sets[b]); return is }
		look := func() {
			for _, item := range d.Next() {
				if went[item] {
					t.Fatalf("item %d goes twice", item)
				}
				went[item] = true
				may = append(may, item)
			}
			for i, a := range may {
				for _, b := range may[:i] {
					if clash(a, b) {
						t.Fatalf("items %d and %d at once", a, b)
					}
				}
				for b := range a {
					if sets[b].Empty() || went[b] || !clash(a, b) {
						continue
					}
					t.Fatalf("item %d has overtaken %d", a, b)
				}
			}
			for a := int64(1); a <= int64(len(sets)); a++ {
				free := !went[a] && !slices.ContainsFunc(may, func(b int64) bool { return clash(a, b) })
				for b := range a {
					free = free && (sets[b].Empty() || went[b] || !clash(a, b))
				}
				if free {
					t.Fatalf("item %d may go, and does not", a)
				}
			}
			if d.Waiting() != len(sets)-len(went) {
				t.Fatalf("%d wait, want %d", d.Waiting(), len(sets)-len(went))
			}
		}
		end := func() {
			i := rapid.IntRange(0, len(may)-1).Draw(t, "who ends")
			d.Over(may[i])
			may = slices.Delete(may, i, i+1)
		}
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			if rapid.Bool().Draw(t, "comes") || len(may) == 0 {
				item := int64(len(sets) + 1)
				sets[item] = anySet().Draw(t, "needs")
				d.Add(item, sets[item])
			} else {
				end()
			}
			look()
		}
		for len(may) > 0 {
			end()
			look()
		}
		if len(went) != len(sets) || len(d.sets) > 0 || d.use.sets != 0 {
			t.Fatalf("%d of %d went; left: %v, %+v", len(went), len(sets), d.sets, d.use)
		}
	})
}

// A clash with many is one with any of them.
func TestUsage_SaysWhatConflictsSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.SliceOfN(anySet(), 0, 5).Draw(t, "sets")
		gone := rapid.IntRange(0, len(sets)).Draw(t, "of which are gone")
		var u usage
		for _, s := range sets {
			u.add(s, 1)
		}
		for _, s := range sets[:gone] {
			u.add(s, -1)
		}
		want := anySet().Draw(t, "wanted")
		conflicts := slices.ContainsFunc(sets[gone:], func(s Set) bool { is, _ := Conflicts(want, s); return is })
		if got := u.clashes(want); got != conflicts {
			t.Fatalf("%v beside %v: %v, want %v", want.Text(), sets[gone:], got, conflicts)
		}
		covers := want.Merge(sets0(sets)).key() == want.key()
		if got := want.Covers(sets0(sets)); got != covers {
			t.Fatalf("%v covers %v: %v", want.Text(), sets0(sets).Text(), got)
		}
	})
}

func sets0(sets []Set) Set {
	if len(sets) == 0 {
		return Set{}
	}
	return sets[0]
}

// Each case: who holds what, who waits for what in this order (of 7 and 8 an item
// does), what job 5 asks for its items, and what comes of it.
func TestAnswerItems(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		held, waits     string
		own, keep, want string
		result          string
	}{
		"free":           {"", "", "", "", "a:x=exclusive", "y has a:x=exclusive +a:x"},
		"held":           {"2 a:x=shared", "", "", "", "a:x=exclusive", "n has why: a:x=exclusive, and job 2 has a:x=shared"},
		"all or nothing": {"2 a:x=shared", "", "", "", "a:y=shared+a:x=exclusive", "n has why: a:x=exclusive, and job 2 has a:x=shared"},
		"one of two": {"2 a:x=shared", "", "", "", "a:x=exclusive a:y=exclusive",
			"ny has a:y=exclusive +a:y why: a:x=exclusive, and job 2 has a:x=shared"},
		"what its item has":   {"5 a:x=shared", "", "", "a:x=shared", "a:x=shared", "y has a:x=shared"},
		"made exclusive":      {"5 a:x=shared", "", "", "", "a:x=exclusive", "y has a:x=exclusive +a:x -a:x"},
		"not beside a sharer": {"5 a:x=shared, 2 a:x=shared", "", "", "", "a:x=exclusive", "n has -a:x why: a:x=exclusive, and job 2 has a:x=shared"},
		"given back":          {"5 a:x=shared, 5 a:y=shared", "", "", "a:y=shared", "", " has a:y=shared -a:x"},
		"its own stays":       {"5 a:x=shared, 5 a:y=shared", "", "a:x=shared", "", "", " has -a:y"},
		"its own is made exclusive, and shared again": {"5 a:x=exclusive", "", "a:x=shared", "", "", " has +a:x -a:x"},
		"of its own":       {"5 a:x=exclusive", "2 a:x=shared", "a:x=exclusive", "", "a:x=exclusive", "y has a:x=exclusive before: a:x=shared"},
		"behind who asked": {"", "2 a:x=exclusive", "", "", "a:x=shared", "n has why: a:x=shared, and job 2 has asked for a:x=exclusive before"},
		"behind another's item, that came before": {"", "7 a:x=exclusive, 5 a:x=shared", "", "", "a:x=shared",
			"n has why: a:x=shared, and job 7 has asked for a:x=exclusive before"},
		"before another's item, that came later": {"", "5 a:x=shared, 7 a:x=exclusive", "", "", "a:x=shared", "y has a:x=shared +a:x before: a:x=exclusive"},
		"no more than there are slots":           {"", "", "", "", "a:x=shared a:y=shared a:z=shared", "yy has a:x=shared a:y=shared +a:x +a:y"},
		"others wait for what runs":              {"5 a:x=exclusive", "2 a:x=exclusive", "", "a:x=exclusive", "", " has a:x=exclusive before: a:x=exclusive"},
		"big":                                    {"2 a:x=shared", "", "", "", "big", "n has why: big, and job 2 has a:x=shared"},
		"big, alone":                             {"", "", "", "", "big", "y has big +big:big"},
	}
	sets := func(text string) (list []Set) {
		for _, one := range strings.Fields(text) {
			list = append(list, setOf(t, strings.Split(one, "+")...))
		}
		return list
	}
	for name, c := range cases {
		var waiting []Awaiting
		for i, g := range grantsOf(t, c.waits) {
			waiting = append(waiting, Awaiting{Grant: g, Since: time.Unix(int64(i), 0), Items: g.Job == 5 || g.Job >= 7})
		}
		own, keep := setOf(t, strings.Fields(c.own)...), setOf(t, strings.Fields(c.keep)...)
		ask := ItemsAsk{Job: 5, Own: own, Keep: keep, Want: sets(c.want), Most: 2}
		a := AnyLevel.AnswerItems(ask, grantsOf(t, c.held), waiting)
		got := ""
		for _, yes := range a.Got {
			got += map[bool]string{true: "y", false: "n"}[yes]
		}
		got += strings.TrimRight(" has "+strings.Join(a.Has.Text(), " "), " ")
		for _, g := range a.Grants {
			got += fmt.Sprintf(" +%s:%s", g.Level, g.Name)
		}
		for _, g := range a.Freed {
			got += fmt.Sprintf(" -%s:%s", g.Level, g.Name)
		}
		if a.Why != "" {
			got += " why: " + a.Why
		}
		for _, s := range a.Before {
			got += " before: " + strings.Join(s.Text(), " ")
		}
		if got != c.result {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.result)
		}
	}
}

// A job that keeps what another waits for, to its end, and whose items wait for what
// that one keeps: the youngest fails.
func TestAnswerItems_ACircleOfWhatJobsKeep(t *testing.T) {
	t.Parallel()
	own := func(job ID, text string) Awaiting { return Awaiting{Grant: Grant{Job: job}, Items: true, Own: text} }
	wait := func(text string, items bool) Awaiting { return Awaiting{Grant: grantsOf(t, text)[0], Items: items} }
	held := grantsOf(t, "7 a:x=exclusive, 7 c:1=shared, 8 b:y=exclusive, 8 c:2=shared")
	cases := map[string]struct {
		job     ID
		own     string
		want    string
		waiting []Awaiting
		cycle   bool
	}{
		"of two queries, the youngest": {8, "b:y=exclusive", "a:x=shared",
			[]Awaiting{wait("7 b:y=shared", true), own(7, "a:x=exclusive")}, true},
		"the other one": {7, "a:x=exclusive", "b:y=shared",
			[]Awaiting{wait("8 a:x=shared", true), own(8, "b:y=exclusive")}, false},
		"with what only items of the other have": {8, "b:y=exclusive", "c:1=exclusive",
			[]Awaiting{wait("7 b:y=shared", true), own(7, "a:x=exclusive")}, false},
		"with what only its own items have": {8, "b:y=exclusive", "a:x=shared",
			[]Awaiting{wait("7 c:2=exclusive", true), own(7, "a:x=exclusive")}, false},
		"with a job whose agent asked": {8, "b:y=exclusive", "a:x=shared", []Awaiting{wait("7 b:y=shared", false)}, true},
	}
	for name, c := range cases {
		ask := ItemsAsk{Job: c.job, Own: setOf(t, c.own), Want: []Set{setOf(t, c.want)}, Most: 1}
		a := AnyLevel.AnswerItems(ask, held, c.waiting)
		if (a.Cycle != "") != c.cycle || a.Got[0] || a.Waits.Empty() != c.cycle {
			t.Errorf("%s: %+v", name, a)
		}
	}
	a := AnyLevel.Answer([]Ask{{Job: 8, Locks: []string{"a:x=shared"}}}, held,
		[]Awaiting{wait("7 b:y=shared", true), own(7, "a:x=exclusive")})[0]
	if a.Cycle != "job 8 waits for a:x=shared, and job 7 has a:x=exclusive; job 7 waits for b:y=shared, and job 8 has b:y=exclusive" {
		t.Errorf("an agent that asks: %+v", a)
	}
}

// Who waits for an item is in no circle with what its items have, and keeps no job that runs from a lock.
func TestAnswer_ItemsStandInNobodysWay(t *testing.T) {
	t.Parallel()
	at := func(second int64, g Grant) Awaiting {
		return Awaiting{Grant: g, Since: time.Unix(second, 0), Items: true}
	}
	waiting := []Awaiting{at(1, grantsOf(t, "7 a:y=exclusive")[0])}
	ask := []Ask{{Job: 8, Locks: []string{"a:x=exclusive"}}}
	a := AnyLevel.Answer(ask, grantsOf(t, "7 a:x=exclusive, 8 a:y=exclusive"), waiting)[0]
	if a.Cycle != "" || a.Done() {
		t.Errorf("a circle, or more: %+v", a)
	}
	if a := AnyLevel.Answer([]Ask{{Job: 9, Locks: []string{"a:y=exclusive"}}}, nil, waiting)[0]; len(a.Granted) == 0 {
		t.Errorf("it waits for an item: %+v", a)
	}
}

// Any number of jobs ask for items, begin and end: no two hold what conflicts, each
// holds what its items need, and when all have ended nothing is held.
func TestAnswerItems_Laws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		held := map[ID]Set{}
		runs := map[ID][]Set{} // sets of items
		keep := func(job ID) (all Set) {
			for _, s := range runs[job] {
				all = all.Merge(s)
			}
			return all
		}
		for range rapid.IntRange(1, 20).Draw(t, "asks") {
			job := ID(rapid.IntRange(1, 3).Draw(t, "job"))
			for len(runs[job]) > 0 && rapid.Bool().Draw(t, "one ends") {
				runs[job] = runs[job][1:]
			}
			var want []Set
			w := anySet().Draw(t, "wants")
			clashes := func(s Set) bool { is, _ := Conflicts(s, w); return is }
			if !slices.ContainsFunc(runs[job], clashes) {
				want = append(want, w)
			}
			var grantsHeld []Grant
			for id, set := range held {
				grantsHeld = append(grantsHeld, grants(Job{ID: id, Locks: set}, nil)...)
			}
			a := AnyLevel.AnswerItems(ItemsAsk{Job: job, Keep: keep(job), Want: want, Most: 1}, grantsHeld, nil)
			for i, got := range a.Got {
				if got {
					runs[job] = append(runs[job], want[i])
				}
			}
			rows := map[string]string{}
			for _, g := range grants(Job{ID: job, Locks: held[job]}, nil) {
				rows[g.Level+":"+g.Name] = g.Mode
			}
			for _, g := range a.Freed {
				delete(rows, g.Level+":"+g.Name)
			}
			for _, g := range a.Grants {
				rows[g.Level+":"+g.Name] = g.Mode
			}
			if held[job] = a.Has; a.Has.key() != keep(job).key() || len(rows) != len(grants(Job{ID: job, Locks: a.Has}, nil)) {
				t.Fatalf("job %d holds %v, in rows %v; its items need %v", job, a.Has.Text(), rows, keep(job).Text())
			}
			for id, set := range held {
				if is, why := Conflicts(set, a.Has); is && id != job {
					t.Fatalf("jobs %d and %d at once: %s", id, job, why)
				}
			}
		}
	})
}
