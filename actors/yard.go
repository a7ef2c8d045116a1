package actors

import "sync"

// yard counts the processes of a host, whichever incarnation of it started
// them, until the last of them is dead. (A sync.WaitGroup would not do: it
// panics when somebody comes while somebody else is still waking up.)
type yard struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed while nobody is there
}

func newYard() *yard {
	y := &yard{empty: make(chan struct{})}
	close(y.empty)
	return y
}

func (y *yard) enter() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n++; y.n == 1 {
		y.empty = make(chan struct{})
	}
}

func (y *yard) leave() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n--; y.n == 0 {
		close(y.empty)
	}
}

// whenEmpty is closed when those who are there now are gone.
func (y *yard) whenEmpty() <-chan struct{} {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.empty
}
