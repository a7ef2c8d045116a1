// Package sketch keeps how long things took in little room: counts in buckets
// whose width grows with what they hold, 16 to an octave of microseconds. What
// a bucket says is at most 1/16 off, whatever the scale, and sketches of several
// instances, types and minutes add up. It is integers all through, so that the
// same durations give the same sketch everywhere. It has no clock and no lock.
package sketch

import (
	"maps"
	"math/bits"
	"slices"
	"time"
)

// perOctave is how many buckets there are between a duration and its double.
const (
	octave    = 4
	perOctave = 1 << octave
)

// Bucket is the number of the bucket that d belongs to, from 0 on. What is
// shorter than nothing belongs to the first.
func Bucket(d time.Duration) int32 {
	us := uint64(max(0, d.Microseconds()))
	if us < perOctave {
		return int32(us)
	}
	e := bits.Len64(us) - 1 - octave
	return int32(e*perOctave) + int32(us>>e) // us>>e is 16 … 31
}

// Least is the shortest duration that belongs to a bucket.
func Least(bucket int32) time.Duration {
	if bucket < 2*perOctave {
		return time.Duration(max(0, bucket)) * time.Microsecond
	}
	e := bucket/perOctave - 1
	return time.Duration(int64(bucket-e*perOctave)<<e) * time.Microsecond
}

// last is the bucket of the longest duration there is.
var last = Bucket(1<<63 - 1)

// Sketch counts durations. The zero value has seen none.
type Sketch struct {
	counts map[int32]int64
	n      int64
}

// Add counts one more.
func (s *Sketch) Add(d time.Duration) { s.add(Bucket(d), 1) }

func (s *Sketch) add(bucket int32, n int64) {
	if s.counts == nil {
		s.counts = map[int32]int64{}
	}
	s.counts[bucket] += n
	s.n += n
}

// N is how many there are.
func (s *Sketch) N() int64 { return s.n }

// Merge adds what another has counted.
func (s *Sketch) Merge(other Sketch) {
	for b, n := range other.counts {
		s.add(b, n)
	}
}

// Clone is a sketch that goes on by itself.
func (s *Sketch) Clone() Sketch { return Sketch{maps.Clone(s.counts), s.n} }

// Pairs is the sketch as it is stored: a bucket, its count, the next bucket, in
// their order. Pairs of several sketches one behind the other are those of
// their sum.
func (s *Sketch) Pairs() []int32 {
	pairs := make([]int32, 0, 2*len(s.counts))
	for _, b := range s.buckets() {
		pairs = append(pairs, b, int32(min(s.counts[b], 1<<31-1)))
	}
	return pairs
}

// AddPairs adds what was stored. What is no bucket, or no count, is left out.
func (s *Sketch) AddPairs(pairs []int32) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if b, n := pairs[i], pairs[i+1]; b >= 0 && b <= last && n > 0 {
			s.add(b, int64(n))
		}
	}
}

// Quantile is the duration that a share p (0 … 1) of all does not exceed: the
// middle of its bucket; ok is false where there is none.
func (s *Sketch) Quantile(p float64) (d time.Duration, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	rank := int64(p * float64(s.n))
	rank = max(0, min(rank, s.n-1))
	for _, b := range s.buckets() {
		if rank -= s.counts[b]; rank < 0 {
			return middle(b), true
		}
	}
	return 0, false // the counts are those of n
}

func middle(b int32) time.Duration {
	if b >= last {
		return Least(last)
	}
	return Least(b) + (Least(b+1)-Least(b))/2
}

func (s *Sketch) buckets() []int32 {
	list := make([]int32, 0, len(s.counts))
	for b := range s.counts {
		list = append(list, b)
	}
	slices.Sort(list)
	return list
}
