package worker

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"bellhop/client/agent"
	"bellhop/scheduler"
)

// child is a goroutine that does the lines of a type one after the other: to the
// tree it is a process. Its methods may be called from any goroutine and none waits.
type child struct {
	worker  *worker
	handler *handler
	name    scheduler.ChildName
	host    scheduler.HostName
	wake    func()
	done    chan struct{}
	work    chan struct{} // has one when there is something to do: a line, or to go

	mu     sync.Mutex
	queue  []scheduler.Line
	hand   []*voice  // of the lines in hand
	full   time.Time // when it waits no longer for a full batch; zero: it does not wait
	stop   context.CancelCauseFunc
	events []scheduler.ChildEvent
	soon   *time.Timer // wakes the taker of the events
	lease  *time.Timer // nil: there never was one
	fenced bool        // the lease is over
	goes   bool        // no further line is begun
	over   bool
}

// Answers of a child that is kept fed are told together: one wake-up a line would
// cost more than many a line does.
const (
	wakeBatch = 32
	wakeDelay = 500 * time.Microsecond
)

func (c *child) Feed(lines []scheduler.Line) {
	c.mu.Lock()
	c.queue = append(c.queue, lines...)
	for i := 1; i < len(c.queue); i++ { // in order as a rule: a claim is
		if c.queue[i].Priority < c.queue[i-1].Priority {
			slices.SortStableFunc(c.queue, func(a, b scheduler.Line) int { return a.Priority - b.Priority })
			break
		}
	}
	c.mu.Unlock()
	c.call()
}

func (c *child) Recall() []scheduler.Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.queue
	c.queue, c.full = nil, time.Time{}
	return lines
}

func (c *child) Take(into []scheduler.ChildEvent) []scheduler.ChildEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	into = append(into, c.events...)
	clear(c.events)
	c.events = c.events[:0]
	return into
}

// Close ends the context of the line in hand. What was not begun stays for Recall.
func (c *child) Close() { c.end(false) }

// Kill can do no more than that.
func (c *child) Kill() {
	c.end(false)
	c.mu.Lock()
	hand := c.hand
	c.mu.Unlock()
	for _, v := range hand {
		c.worker.log.Warn("a handler goes on though its context has ended, and keeps its slot until it returns",
			"type", c.handler.typ, "job", v.line.Job, "child", c.name, "for", time.Since(v.began).Round(time.Second))
	}
}

func (c *child) end(fenced bool) {
	c.mu.Lock()
	c.goes = true
	c.fenced = c.fenced || fenced
	if c.stop != nil {
		c.stop(agent.ErrStopped)
	}
	c.mu.Unlock()
	c.call()
}

// Lease renews: the line in hand is stopped if no renewal comes within d.
func (c *child) Lease(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
	case c.lease != nil:
		c.lease.Reset(d)
	default:
		c.lease = time.AfterFunc(d, func() { c.end(true) })
	}
}

func (c *child) Done() <-chan struct{} { return c.done }

// Pid is the app's.
func (c *child) Pid() int { return os.Getpid() }

func (c *child) call() {
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// run does lines until the child is to go.
func (c *child) run() {
	defer func() { // a handler has ended this goroutine, which no defer can keep from ending
		if hand := c.current(); hand != nil {
			verdicts := make([]agent.Verdict, len(hand))
			for i := range verdicts {
				verdicts[i] = agent.Verdict{Err: errGoexit, ExitCode: 1}
			}
			c.answer(hand, verdicts)
			c.call()
			go c.run()
		}
	}()
	for range c.work {
		for {
			hand, ctx := c.begin()
			if hand == nil {
				break
			}
			c.answer(hand, c.handler.do(ctx, hand))
		}
		if c.gone() {
			return
		}
	}
}

func (c *child) current() []*voice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hand
}

// begin takes the next lines in hand, if there are any and they may be begun.
func (c *child) begin() ([]*voice, context.Context) {
	c.mu.Lock()
	refused := false
	defer func() {
		if c.handler.size > 1 || refused { // it is known at once which lines are in hand, or stay sealed
			c.release()
		} else {
			c.mu.Unlock()
		}
	}()
	if c.goes || len(c.queue) == 0 || c.fills() {
		return nil, nil
	}
	c.full = time.Time{}
	if c.hand, refused = c.next(time.Now()); c.hand == nil {
		return nil, nil
	}
	ctx, stop := context.WithCancelCause(c.worker.values)
	c.stop = stop
	return c.hand, ctx
}

// next takes the next lines off the queue. Those that stay sealed are answered, and the handler does not get them. mu
// is held.
func (c *child) next(now time.Time) (hand []*voice, refused bool) {
	for hand == nil && len(c.queue) > 0 {
		n := min(c.handler.size, len(c.queue))
		begun := make([]scheduler.Line, 0, n)
		for i := range n {
			line := &c.queue[i]
			opened, err := c.worker.keys.Open(c.handler.typ, line)
			var sealed *scheduler.SealedError
			if errors.As(err, &sealed) {
				c.push(sealed.Refused(line, 1, now))
				refused = true
				continue
			}
			hand, begun = append(hand, &voice{child: c, line: *opened, began: now}), append(begun, *line)
		}
		if c.handler.size > 1 && hand != nil {
			c.push(scheduler.ChildEvent{Kind: scheduler.EventBegan, At: now, Lines: begun})
		}
		clear(c.queue[:n])
		if c.queue = c.queue[n:]; len(c.queue) == 0 {
			c.queue = nil
		}
	}
	return hand, refused
}

// answer tells how the lines in hand went. Work that gave up since its context had
// ended is told by the child's end, as that of a process that was killed.
func (c *child) answer(hand []*voice, verdicts []agent.Verdict) {
	c.mu.Lock()
	defer c.release()
	c.stop(nil)
	c.stop, c.hand = nil, nil
	for i, v := range hand {
		said := v.end()
		switch stopped := verdicts[i].Stopped && said.failed == nil; {
		case !stopped:
			c.push(said.event(v, verdicts[i]))
		case !c.goes: // another of the batch failed, and the child goes on: this one's try did not count
			again := said.event(v, verdicts[i])
			again.Again = true
			c.push(again)
		}
	}
}

// gone ends the child if it is to go.
func (c *child) gone() bool {
	c.mu.Lock()
	defer c.release()
	if !c.goes || c.over {
		return c.over
	}
	c.over = true
	if c.lease != nil {
		c.lease.Stop()
	}
	ev := scheduler.ChildEvent{Kind: scheduler.EventExited, At: time.Now(), Error: "the app ended its handler"}
	if c.fenced {
		ev.Stop = scheduler.StopFenced
	}
	c.push(ev)
	close(c.done)
	return true
}

// push notes an event. mu is held; release wakes.
func (c *child) push(ev scheduler.ChildEvent) { c.events = append(c.events, ev) }

// release gives mu back and wakes the taker of the events, now or soon: the events are taken right here.
func (c *child) release() {
	n := len(c.events)
	if n == 0 {
		c.mu.Unlock()
		return
	}
	now := n >= wakeBatch || len(c.queue) == 0 || c.goes || c.events[n-1].Kind != scheduler.EventAnswered
	switch {
	case now || n > 1: // else the timer is set
	case c.soon == nil:
		c.soon = time.AfterFunc(wakeDelay, c.wake)
	default:
		c.soon.Reset(wakeDelay)
	}
	c.mu.Unlock()
	if now {
		c.wake()
	}
}
