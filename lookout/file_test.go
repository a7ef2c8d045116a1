package lookout

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file server whose clock is behind gives a file that is being written a time in the past: what counts is for how
// long it has been the same on our clock. A file that was last written long ago has been moved here.
func TestLook_ByOurClock(t *testing.T) {
	t.Parallel()
	const stable = 2 * time.Second
	now := time.Now()
	for _, x := range []struct {
		name   string
		behind time.Duration
		want   []int // after so many looks, a second apart, so many files are ready
	}{
		{"a clock that is behind", 10 * time.Second, []int{0, 0, 1}},
		{"a clock that goes ahead", -10 * time.Second, []int{0, 0, 1}},
		{"moved here", time.Hour, []int{1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file, written := filepath.Join(root, "a.csv"), now.Add(-x.behind)
			write(t, file, "x")
			if err := os.Chtimes(file, written, written); err != nil {
				t.Fatal(err)
			}
			known := map[string]*seen{}
			for i, want := range x.want {
				ready, _, err := look(root, "*.csv", known, stable, now.Add(time.Duration(i)*time.Second))
				if err != nil || len(ready) != want {
					t.Errorf("look %d: %q, %v, want %d", i+1, ready, err, want)
				}
			}
		})
	}
}
