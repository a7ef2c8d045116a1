package scheduler

import (
	"slices"
	"time"
)

// ChildState is where a child is in its life. The names are those of the
// FOSSology scheduler (seed 000, ST_FAIL … ST_RUNNING).
type ChildState uint8

const (
	Free       ChildState = iota // no process, nothing allocated
	Prep                         // a process is being forked
	Spawned                      // the process exists, its first OK is awaited
	ChildReady                   // live and waiting for a line
	Busy                         // RUNNING: a line is in its hands
	Freeing                      // told to die, or useless; not dead yet
	Fail                         // its type died too often here; not respawned for a while

	childStates
)

var childStateNames = [...]string{"FREE", "PREP", "SPAWNED", "READY", "RUNNING", "FREEING", "FAIL"}

func (s ChildState) String() string { return childStateNames[s] }

// Live reports whether a child in this state has, or is about to have, a
// process: whether it occupies a slot.
func (s ChildState) Live() bool { return s != Free && s != Fail }

// Rules are the times a child lives by. Zero Idle or Timeout means: for ever.
type Rules struct {
	StartTimeout time.Duration // spawn → first OK
	Idle         time.Duration // READY → freed
	KillAfter    time.Duration // FREEING → SIGKILL, and again
	Timeout      time.Duration // of a line that brings none of its own
}

// prefetchSpan is how much work a child may have waiting at its measured pace (contract: a prefetched line starts
// within about 5 ms). prefetchMost bounds it for agents too fast to measure.
const (
	prefetchSpan = 5 * time.Millisecond
	prefetchMost = 512
	// slowest is the pace of everything slower: one line of an hour among
	// thousands of quick ones is soon forgotten.
	slowest = 20 * prefetchSpan
)

// Child is the state machine of one child. It is a value: Step returns the
// next one, and nothing else changes it.
type Child struct {
	Name  ChildName
	Host  HostName
	State ChildState
	Since time.Time // when State was entered
	Rules Rules
	// Lines it was given and has not answered, in the order in which the
	// process takes them: the first is in the agent's hands, as far as is known
	// (the process is ahead of what it has said), the rest is prefetched.
	Lines    []Line
	Began    time.Time     // when the first of Lines was handed over
	Stop     StopReason    // why it dies, or shall when its line is done
	Blame    Account       // what it is to blame for, besides its end
	LineTime time.Duration // moving average of the time a line takes; 0: not known
	OK       bool          // it has said its first OK
	Batch    int           // how many lines it takes in hand at once; 0: one
	InHand   int           // of a batch: how many of Lines, from the first, it has begun and not answered
	recalled time.Time     // when its lines were last wanted back for its being slow

	// What an order to die is about: a line that the process took up meanwhile
	// is not to blame.
	cancel    Claim
	cancelHow EffectKind
	late      handle
	lateAfter time.Duration // of a batch: the time that was over
	begun     int           // lines of the batch in hand when it began
}

// Depth is how many lines the child may hold at once: those in its hand, and as
// many as will start within 5 ms at its measured pace.
func (c Child) Depth() int {
	if c.LineTime <= 0 {
		return c.hand()
	}
	return c.hand() + min(prefetchMost-1, int(prefetchSpan/c.LineTime))
}

// hand is how many lines are in the child's hand, or will be when it begins.
func (c Child) hand() int {
	if c.InHand > 0 {
		return c.InHand
	}
	return max(1, c.Batch)
}

// fills reports whether the child gathers lines for a batch that it has not begun.
func (c Child) fills() bool { return c.Batch > 1 && c.InHand == 0 }

// Behind is how many lines wait behind those in hand.
func (c Child) Behind() int { return max(0, len(c.Lines)-c.hand()) }

// Room is how many more lines the child takes now: none while more than half
// of its depth waits, so that quick work is fetched in few large claims. A batch that has not begun is filled.
func (c Child) Room() int {
	depth := c.Depth()
	if c.Stop != StopNone || c.State != ChildReady && c.State != Busy {
		return 0
	}
	waits, most := len(c.Lines), depth
	if c.InHand > 0 {
		waits, most = c.Behind(), depth-c.InHand
	}
	if waits > most/2 && !c.fills() {
		return 0
	}
	return max(0, depth-len(c.Lines))
}

// Deadline is when EventTick is due next; zero when nothing is awaited.
func (c Child) Deadline() time.Time {
	switch c.State {
	case Spawned:
		return after(c.Since, c.Rules.StartTimeout)
	case ChildReady:
		return after(c.Since, c.Rules.Idle)
	case Busy:
		if c.fills() { // it begins by itself
			return time.Time{}
		}
		at := after(c.Began, c.timeout())
		if c.Behind() > 0 {
			since := c.Began
			if c.recalled.After(since) { // what it has begun it does not give back, and may have answered
				since = c.recalled
			}
			if back := since.Add(2 * prefetchSpan); at.IsZero() || back.Before(at) {
				at = back
			}
		}
		return at
	case Freeing:
		return after(c.Since, c.Rules.KillAfter)
	}
	return time.Time{}
}

func after(t time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return t.Add(d)
}

// timeout is how long the lines in hand may take: as long as the one that may take the least.
func (c Child) timeout() time.Duration {
	if len(c.Lines) == 0 {
		return c.Rules.Timeout
	}
	least := c.limit(&c.Lines[0])
	for i := 1; i < min(c.InHand, len(c.Lines)); i++ {
		if d := c.limit(&c.Lines[i]); d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// limit is how long a line may take; 0: for ever.
func (c Child) limit(l *Line) time.Duration {
	if l.Timeout > 0 {
		return l.Timeout
	}
	return c.Rules.Timeout
}

// Step is the whole life of a child: total over state × event, as printed in
// docs/state_machines.md. Pairs that make no sense change nothing; work that
// arrives where it cannot be done is given back.
func (c Child) Step(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch c.State {
	case Free, Fail:
		return c.stepDown(ev, now)
	case Prep:
		return c.stepPrep(ev, now)
	case Spawned:
		return c.stepSpawned(ev, now)
	case ChildReady:
		return c.stepReady(ev, now)
	case Busy:
		return c.stepBusy(ev, now)
	default:
		return c.stepFreeing(ev, now)
	}
}

func (c Child) stepDown(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventWanted:
		return c.enter(Prep, now), []Effect{{Kind: EffectLaunch}}
	case EventTripped:
		if c.State == Free {
			c = c.enter(Fail, now)
		}
	case EventDismiss, EventKill:
		if c.State == Fail {
			c = c.enter(Free, now)
		}
	case EventGiven:
		return c, giveBack(ev.Lines)
	}
	return c, nil
}

func (c Child) stepPrep(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventLaunched:
		if c.Stop != StopNone { // told to die before there was anything to kill
			return c.enter(Freeing, now), []Effect{{Kind: EffectKill}}
		}
		return c.enter(Spawned, now), nil
	case EventLaunchFailed:
		ordered := c.Stop
		c.Stop = StopNone
		c.Blame = ev.account()
		switch {
		case ordered.Ours():
			return c.enter(Free, now), nil
		case ev.Stop == StopUnguarded:
			return c.enter(Free, now), []Effect{{Kind: EffectUnguarded, Account: Account{Reason: ev.Stop.String()}}}
		case ev.Stop.Ours():
			return c.enter(Free, now), nil
		}
		return c.enter(Free, now), []Effect{{Kind: EffectDied, Account: c.Blame, NotUp: true}}
	case EventDismiss, EventKill:
		c.Stop = ev.Stop
	case EventGiven:
		return c, giveBack(ev.Lines)
	}
	return c, nil
}

func (c Child) stepSpawned(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventReady:
		c.OK, c.Batch = true, ev.N
		return c.enter(ChildReady, now), nil
	case EventTick:
		if due(c.Deadline(), now) {
			c.Blame = Account{Reason: "no OK within " + c.Rules.StartTimeout.String()}
			return c.die(StopSilent, EffectKill, now)
		}
		return c, nil
	}
	return c.stepLive(ev, now)
}

func (c Child) stepReady(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventGiven:
		if len(ev.Lines) == 0 {
			return c, nil
		}
		c = c.enter(Busy, now)
		c.Lines, c.Began = slices.Clone(ev.Lines), now
		slices.SortStableFunc(c.Lines, func(a, b Line) int { return a.Priority - b.Priority })
		return c, []Effect{{Kind: EffectFeed, Lines: ev.Lines}}
	case EventTick:
		if due(c.Deadline(), now) {
			return c.die(StopIdle, EffectClose, now)
		}
		return c, nil
	}
	return c.stepLive(ev, now)
}

func (c Child) stepBusy(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventAnswered:
		return c.answered(ev, now)
	case EventBegan:
		return c.began(ev, now), nil
	case EventGiven:
		if c.Stop != StopNone {
			return c, giveBack(ev.Lines)
		}
		return c.given(ev.Lines), []Effect{{Kind: EffectFeed, Lines: ev.Lines}}
	case EventRecall:
		if len(c.Lines) > 1 {
			return c, []Effect{{Kind: EffectRecall}}
		}
		return c, nil
	case EventReturned:
		return c.returned(ev.Lines, now)
	case EventCancel:
		return c.cancelled(ev, now)
	case EventDismiss: // not while it works: when its line is done
		c.Stop = ev.Stop
		if len(c.Lines) > 1 {
			return c, []Effect{{Kind: EffectRecall}}
		}
		return c, nil
	case EventTick:
		if c.fills() {
			return c, nil
		}
		if due(after(c.Began, c.timeout()), now) {
			c.late, c.lateAfter = c.Lines[0].handle(), c.timeout()
			c.Blame = Account{Reason: "timeout: not done within " + c.lateAfter.String()}
			return c.die(StopTimeout, EffectClose, now)
		}
		if c.Behind() > 0 && due(c.Deadline(), now) {
			// Slower than its pace promised: what waits behind it goes to others,
			// and nothing comes here before it is quick again.
			c.LineTime, c.recalled = max(c.LineTime, min(now.Sub(c.Began)/time.Duration(max(1, c.begun)), slowest)), now
			return c, []Effect{{Kind: EffectRecall}}
		}
		return c, nil
	}
	return c.stepLive(ev, now)
}

// stepLive is what SPAWNED, READY and RUNNING have in common.
func (c Child) stepLive(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventOutputClosed:
		c.Blame = ev.account()
		return c.die(StopBroken, EffectKill, now)
	case EventExited:
		return c.gone(ev, now)
	case EventDismiss:
		return c.die(ev.Stop, EffectClose, now)
	case EventKill:
		return c.die(ev.Stop, EffectKill, now)
	case EventGiven: // SPAWNED: it has not said OK
		return c, giveBack(ev.Lines)
	}
	return c, nil
}

func (c Child) stepFreeing(ev ChildEvent, now time.Time) (Child, []Effect) {
	switch ev.Kind {
	case EventAnswered: // it was quicker than our order: what it did is done
		return c.answered(ev, now)
	case EventBegan: // and so it was here
		return c.began(ev, now), nil
	case EventReturned:
		return c.returned(ev.Lines, now)
	case EventExited:
		return c.gone(ev, now)
	case EventGiven:
		return c, giveBack(ev.Lines)
	case EventKill:
		return c, []Effect{{Kind: EffectKill}}
	case EventCancel:
		if ev.Now && c.has(ev.Claim) {
			return c, []Effect{{Kind: EffectKill}}
		}
	case EventTick:
		if due(c.Deadline(), now) {
			c.Since = now // and again, should one not have been enough
			return c, []Effect{{Kind: EffectKill}}
		}
	}
	return c, nil
}

// enter moves to a state. A child that is down or up anew has no orders.
func (c Child) enter(s ChildState, now time.Time) Child {
	c.State, c.Since = s, now
	if s == Prep || s == Free || s == Fail {
		c.Stop, c.cancel, c.late = StopNone, Claim{}, handle{}
	}
	if s == Prep {
		c.Blame, c.OK, c.Batch = Account{}, false, 0
	}
	if s != Busy && s != Freeing {
		c.InHand, c.begun = 0, 0
	}
	return c
}

// die goes to FREEING under an order, and takes back what was not started.
func (c Child) die(o StopReason, how EffectKind, now time.Time) (Child, []Effect) {
	c = c.enter(Freeing, now)
	c.Stop = o
	effects := []Effect{{Kind: how}}
	if len(c.Lines) > 1 {
		effects = []Effect{{Kind: EffectRecall}, {Kind: how}}
	}
	return c, effects
}

func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
