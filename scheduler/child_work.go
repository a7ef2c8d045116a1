package scheduler

import (
	"slices"
	"strconv"
	"time"
)

// given queues lines in the order in which the process takes them.
func (c Child) given(lines []Line) Child {
	sorted := true
	for i := range lines {
		n := len(c.Lines)
		sorted = sorted && (n < 2 || c.Lines[n-1].Priority <= lines[i].Priority)
		c.Lines = append(c.Lines, lines[i])
	}
	if !sorted {
		c.Lines = slices.Clone(c.Lines)
		slices.SortStableFunc(c.Lines[1:], func(a, b Line) int { return a.Priority - b.Priority })
	}
	return c
}

// answered settles the line that the answer is to: the first, unless a more
// urgent one was on its way to the process when it took this one. An answer to
// none of them was said without being asked: it is ignored.
func (c Child) answered(ev ChildEvent, now time.Time) (Child, []Effect) {
	of := handle{ev.Claim, ev.Item}
	i := slices.IndexFunc(c.Lines, func(l Line) bool { return l.handle() == of })
	if i < 0 {
		return c, nil
	}
	r := c.result(i, ev, now)
	if ev.Locks {
		line := c.Lines[i]
		line.Locked = true
		r.Line = &line
	}
	r.Outcome, r.Answer = OutcomeFailed, ev.Answer
	if ev.OK {
		r.Outcome, r.Error, r.Message = OutcomeSucceeded, "", ""
		if ev.Answer == nil || ev.Answer.EndedAs == "" { // by its exit code, it may be
			r.ExitCode = 0
		}
	} else if of.Claim == c.cancel { // it gave up because it was told to: there is no other attempt
		r.Outcome, r.Error = OutcomeCancelled, "cancelled: "+r.Error
	} else if ev.Again {
		r.Outcome, r.Again = OutcomeLost, true
	} else if ev.Answer.putsOff() && of.item == 0 { // an item has its tries at once
		r.Outcome = OutcomeLost
	} else if ev.Signal != 0 {
		r.Outcome = OutcomeDied
	}
	if took := min(r.Ended.Sub(c.Began)/time.Duration(max(1, c.begun)), slowest); took > 0 {
		if c.LineTime == 0 {
			c.LineTime = took
		} else {
			c.LineTime += (took - c.LineTime) / 8
		}
	}
	if i == 0 {
		c.Lines = c.Lines[1:]
	} else {
		c.Lines = slices.Delete(slices.Clone(c.Lines), i, i+1)
	}
	if c.InHand = max(0, c.InHand-1); c.InHand == 0 {
		c.Began, c.begun = r.Ended, 0
	}
	c, more := c.rest(now)
	return c, append([]Effect{{Kind: EffectSettle, Result: r}}, more...)
}

// began notes that the process has taken a batch in hand, and puts it before what waits.
func (c Child) began(ev ChildEvent, now time.Time) Child {
	if c.Batch <= 1 || c.InHand > 0 {
		return c
	}
	batch := make(map[handle]bool, len(ev.Lines))
	for i := range ev.Lines {
		batch[ev.Lines[i].handle()] = true
	}
	hand, rest := make([]Line, 0, len(c.Lines)), []Line(nil)
	for _, l := range c.Lines {
		if batch[l.handle()] {
			hand = append(hand, l)
		} else {
			rest = append(rest, l)
		}
	}
	c.InHand, c.begun, c.Lines = len(hand), len(hand), append(hand, rest...)
	if c.Began = ev.At; c.Began.IsZero() {
		c.Began = now
	}
	return c
}

// rest is what follows when there is nothing left to do.
func (c Child) rest(now time.Time) (Child, []Effect) {
	if len(c.Lines) > 0 || c.State != Busy {
		return c, nil
	}
	c.Lines = nil
	if c.Stop != StopNone { // its leave was waiting for this
		return c.die(c.Stop, EffectClose, now)
	}
	return c.enter(ChildReady, now), nil
}

// returned forgets lines that the process never saw: they go back, those of a
// cancelled job excepted. If that job is still here, it is in the agent's hands.
func (c Child) returned(lines []Line, now time.Time) (Child, []Effect) {
	var effects []Effect
	var back, kept []Line
	returned := make(map[handle]bool, len(lines)) // there may be hundreds
	for i := range lines {
		returned[lines[i].handle()] = true
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		switch {
		case !returned[l.handle()]:
			kept = append(kept, *l)
		case l.Claim == c.cancel:
			r := c.result(i, ChildEvent{Error: "cancelled before it began"}, now)
			r.Outcome, r.Began = OutcomeCancelled, time.Time{}
			effects = append(effects, Effect{Kind: EffectSettle, Result: r})
		default:
			back = append(back, *l)
		}
	}
	if len(c.Lines) > 0 && returned[c.Lines[0].handle()] && c.InHand == 0 {
		c.Began = now // another is in the agent's hands, and since when is not known
	}
	c.Lines = kept
	effects = append(effects, giveBack(back)...)
	var more []Effect
	if c.State == Busy && c.has(c.cancel) {
		c, more = c.die(StopCancelled, c.cancelHow, now)
	} else {
		c, more = c.rest(now)
	}
	return c, append(effects, more...)
}

// cancelled kills the child if the job is in its hands, and takes the job back
// if it is only waiting there. With several lines only the process knows which.
func (c Child) cancelled(ev ChildEvent, now time.Time) (Child, []Effect) {
	if !c.has(ev.Claim) {
		return c, nil
	}
	c.cancel, c.cancelHow = ev.Claim, EffectClose
	if ev.Now {
		c.cancelHow = EffectKill
	}
	if len(c.Lines) > 1 {
		return c, []Effect{{Kind: EffectRecall}}
	}
	return c.die(StopCancelled, c.cancelHow, now)
}

// has reports whether a line of the claim is here.
func (c Child) has(claim Claim) bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Claim == claim })
}

// gone is the end of the process. What it had in hand ends with it.
func (c Child) gone(ev ChildEvent, now time.Time) (Child, []Effect) {
	order, lines := c.Stop, c.Lines
	if c.State == Busy { // leave was to come after the line: this death is not that
		order = StopNone
	}
	if order == StopNone || !order.Ours() && ev.Stop.Ours() { // as when the guard has found the lease missed before we did
		order = ev.Stop
	}
	var effects []Effect
	n := min(len(lines), max(1, c.InHand))
	for i := range n {
		effects = append(effects, Effect{Kind: EffectSettle, Result: c.lastOf(i, order, ev, now)})
	}
	effects = append(effects, giveBack(lines[n:])...)
	if !order.Ours() {
		why := c.Blame.And(ev.account())
		if !c.OK {
			why.Reason += wantsExec
		}
		effects = append(effects, Effect{Kind: EffectDied, Account: why, NotUp: !c.OK})
	}
	if order == StopUnguarded {
		effects = append(effects, Effect{Kind: EffectUnguarded, Account: Account{Reason: order.String()}})
	}
	c.Lines, c.LineTime = nil, 0
	return c.enter(Free, now), effects
}

// lastOf is what becomes of the i-th line when the process ends that had it in hand.
func (c Child) lastOf(i int, order StopReason, ev ChildEvent, now time.Time) Result {
	r := c.result(i, ev, now)
	if r.ExitCode == 0 && ev.Signal != 0 {
		r.ExitCode = 128 + ev.Signal
	}
	switch {
	case order == StopCancelled && r.Line.Claim == c.cancel:
		r.Outcome, r.Error, r.Message = OutcomeCancelled, "cancelled while it ran", ""
	case order == StopTimeout && (r.Line.handle() == c.late || c.InHand > 0 && c.limit(r.Line) == c.lateAfter):
		r.Outcome, r.Error, r.Message = OutcomeTimedOut, c.Blame.Reason, ""
	case order == StopUnguarded && ev.Guards >= GuardDeaths:
		r.Outcome, r.Guard, r.Message = OutcomeDied, true, ""
		r.Error = "kills_guard: " + strconv.Itoa(ev.Guards) + " times the guard of its agent died while it ran"
	case !order.Ours():
		all := c.Blame.And(ev.account())
		r.Outcome, r.Error, r.Message = OutcomeDied, all.Reason, all.Message
	default: // the order was not about this line: it was taken up after that one's last word
		r.Outcome, r.Error, r.Message = OutcomeLost, order.lost(c.Host), ""
	}
	return r
}

// wantsExec is the commonest cause of a child that never says OK.
const wantsExec = "; it never said OK: 'bellhop agent check COMMAND' shows what it says instead; " +
	"a program that takes no lines on stdin wants mode: exec"

// result is the end of the i-th line.
func (c Child) result(i int, ev ChildEvent, now time.Time) Result {
	ended := ev.At
	if ended.IsZero() {
		ended = now
	}
	return Result{Line: &c.Lines[i], ExitCode: ev.ExitCode, Error: ev.Error, Message: ev.Message, Successes: ev.Successes,
		Child: c.Name, Host: c.Host, Began: c.Began, Ended: ended}
}

func giveBack(lines []Line) []Effect {
	if len(lines) == 0 {
		return nil
	}
	return []Effect{{Kind: EffectGiveBack, Lines: lines}}
}
