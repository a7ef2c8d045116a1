package intake

import (
	"testing"

	"pgregory.net/rapid"
)

// Law: the parts sum to what there is and differ by one at most, and over as
// many turns as there are takers everybody gets the same.
func TestSplit_IsEvenAndEverybodyHasATurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(0, 50).Draw(t, "n"), rapid.IntRange(0, 20).Draw(t, "sources")
		queue := rapid.Bool().Draw(t, "queue")
		from := rapid.IntRange(0, 1000).Draw(t, "turn")
		takers := k
		if queue {
			takers++
		}
		got := make([]int, takers)
		for turn := from; turn < from+takers; turn++ {
			forQueue, parts := Split(n, k, turn, queue)
			if len(parts) != k || !queue && forQueue != 0 {
				t.Fatalf("%d parts for %d sources, %d for the queue", len(parts), k, forQueue)
			}
			if queue {
				parts = append([]int{forQueue}, parts...)
			}
			sum := 0
			for i, p := range parts {
				if p < n/takers || p > n/takers+1 {
					t.Fatalf("turn %d: parts %v of %d", turn, parts, n)
				}
				sum += p
				got[i] += p
			}
			if sum != n {
				t.Fatalf("turn %d: parts %v of %d", turn, parts, n)
			}
		}
		for i := range got {
			if got[i] != n {
				t.Fatalf("over %d turns taker %d got %d, want %d", takers, i, got[i], n)
			}
		}
		if forQueue, parts := Split(n, 0, from, false); forQueue != 0 || len(parts) != 0 {
			t.Fatalf("nobody takes, and the queue gets %d, sources %v", forQueue, parts)
		}
	})
}
