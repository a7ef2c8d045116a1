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
