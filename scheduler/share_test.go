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
