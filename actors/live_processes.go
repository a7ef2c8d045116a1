package actors

import "sync"

// liveProcesses counts the processes of a host, whichever incarnation of it started them, until the last of them is
// dead. (A sync.WaitGroup would not do: it panics if a count begins while a waiter is still waking up.)
type liveProcesses struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed while there are no processes
}

func newLiveProcesses() *liveProcesses {
	y := &liveProcesses{empty: make(chan struct{})}
	close(y.empty)
	return y
}

func (y *liveProcesses) enter() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n++; y.n == 1 {
		y.empty = make(chan struct{})
	}
}

func (y *liveProcesses) leave() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n--; y.n == 0 {
		close(y.empty)
	}
}

// whenEmpty is closed when the present processes are gone.
func (y *liveProcesses) whenEmpty() <-chan struct{} {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.empty
}
