package agents

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bellhop/scheduler"
)

// Process is one child: a warm agent, or in mode exec the place where one
// process after the other runs. Its methods may be called from any goroutine
// and none of them waits.
type Process struct {
	launcher *Launcher
	spec     Spec
	child    scheduler.ChildName
	host     scheduler.HostName
	wake     func()
	done     chan struct{}
	said     output

	// owned by the goroutine that reads stdout
	greeted bool
	broken  bool // spoke against its dialect: not listened to any more
	remarks []remark
	telling []byte

	mu        sync.Mutex
	dialect   Dialect // written by the stdout goroutine before ready
	queue     []scheduler.Line
	head      int            // queue[:head] is gone already
	hand      scheduler.Line // what the agent has, if inHand
	inHand    bool
	batch     int    // how many jobs the agent takes at once; 0: one
	rest      []held // of the batch in hand: the jobs besides hand
	successes int
	gives     given
	items     int64    // ItemsProcessed of the line in hand
	asks      []string // DB: statements that are not begun
	asking    bool     // one is being answered
	database  Database // nil until first needed
	stopAsk   context.CancelFunc
	stopStep  context.CancelFunc // nil: none is being kept
	locks     askedLocks
	replies   [][]byte // about locks and steps, not written yet
	buf       []byte   // the line as written
	events    []scheduler.ChildEvent
	wakeDue   bool        // there are events without a wake-up yet
	wakeSoon  bool        // the waker is set
	waker     *time.Timer // nil until first needed
	ready     bool
	hold      bool // stdout is still being read: an OK in it is no answer to the next line
	writing   bool // a goroutine writes what did not fit into the pipe
	deaf      bool // the agent's stdin is not read any more
	closing   bool // Close, Kill, or dead: no further line is started
	killed    bool
	exiting   bool // its tree is dead, the rest is only reading
	over      bool // EventExited is said
	mute      bool // EventOutputClosed is said
	running   bool // exec: its goroutine is at work
	g         *guarded
	opening   *guarded // on another host: its guard, before the agent runs
	lease     time.Duration
	leaseFrom time.Time
}

// Feed queues lines. One at a time goes to the agent, the next is written only
// after the answer to the last; among those not yet written the lower Priority
// goes first, and the order of feeding decides among equals.
func (p *Process) Feed(lines []scheduler.Line) {
	p.hearIdle()
	p.mu.Lock()
	defer p.release()
	for i := range lines {
		p.enqueue(&lines[i])
	}
	p.proceed()
}

// hearIdle takes what an agent without a line has said until now, so that it is
// not taken for words about the line that it gets.
func (p *Process) hearIdle() {
	p.mu.Lock()
	g, idle := p.g, p.ready && !p.inHand && !p.exiting && !p.over
	p.mu.Unlock()
	if idle && g != nil && g.stderr.file != nil {
		g.stderr.drain()
	}
}

func (p *Process) enqueue(line *scheduler.Line) {
	// a queue that is never empty must not creep through memory
	if len(p.queue) == cap(p.queue) && p.head > len(p.queue)/2 {
		n := copy(p.queue, p.queue[p.head:])
		clear(p.queue[n:])
		p.queue, p.head = p.queue[:n], 0
	}
	p.queue = append(p.queue, *line)
	for i := len(p.queue) - 1; i > p.head && p.queue[i].Priority < p.queue[i-1].Priority; i-- {
		p.queue[i], p.queue[i-1] = p.queue[i-1], p.queue[i]
	}
}

// proceed starts what can be started. mu is held.
func (p *Process) proceed() {
	if p.spec.alone() {
		p.startRuns()
		return
	}
	p.write()
}

// pop takes the first line off the queue. mu is held.
func (p *Process) pop() {
	p.queue[p.head] = scheduler.Line{}
	if p.head++; p.head == len(p.queue) {
		p.queue, p.head = p.queue[:0], 0
	}
}

// Recall takes back all lines that the agent has not been given. After
// EventExited these are the ones that the death has not touched.
func (p *Process) Recall() []scheduler.Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := append([]scheduler.Line(nil), p.queue[p.head:]...)
	p.queue, p.head = nil, 0
	return lines
}

// Take appends the events since the last call to into, in order.
func (p *Process) Take(into []scheduler.ChildEvent) []scheduler.ChildEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	into = append(into, p.events...)
	clear(p.events)
	p.events = p.events[:0]
	p.wakeDue = false
	return into
}

// Close asks the agent to go: its stdin is closed and it gets SIGHUP. What was
// not written yet stays for Recall.
func (p *Process) Close() {
	p.mu.Lock()
	defer p.release()
	if p.over {
		return
	}
	p.closing = true
	switch {
	case p.exiting: // on its way
	case p.g != nil:
		p.closeStdin()
		p.g.hangup()
	case p.opening != nil: // no agent is there yet that could go in peace
		p.opening.kill()
	case !p.running:
		p.exited(scheduler.ChildEvent{})
	}
}

// Kill sends SIGKILL to the agent and all its descendants.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.release()
	if p.over {
		return
	}
	p.closing, p.killed = true, true
	switch {
	case p.exiting: // on its way
	case p.g != nil:
		p.g.kill()
	case p.opening != nil:
		p.opening.kill()
	case !p.running:
		p.exited(scheduler.ChildEvent{})
	}
}

// Lease renews: the guard kills the tree if no renewal comes within d, on a
// clock that goes on while the machine sleeps. 0 or less: never.
func (p *Process) Lease(d time.Duration) {
	p.setLease(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.exiting:
	case p.g != nil:
		p.g.lease(d)
	case p.opening != nil: // reaching another host takes its time
		p.opening.lease(d)
	}
}

func (p *Process) setLease(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lease, p.leaseFrom = d, time.Now()
}

// leaseLeft is what a guard started now gets; 0: there is no lease; negative:
// it is over.
func (p *Process) leaseLeft() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lease <= 0 {
		return 0
	}
	if left := p.lease - time.Since(p.leaseFrom); left > 0 {
		return left
	}
	return -1
}

// Done is closed when the whole tree is dead and EventExited can be taken.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid is the agent's process, 0 while there is none.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.g == nil {
		return 0
	}
	return p.g.agent // on its own host
}

// push notes an event. mu is held; release wakes.
func (p *Process) push(ev scheduler.ChildEvent) {
	p.wakeDue = p.wakeDue || len(p.events) == 0
	p.events = append(p.events, ev)
}

// An agent that is kept fed has its answers told together, since one wake-up a
// line would take more of the processor than the line itself.
const (
	wakeBatch = 32
	wakeDelay = 500 * time.Microsecond
)

// release gives mu back and wakes the taker of the events, once for all that came since it found none.
func (p *Process) release() {
	due := p.wakeDue
	if due && p.canWait() {
		due = false
		if !p.wakeSoon {
			p.wakeSoon = true
			p.wakeIn(wakeDelay)
		}
	}
	p.wakeDue = p.wakeDue && !due
	p.mu.Unlock()
	if due {
		p.wake()
	}
}

// canWait: delaying this event leaves no slot idle. The agent has a line and there are more for it.
func (p *Process) canWait() bool {
	return p.inHand && p.head < len(p.queue) && len(p.events) < wakeBatch &&
		p.events[len(p.events)-1].Kind == scheduler.EventAnswered
}

func (p *Process) wakeIn(d time.Duration) {
	if p.waker != nil {
		p.waker.Reset(d)
		return
	}
	p.waker = time.AfterFunc(d, func() {
		p.mu.Lock()
		due := p.wakeDue
		p.wakeDue, p.wakeSoon = false, false
		p.mu.Unlock()
		if due {
			p.wake()
		}
	})
}

// exited says the last word. mu is held.
func (p *Process) exited(ev scheduler.ChildEvent) {
	ev.Kind, ev.At = scheduler.EventExited, time.Now()
	p.closing, p.over = true, true
	p.push(ev)
	close(p.done)
}

// answer says how the line in hand went. mu is held.
func (p *Process) answer(ok bool, code, signal int, why scheduler.Account) {
	if p.gives.refused != "" { // also where it failed: what it wanted kept is told to be lost
		ok, code, why = false, max(code, 1), why.And(scheduler.Account{Reason: p.gives.refused})
		p.give().Never = true
	}
	p.push(scheduler.ChildEvent{Kind: scheduler.EventAnswered, At: time.Now(), Claim: p.hand.Claim, Item: p.hand.Item,
		OK: ok, ExitCode: code, Signal: signal, Error: why.Reason, Message: why.Message, Successes: p.successes,
		Answer: p.gives.answer, Locks: p.locks.any})
	p.inHand, p.successes, p.items, p.gives = false, 0, 0, given{}
	p.endLocks()
	p.another()
}

// note keeps a line for the log, against the line in hand. An error of an item names that item.
func (p *Process) note(level scheduler.Level, text []byte, truncated bool) {
	var of scheduler.Claim
	var attempt int
	p.mu.Lock()
	if p.inHand {
		of, attempt = p.hand.Claim, p.hand.Attempt
		if p.hand.Item > 0 && (level == scheduler.LevelError || level == scheduler.LevelErr) {
			text = append(fmt.Appendf(nil, "item %d: ", p.hand.Item), text...)
		}
	}
	p.mu.Unlock()
	p.said.keep(of, attempt, level, text, truncated)
}

// noteItem keeps for the log why the item in hand failed; why a job failed stands in its row.
func (p *Process) noteItem(why []byte) {
	p.mu.Lock()
	item := p.inHand && p.hand.Item > 0
	p.mu.Unlock()
	if item && len(why) > 0 {
		p.note(scheduler.LevelError, why, false)
	}
}

// hearStderr is for both modes.
func (p *Process) hearStderr(line []byte, truncated bool) {
	p.said.remember(line)
	p.note(scheduler.LevelErr, line, truncated)
}

// account is a reason with what the agent said while it had the line in hand.
func (p *Process) account(reason string) scheduler.Account {
	return scheduler.Account{Reason: reason, Message: p.said.words()}
}

// obituary is the event of an agent's end, for a reason. What an agent said
// last is not why the connection to it died.
func (p *Process) obituary(e end, reason string) scheduler.ChildEvent {
	why := p.account(reason)
	if e.line != nil {
		why = scheduler.Account{Reason: e.line.Error()}
	}
	ev := scheduler.ChildEvent{
		ExitCode: e.exitCode(),
		Signal:   e.signal(),
		Error:    why.Reason,
		Message:  why.Message,
		Stop:     e.order(),
	}
	if e.lost {
		ev.Guards = p.unguarded(e.guard)
	}
	return ev
}
