package lasting

import (
	"sync"

	"bellhop/scheduler"
)

// Orphans are the claims in processes whose actor has died: they are not lost,
// and go back when the process is dead.
type Orphans struct {
	mu     sync.Mutex
	claims map[scheduler.Claim]int
}

func (o *Orphans) Add(lines []scheduler.Line, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claims == nil {
		o.claims = map[scheduler.Claim]int{}
	}
	for _, l := range lines {
		if o.claims[l.Claim] += n; o.claims[l.Claim] <= 0 {
			delete(o.claims, l.Claim)
		}
	}
}

// All lists them.
func (o *Orphans) All() map[scheduler.Claim]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[scheduler.Claim]bool, len(o.claims))
	for c := range o.claims {
		all[c] = true
	}
	return all
}

func (o *Orphans) Has(c scheduler.Claim) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.claims[c] > 0
}
