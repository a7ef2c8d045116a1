package scheduler

// Share is how many of `all` the rank-th (from 0) of n takers gets: even,
// the first ones get what is left over. It divides a type's max among the live
// instances, each computing its own part from the same rows.
func Share(all, rank, n int) int {
	if n <= 0 || rank < 0 || rank >= n {
		return 0
	}
	share := all / n
	if rank < all%n {
		share++
	}
	return share
}

// Split divides n free places between the queue and the k sources (MSQ jobs of
// one type and equal priority) that have rows: every one is as good as the
// other. turn rotates who gets the odd ones, so that with one place at a time
// each has its turn.
func Split(n, k, turn int, queue bool) (forQueue int, forSources []int) {
	takers := k
	if queue {
		takers++
	}
	forSources = make([]int, k)
	if takers == 0 {
		return 0, forSources
	}
	for i := range takers {
		got := n / takers
		if (i-turn%takers+takers)%takers < n%takers {
			got++
		}
		if queue && i == 0 {
			forQueue = got
		} else if queue {
			forSources[i-1] = got
		} else {
			forSources[i] = got
		}
	}
	return forQueue, forSources
}
