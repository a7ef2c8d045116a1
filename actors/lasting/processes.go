package lasting

import "sync"

// Processes counts the processes of a host, whichever incarnation of it started them, until the last of them is
// dead. (A sync.WaitGroup would not do: it panics if a count begins while a waiter is still waking up.)
type Processes struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed while there are no processes
}

func NewProcesses() *Processes {
	y := &Processes{empty: make(chan struct{})}
	close(y.empty)
	return y
}

func (y *Processes) Enter() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n++; y.n == 1 {
		y.empty = make(chan struct{})
	}
}

func (y *Processes) Leave() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n--; y.n == 0 {
		close(y.empty)
	}
}

// WhenEmpty is closed when the present processes are gone.
func (y *Processes) WhenEmpty() <-chan struct{} {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.empty
}
