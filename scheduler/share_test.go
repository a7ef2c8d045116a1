package scheduler

import (
	"testing"

	"pgregory.net/rapid"
)

// Law: the shares of all takers sum to what there is, and differ by one at most.
func TestShare_SumsToAllAndIsEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, n := rapid.IntRange(0, 10_000).Draw(t, "all"), rapid.IntRange(1, 100).Draw(t, "n")
		sum := 0
		for rank := range n {
			share := Share(all, rank, n)
			if share < all/n || share > all/n+1 {
				t.Fatalf("%d of %d get %d of %d", rank, n, share, all)
			}
			sum += share
		}
		if sum != all {
			t.Fatalf("%d were divided among %d, and %d came out", all, n, sum)
		}
	})
	for _, c := range [][3]int{{5, 0, 0}, {5, -1, 2}, {5, 2, 2}, {0, 0, 1}} {
		if got := Share(c[0], c[1], c[2]); got != 0 {
			t.Errorf("Share(%v) = %d", c, got)
		}
	}
}

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
