package sketch

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A bucket's number grows with what it holds, and its edge is at most 1/16 off.
func TestBucket_IsAtMostASixteenthOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d")).Truncate(time.Microsecond)
		b := Bucket(d)
		if Least(b) > d || b < last && Least(b+1) <= d {
			t.Fatalf("%d µs is in bucket %d, %v … %v", d.Microseconds(), b, Least(b), Least(b+1))
		}
		if off := d - Least(b); off > d/16 {
			t.Fatalf("%v is %v off", d, off)
		}
		if Bucket(Least(b)) != b {
			t.Fatalf("the edge of %d is in %d", b, Bucket(Least(b)))
		}
	})
	if Bucket(-time.Second) != 0 || Least(-1) != 0 {
		t.Error("what is shorter than nothing is not in the first bucket")
	}
}

// What is stored and read back, in parts and in any order, says what the whole says.
func TestSketch_OfPartsIsThatOfTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 200).Draw(t, "all")
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		var whole, first, second, sum Sketch
		for i, ns := range all {
			whole.Add(time.Duration(ns))
			if i < cut {
				first.Add(time.Duration(ns))
			} else {
				second.Add(time.Duration(ns))
			}
		}
		sum.AddPairs(slices.Concat(second.Pairs(), first.Pairs()))
		var merged Sketch
		merged.Merge(first)
		merged.Merge(second)
		if !slices.Equal(sum.Pairs(), whole.Pairs()) || !slices.Equal(merged.Pairs(), whole.Pairs()) {
			t.Fatalf("%v, not %v", sum.Pairs(), whole.Pairs())
		}
		slices.Sort(all)
		for _, p := range []float64{0, 0.5, 0.9, 0.99, 1} {
			got, ok := whole.Quantile(p)
			exact := time.Duration(all[min(int(p*float64(len(all))), len(all)-1)])
			if diff := (got - exact).Abs(); !ok || diff > exact/16+time.Microsecond {
				t.Fatalf("p%v is %v, and was %v", p*100, got, exact)
			}
		}
	})
}

func TestSketch_LeavesOutWhatIsNoPair(t *testing.T) {
	t.Parallel()
	var s Sketch
	s.AddPairs([]int32{-1, 3, 5, -2, 1 << 30, 1, 7, 2, 9})
	if !slices.Equal(s.Pairs(), []int32{7, 2}) {
		t.Errorf("%v", s.Pairs())
	}
	var none Sketch
	if _, ok := none.Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
}
