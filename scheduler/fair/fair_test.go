package fair

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The bound of docs/shares.md: a job of a key that was idle is next, behind only the keys that came before it and have
// not started since.
func TestLine_AnIdleKeyIsNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l Line
		floods := rapid.IntRange(1, 20).Draw(t, "floods")
		for i := range floods {
			weight := rapid.SampledFrom([]float64{0.25, 1, 2, 3}).Draw(t, "weight")
			l.Come(fmt.Sprint("flood", i), weight, 10000)
		}
		l.Take(rapid.IntRange(floods*20, 1000).Draw(t, "earlier"))
		fresh := rapid.IntRange(0, 9).Draw(t, "fresh")
		for i := range fresh {
			l.Come(fmt.Sprint("fresh", i), 1, 1)
		}
		l.Come("single", 1, 1)
		if at := slices.Index(l.Take(1000), "single"); at != fresh {
			t.Fatalf("the single job starts as number %d, behind %d keys", at, fresh)
		}
	})
}

// Keys that have work get starts by their weights, to one start each, whatever they got before.
func TestLine_StartsAreByWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l Line
		l.Come("before", 1, 1000)
		l.Take(rapid.IntRange(0, 500).Draw(t, "earlier"))
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 2, 3, 5}), 1, 6).Draw(t, "weights")
		sum := 0.0
		for i, w := range weights {
			l.Come(fmt.Sprint(i), w, 10000)
			sum += w
		}
		got := map[string]float64{}
		n := 0.0
		for _, k := range l.Take(5000) {
			if got[k]++; k != "before" {
				n++
			}
		}
		for i, w := range weights {
			if d := got[fmt.Sprint(i)] - n*w/sum; d < -w-1 || d > w+1 {
				t.Fatalf("of %v starts a weight of %v of %v gets %v", n, w, sum, got[fmt.Sprint(i)])
			}
		}
	})
}

// Turns has the same order, and tells of each job when its turn is.
func TestTurns_AreThoseOfTheLine(t *testing.T) {
	t.Parallel()
	weights := map[string]float64{"": 1, "a": 1, "b": 2, "c": 0.3, "d": 3, "e": 1}
	rapid.Check(t, func(t *rapid.T) {
		var line Line
		var turns Turns
		type job struct {
			Turn
			key string
		}
		var waiting []job
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"}), 0, 8).Draw(t, "come") {
				line.Come(key, weights[key], 1)
				waiting = append(waiting, job{turns.Come(key, weights[key]), key})
			}
			n := rapid.IntRange(1, 6).Draw(t, "claim")
			slices.SortStableFunc(waiting, func(x, y job) int { return x.Compare(y.Turn) })
			var got []string
			for len(got) < n && len(waiting) > 0 {
				key := waiting[0].key
				if next := turns.Next(key); next != waiting[0].Turn {
					t.Fatalf("%q has the turn %v, and was told %v", key, next, waiting[0].Turn)
				}
				turns.Start(key)
				got, waiting = append(got, key), waiting[1:]
			}
			if len(got) < n {
				turns.Over()
			}
			if want := line.Take(n); !slices.Equal(got, want) {
				t.Fatalf("%q start, want %q", got, want)
			}
		}
	})
}
