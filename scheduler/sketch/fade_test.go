package sketch

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A sketch that fades keeps its quantiles, but for one of those that are left; and it
// is no larger than it was.
func TestSketch_FadesEvenly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s, f Sketch
		for b, n := range rapid.MapOfN(rapid.Int32Range(0, last), rapid.Int64Range(1, 5000), 1, 50).Draw(t, "sketch") {
			s.add(b, n)
			f.add(b, n)
		}
		f.Fade()
		if f.N() > Most || len(f.counts) > len(s.counts) || s.N() > Most && f.N() < Most/2 {
			t.Fatalf("%d of %d in %d buckets of %d", f.N(), s.N(), len(f.counts), len(s.counts))
		}
		var before, after int64
		for b := range last + 1 {
			before, after = before+s.counts[b], after+f.counts[b]
			was, is := float64(before)/float64(s.N()), float64(after)/float64(f.N())
			if math.Abs(was-is)*float64(f.N()) > 1.001 {
				t.Fatalf("up to %d there were %.4f, and are %.4f of %d", b, was, is, f.N())
			}
		}
	})
}

// What was long ago is forgotten: after as many again as are kept, the new ones rule.
func TestSketch_ForgetsOldBehaviour(t *testing.T) {
	t.Parallel()
	var s Sketch
	for range 20_000 {
		s.Add(time.Hour)
		s.Fade()
	}
	for range 2 * Most {
		s.Add(time.Second)
		s.Fade()
	}
	if p50, _ := s.Quantile(.5); p50 > 2*time.Second {
		t.Errorf("half took %s", p50)
	}
}
