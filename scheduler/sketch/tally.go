package sketch

import (
	"sync"
	"time"
)

// Tally counts by name until a caller takes the counts. Its zero value counts; several may use it at once.
type Tally struct {
	mu sync.Mutex
	of map[string]*Sketch
}

// Count counts one.
func (t *Tally) Count(name string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.named(name).Add(d)
}

// named is the sketch of a name.
func (t *Tally) named(name string) *Sketch {
	s := t.of[name]
	if s == nil {
		if t.of == nil {
			t.of = map[string]*Sketch{}
		}
		s = &Sketch{}
		t.of[name] = s
	}
	return s
}

// Take gives what was counted, and begins anew; empty: nothing.
func (t *Tally) Take() map[string]*Sketch {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of
	t.of = nil
	return of
}

// GiveBack counts what was taken, and could not be carried anywhere.
func (t *Tally) GiveBack(of map[string]*Sketch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, s := range of {
		t.named(name).Merge(*s)
	}
}
