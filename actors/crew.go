package actors

import "sync"

// crewMost is how many goroutines of a crew wait for something to do.
const crewMost = 4

// crew are goroutines that stay. A goroutine begins with a small stack, which is copied each time that it proves
// too small: for one claim or one write that is more work than to send it.
type crew struct {
	work  chan func()
	idle  chan struct{} // a place for each that waits
	ended chan struct{}
	once  sync.Once
}

func newCrew() *crew {
	return &crew{work: make(chan func()), idle: make(chan struct{}, crewMost), ended: make(chan struct{})}
}

// do has it done on a goroutine that waits; by another one, if none does.
func (c *crew) do(it func()) {
	select {
	case c.work <- it:
	default:
		go c.stay(it)
	}
}

// Schedule and Throughput make it run actors, each for so many messages at a time.
func (c *crew) Schedule(run func()) { c.do(run) }
func (c *crew) Throughput() int     { return 300 }

// stay does it, and then whatever else there is to do.
func (c *crew) stay(it func()) {
	for {
		it()
		select {
		case c.idle <- struct{}{}:
		default:
			return // enough of them wait
		}
		select {
		case it = <-c.work:
			<-c.idle
		case <-c.ended:
			return
		}
	}
}

// end lets those go that wait.
func (c *crew) end() { c.once.Do(func() { close(c.ended) }) }
