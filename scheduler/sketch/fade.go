package sketch

// Most is how many a sketch that fades counts before what it has counts half: the
// newest 1,000 weigh as much as all before them.
const Most = 2000

// Fade halves a sketch that has counted more than Most, as often as it takes. What is
// halved is how many are in all buckets up to each, so that no quantile moves by more
// than one of those that are left, and no bucket dies out by being small.
func (s *Sketch) Fade() {
	for s.n > Most {
		half := Sketch{}
		var all int64
		for _, b := range s.buckets() {
			all += s.counts[b]
			if n := (all+1)/2 - half.n; n > 0 {
				half.add(b, n)
			}
		}
		*s = half
	}
}
