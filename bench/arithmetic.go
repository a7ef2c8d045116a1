package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// percentile is the smallest value that at least p of all values do not exceed
// (nearest rank): with 150 values the 99th of 100 is the second largest.
// v must not be empty.
func percentile(v []float64, p float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[max(int(math.Ceil(p*float64(len(v))))-1, 0)]
}

// median is the middle value, or the mean of the two in the middle.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// spread is what several rounds gave.
type spread struct{ median, min, max float64 }

func spreadOf(v []float64) spread { return spread{median(v), slices.Min(v), slices.Max(v)} }

func (s spread) String() string {
	return fmt.Sprintf("%s (%s–%s)", number(s.median), number(s.min), number(s.max))
}

// ratios divides round by round; rounds that miss either, and those where the
// divisor is 0, are left out.
func ratios(a, b map[int]float64) []float64 {
	var r []float64
	for round, v := range a {
		if o, ok := b[round]; ok && o != 0 {
			r = append(r, v/o)
		}
	}
	return r
}

// number writes three digits that matter.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 10_000:
		return fmt.Sprintf("%.1f k", v/1000)
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// untilLook is how long to wait before looking again whether work is done, of which left is left and was most: half
// of the remaining time at the rate so far. So there are few looks, which cost the measured program, and none comes
// late.
func untilLook(most, left int, elapsed time.Duration) time.Duration {
	const least = 5 * time.Millisecond
	rest := elapsed
	if done := most - left; done > 0 {
		rest = min(rest, time.Duration(float64(elapsed)*float64(left)/float64(done)/2))
	}
	return max(least, rest)
}

// differences is what is between the one and the other, one by one.
func differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}
