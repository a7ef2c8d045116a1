package lock

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// one lock of each kind at level a; x and y are names that meet nobody else's.
var ofKind = [kinds]string{"", "a:x=shared", "a:?=shared", "a:*=shared", "a:x=exclusive", "a:?=exclusive", "a:*=exclusive"}

func kindSetOf(t testing.TB, k Kind, name string) Set {
	if k == KindNone {
		return Set{}
	}
	s := set(t, ofKind[k])
	if len(s.Levels[0].Names) > 0 {
		s.Levels[0].Names[0].Name = name
	}
	return s
}

// All 49 cells of the table of Ganeti design-predictive-queue, with names that
// do not meet, and with the same name.
func TestTable_EachOfThe49Cells(t *testing.T) {
	t.Parallel()
	const d, h, m, s = 0.3, 0.5, 1.5, 3.0
	apart := [kinds][kinds]float64{
		{0, 0, 0, 0, 0, 0, 0},
		{d, 0, 0, 0, d, m, s},
		{d, d, d, d, m, m, s},
		{d, d, d, d, s, s, s},
		{h, h, m, s, h, m, s},
		{h, m, m, s, m, m, s},
		{h, s, s, s, s, s, s},
	}
	meeting := apart
	meeting[KindShared][KindExclusive], meeting[KindExclusive][KindShared], meeting[KindExclusive][KindExclusive] = s, s, s
	for row := range Kind(kinds) {
		for column := range Kind(kinds) {
			for name, want := range map[string]float64{"x": meeting[row][column], "y": apart[row][column]} {
				pending, running := kindSetOf(t, row, "x"), kindSetOf(t, column, name)
				if got := GanetiConstants.Contention(pending.At("a"), running.At("a")); got != want {
					t.Errorf("%v beside %v, named %s: %v, want %v", row, column, name, got, want)
				}
				if got := GanetiConstants.Static(pending, []Set{running}, testLevels); got != 1+want {
					t.Errorf("static value of %v beside %v, named %s: %v, want %v", row, column, name, got, 1+want)
				}
			}
		}
	}
}

// Ganeti would have forgotten the shared name, and seen 0.5 here.
func TestContention_ANameThatAMergeWouldForgetCounts(t *testing.T) {
	t.Parallel()
	c := GanetiConstants
	if got := c.Contention(set(t, "a:x=shared", "a:y=exclusive").At("a"), set(t, "a:x=exclusive").At("a")); got != 3 {
		t.Error(got)
	}
	if got := c.Contention(set(t, "a:x=exclusive").At("a"), set(t, "a:x=shared", "a:y=exclusive").At("a")); got != 3 {
		t.Error(got)
	}
}

// The formulas of Ganeti design-predictive-queue.
func TestWeigh_TheFormulas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		pending []string
		running [][]string
		waited  time.Duration
		spv     float64
		weight  float64
	}{
		{"nothing runs: not the column None", []string{"node:*=exclusive"}, nil, 0, 1, 1},
		{"one without locks runs: the column None", []string{"node:*=exclusive"}, [][]string{{}}, 0, 1.5, 1.5},
		{"no lock", nil, [][]string{{"node:*=exclusive"}}, 0, 1, 1},
		{"levels are summed", []string{"instance:a=exclusive", "node:n=exclusive"}, [][]string{{"instance:a=exclusive", "node:n=shared"}}, 0, 7, 7},
		{"the most of all that run counts, not the sum", []string{"node:n=exclusive"}, [][]string{{"node:n=shared"}, {"node:n=shared"}, {}}, 0, 4, 4},
		{"each level has its own worst", []string{"instance:a=exclusive", "node:n=exclusive"}, [][]string{{"instance:a=shared"}, {"node:n=shared"}}, 0, 7, 7},
		{"big, with nothing running", []string{"big"}, nil, 0, 16, 16},
		{"a big one runs: AllExclusive on every level", []string{"instance:a=shared", "network:n=shared"}, [][]string{{"big"}}, 0, 7, 7},
		{"half aged", []string{"node:n=exclusive"}, [][]string{{"node:n=shared"}}, 450 * time.Second, 4, 2},
		{"not quantised", nil, nil, 45 * time.Second, 1, 0.95},
		{"aged", []string{"big"}, nil, 900 * time.Second, 16, 0},
		{"long aged", []string{"big"}, nil, 9000 * time.Second, 16, 0},
		{"received in the future", []string{"big"}, nil, -time.Hour, 16, 16},
	} {
		var running []Set
		index := NewIndex()
		for i, r := range c.running {
			running = append(running, set(t, r...))
			index.Add(ID(i), running[i])
		}
		w := GanetiConstants.Weigh(set(t, c.pending...), running, GanetiLevels, c.waited)
		if w.SPV != c.spv || math.Abs(w.Weight-c.weight) > 1e-12 {
			t.Errorf("%s: %+v", c.name, w)
		}
		if got := index.Static(GanetiConstants, set(t, c.pending...), GanetiLevels); got != c.spv {
			t.Errorf("%s: by the index %v", c.name, got)
		}
	}
}

func TestWeigh_SaysWhichLevelAndWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	w := GanetiConstants.Weigh(set(t, "node:n=exclusive"), []Set{{}, set(t, "node:n=shared")},
		Levels{"instance", "node"}, 0)
	want := LevelWeight{Level: "node", Pending: KindExclusive, Running: KindShared, By: 1, Weight: 3}
	if w.Levels[1] != want || w.Levels[0] != (LevelWeight{Level: "instance", By: -1}) {
		t.Errorf("%+v", w.Levels)
	}
}

func TestPriority_GetsBetterWhileItWaits(t *testing.T) {
	t.Parallel()
	c := GanetiConstants
	off := c
	off.PriorityTick, off.AgeingTicks = 0, 0
	for _, x := range []struct {
		c        Constants
		priority int
		waited   time.Duration
		want     int
	}{
		{c, 0, 30*time.Minute - 1, 0}, {c, 0, 30 * time.Minute, -1}, {c, 19, 3 * time.Hour, 13}, {c, -19, 1000 * time.Hour, -20},
		{c, -20, 1000 * time.Hour, -20}, {c, 5, -time.Hour, 5}, {off, 5, 1000 * time.Hour, 5},
	} {
		if got := x.c.Priority(x.priority, x.waited); got != x.want {
			t.Errorf("%d after %v: %d, want %d", x.priority, x.waited, got, x.want)
		}
	}
	if off.Aged(1000*time.Hour) || off.Factor(time.Hour) != 1 || !c.Aged(15*time.Minute) {
		t.Error("without ageing nothing ages")
	}
}

// Whatever runs, the index says what looking at each says.
func TestIndex_AgreesWithLookingAtEach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		index := NewIndex()
		held := rapid.SliceOfN(sets(), 0, 6).Draw(t, "held")
		for i, s := range held {
			index.Add(ID(i), s)
		}
		gone := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 3).Draw(t, "gone")
		for _, i := range gone {
			index.Remove(ID(i))
		}
		job := sets().Draw(t, "job")
		var left []Set
		blocked := false
		for i, s := range held {
			if _, there := index.sets[ID(i)]; !there {
				continue
			}
			left = append(left, s)
			is, _ := Conflicts(job, s)
			blocked = blocked || is
		}
		id, why, is := index.Blocker(job)
		if is != blocked {
			t.Fatalf("blocked %v, and by the index %v", blocked, is)
		}
		if is {
			if really, _ := Conflicts(job, held[id]); !really || why == (Conflict{}) {
				t.Fatalf("%d is no blocker: %v", id, why)
			}
		}
		a, b := index.Static(GanetiConstants, job, testLevels), GanetiConstants.Static(job, left, testLevels)
		if math.Abs(a-b) > 1e-9 {
			t.Fatalf("static value %v, and by the index %v", b, a)
		}
	})
}
