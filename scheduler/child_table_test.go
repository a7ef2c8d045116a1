package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// happening is one row of the table: an event in the circumstances that make a
// difference to it.
type happening struct {
	words  string
	ev     ChildEvent
	queued bool          // a second line is prefetched behind the one in hand
	told   StopReason    // in PREP and RUNNING: it has been told to go already
	late   time.Duration // how long the child has been in its state
}

var (
	inHand = Line{Claim: Claim{Job: 1, Fence: 1}, Timeout: time.Minute}
	behind = Line{Claim: Claim{Job: 2, Fence: 1}, Timeout: time.Minute}
	newOne = Line{Claim: Claim{Job: 3, Fence: 1}}
)

var happenings = []happening{
	{words: "launched", ev: ChildEvent{Kind: EventLaunched}},
	{words: "launched, told to go meanwhile", ev: ChildEvent{Kind: EventLaunched}, told: StopShutdown},
	{words: "launch failed", ev: ChildEvent{Kind: EventLaunchFailed, Error: "no such file"}},
	{words: "launch failed: its guard died", ev: ChildEvent{Kind: EventLaunchFailed, Stop: StopUnguarded}},
	{words: "launch failed, told to go meanwhile", ev: ChildEvent{Kind: EventLaunchFailed}, told: StopShutdown},
	{words: "ready", ev: ChildEvent{Kind: EventReady}},
	{words: "answered: OK", ev: ChildEvent{Kind: EventAnswered, Claim: inHand.Claim, OK: true}},
	{words: "answered: OK, more queued", ev: ChildEvent{Kind: EventAnswered, Claim: inHand.Claim, OK: true}, queued: true},
	{words: "answered: OK, told to go", ev: ChildEvent{Kind: EventAnswered, Claim: inHand.Claim, OK: true}, told: StopRoom},
	{words: "answered: failed", ev: ChildEvent{Kind: EventAnswered, Claim: inHand.Claim, ExitCode: 3}},
	{words: "answered: killed by a signal (exec)", ev: ChildEvent{Kind: EventAnswered, Claim: inHand.Claim, ExitCode: 139, Signal: 11}},
	{words: "answered: the line behind", ev: ChildEvent{Kind: EventAnswered, Claim: behind.Claim, OK: true}, queued: true},
	{words: "answered: no line of ours", ev: ChildEvent{Kind: EventAnswered, Claim: newOne.Claim, OK: true}},
	{words: "began a batch", ev: ChildEvent{Kind: EventBegan, Lines: []Line{inHand}}},
	{words: "output closed", ev: ChildEvent{Kind: EventOutputClosed, Error: "closed its stdout"}},
	{words: "exited", ev: ChildEvent{Kind: EventExited, ExitCode: 1, Error: "exit status 1"}},
	{words: "exited, more queued", ev: ChildEvent{Kind: EventExited, ExitCode: 1, Error: "exit status 1"}, queued: true},
	{words: "exited: its guard died", ev: ChildEvent{Kind: EventExited, ExitCode: 137, Signal: 9, Error: "killed", Stop: StopUnguarded}},
	{words: "exited, told to go", ev: ChildEvent{Kind: EventExited, ExitCode: 1, Error: "exit status 1"}, told: StopRoom},
	{words: "wanted", ev: ChildEvent{Kind: EventWanted}},
	{words: "given", ev: ChildEvent{Kind: EventGiven, Lines: []Line{newOne}}},
	{words: "given, told to go", ev: ChildEvent{Kind: EventGiven, Lines: []Line{newOne}}, told: StopRoom},
	{words: "recall", ev: ChildEvent{Kind: EventRecall}},
	{words: "recall, more queued", ev: ChildEvent{Kind: EventRecall}, queued: true},
	{words: "returned: what was queued", ev: ChildEvent{Kind: EventReturned, Lines: []Line{behind}}, queued: true},
	{words: "returned: all", ev: ChildEvent{Kind: EventReturned, Lines: []Line{inHand}}},
	{words: "free", ev: ChildEvent{Kind: EventDismiss, Stop: StopRoom}},
	{words: "free, more queued", ev: ChildEvent{Kind: EventDismiss, Stop: StopRoom}, queued: true},
	{words: "cancel: in hand", ev: ChildEvent{Kind: EventCancel, Claim: inHand.Claim}},
	{words: "cancel now: in hand", ev: ChildEvent{Kind: EventCancel, Claim: inHand.Claim, Now: true}},
	{words: "cancel: one of several", ev: ChildEvent{Kind: EventCancel, Claim: behind.Claim}, queued: true},
	{words: "cancel: not here", ev: ChildEvent{Kind: EventCancel, Claim: newOne.Claim}},
	{words: "kill", ev: ChildEvent{Kind: EventKill, Stop: StopStale}},
	{words: "kill, more queued", ev: ChildEvent{Kind: EventKill, Stop: StopStale}, queued: true},
	{words: "barred", ev: ChildEvent{Kind: EventTripped}},
	{words: "tick: nothing is due", ev: ChildEvent{Kind: EventTick}},
	{words: "tick: 10 ms, more queued", ev: ChildEvent{Kind: EventTick}, queued: true, late: 10 * time.Millisecond},
	{words: "tick: the state's time is over", ev: ChildEvent{Kind: EventTick}, late: time.Hour},
}

// columns is the order of the states in the table.
var columns = []ChildState{Free, Prep, Spawned, ChildReady, Busy, Freeing, Fail}

// childIn is a child in a state, and in a row's circumstances.
func childIn(s ChildState, h happening) Child {
	c := Child{Name: "work.1", Host: "local", State: s, Since: noon, Began: noon,
		Rules: Rules{StartTimeout: time.Minute, Idle: 15 * time.Minute, KillAfter: 20 * time.Second}}
	if s == Busy || s == Freeing {
		c.Lines = []Line{inHand}
		if h.queued {
			c.Lines = append(c.Lines, behind)
		}
	}
	switch s {
	case Prep, Busy:
		c.Stop = h.told
	case Freeing:
		c.Stop = StopShutdown
	}
	return c
}

// cell says what a row does to a child: the state it leads to, and the effects.
func cell(s ChildState, h happening) string {
	next, effects := childIn(s, h).Step(h.ev, noon.Add(h.late))
	var words []string
	for _, e := range effects {
		w := e.Kind.String()
		if e.Kind == EffectSettle {
			w += ": " + e.Result.Outcome.String()
		}
		words = append(words, w)
	}
	if next.State != s {
		words = append([]string{"**" + next.State.String() + "**"}, words...)
	}
	if len(words) == 0 {
		return "·"
	}
	return strings.Join(words, ", ")
}

func TestChildTable_HasEveryEvent(t *testing.T) {
	t.Parallel()
	rows := map[EventKind]bool{}
	for _, h := range happenings {
		rows[h.ev.Kind] = true
	}
	for k := range eventKinds {
		if !rows[k] {
			t.Errorf("no row for %q", k)
		}
	}
	for s := range childStates {
		if !slices.Contains(columns, s) {
			t.Errorf("no column for %s", s)
		}
	}
	if len(columns) != int(childStates) || len(eventNames) != int(eventKinds) || len(stopNames) != int(orders) ||
		len(outcomeNames) != int(outcomes) {
		t.Error("a list of names is not as long as what it names")
	}
}

// Total: every state × event × order × what is in hand is defined, and keeps
// the books.
func TestChild_StepIsTotal(t *testing.T) {
	t.Parallel()
	steps := 0
	for _, s := range columns {
		for _, h := range happenings {
			for told := range orders {
				for order := range orders {
					for _, queued := range []bool{false, true} {
						for _, late := range []time.Duration{0, 10 * time.Millisecond, time.Hour} {
							h.told, h.queued, h.late, h.ev.Stop = told, queued, late, order
							checkStep(t, childIn(s, h), h)
							steps++
						}
					}
				}
			}
		}
	}
	t.Logf("%d steps", steps)
}

func checkStep(t *testing.T, c Child, h happening) {
	t.Helper()
	held := slices.Clone(c.Lines)
	next, effects := c.Step(h.ev, noon.Add(h.late))
	if !slices.EqualFunc(c.Lines, held, func(a, b Line) bool { return a.handle() == b.handle() }) {
		t.Fatalf("%s in %s changed the child it was asked about", h.words, c.State)
	}
	if h.ev.Kind == EventGiven {
		held = append(held, h.ev.Lines...)
	}
	var after []Line
	after = append(after, next.Lines...)
	for _, e := range effects {
		switch e.Kind {
		case EffectFeed:
			if next.State != Busy {
				t.Errorf("%s in %s feeds, and leads to %s", h.words, c.State, next.State)
			}
		case EffectSettle:
			after = append(after, *e.Result.Line)
			if e.Result.Outcome == OutcomeSucceeded &&
				(h.ev.Kind != EventAnswered || !h.ev.OK || e.Result.Line.Claim != h.ev.Claim) {
				t.Errorf("%s in %s: job %d succeeded without an OK", h.words, c.State, e.Result.Line.Job)
			}
		case EffectGiveBack:
			after = append(after, e.Lines...)
		case EffectUnguarded:
			if h.ev.Kind != EventExited && h.ev.Kind != EventLaunchFailed || h.ev.Stop != StopUnguarded {
				t.Errorf("%s in %s counts a guard", h.words, c.State)
			}
		case EffectDied:
			if (c.State == Freeing || c.State == Prep) && c.Stop.Ours() {
				t.Errorf("%s in %s under order %q counts a death", h.words, c.State, c.Stop)
			}
		}
	}
	byJob := func(a, b Line) int { return int(a.Job - b.Job) }
	slices.SortFunc(after, byJob)
	if !slices.EqualFunc(held, after, func(a, b Line) bool { return a.handle() == b.handle() }) {
		t.Errorf("%s in %s, told %q: it had %d lines, and now there are %d", h.words, c.State, h.told, len(held), len(after))
	}
	if next.State != Busy && next.State != Freeing && len(next.Lines) > 0 {
		t.Errorf("%s in %s leads to %s with %d lines", h.words, c.State, next.State, len(next.Lines))
	}
	if (next.State == Free || next.State == Fail) && next.Stop != StopNone {
		t.Errorf("%s in %s leads to %s under order %q", h.words, c.State, next.State, next.Stop)
	}
	if next.State == Freeing && next.Deadline().IsZero() {
		t.Errorf("%s in %s: nothing kills it should it not die", h.words, c.State)
	}
}

// Every order to die, and what a death under it is called.
func TestChild_OnlyADeathThatNobodyOrderedCounts(t *testing.T) {
	t.Parallel()
	for o := range orders {
		if o == StopNone {
			continue
		}
		_, counted := deathUnder(o)
		if counted == o.Ours() {
			t.Errorf("a death under order %q: ours: %v, counted: %v", o, o.Ours(), counted)
		}
	}
}

// deathUnder is what becomes of the line in hand of a child that exits under
// an order about that line, and whether the death counts.
func deathUnder(o StopReason) (outcome Outcome, counted bool) {
	c := childIn(Freeing, happening{})
	c.Stop, c.cancel, c.late = o, inHand.Claim, inHand.handle()
	if o == StopNone {
		c.State = Busy
	}
	_, effects := c.Step(ChildEvent{Kind: EventExited, Signal: 9}, noon)
	for _, e := range effects {
		switch e.Kind {
		case EffectSettle:
			outcome = e.Result.Outcome
		case EffectDied:
			counted = true
		}
	}
	return outcome, counted
}

// Who is told to stop, and says that the line failed, was cancelled: its job is not tried again. Who was done is done.
func TestChild_WhoGivesUpWhenCancelledWasCancelled(t *testing.T) {
	t.Parallel()
	for ok, want := range map[bool]Outcome{true: OutcomeSucceeded, false: OutcomeCancelled} {
		c, _ := childIn(Busy, happening{}).Step(ChildEvent{Kind: EventCancel, Claim: inHand.Claim}, noon)
		_, effects := c.Step(ChildEvent{Kind: EventAnswered, Claim: inHand.Claim, Item: inHand.Item, OK: ok, ExitCode: 1},
			noon)
		i := slices.IndexFunc(effects, func(e Effect) bool { return e.Kind == EffectSettle })
		if i < 0 || effects[i].Result.Outcome != want {
			t.Errorf("answered %t: %+v, want %v", ok, effects, want)
		}
	}
}

// A line that is lost is nobody's death, whatever the child was told or to
// blame for meanwhile, and its work goes back uncounted.
func TestChild_AnEndByALostLineNeverCounts(t *testing.T) {
	t.Parallel()
	for _, s := range []ChildState{Spawned, ChildReady, Busy, Freeing} {
		for _, told := range []StopReason{StopNone, StopSilent, StopBroken} {
			c := childIn(s, happening{})
			if c.Stop = told; s != Freeing {
				c.Stop = StopNone
			}
			next, effects := c.Step(ChildEvent{Kind: EventExited, Stop: StopUnreached, Signal: 9, ExitCode: 137}, noon)
			if next.State != Free {
				t.Errorf("%s leads to %s", s, next.State)
			}
			for _, e := range effects {
				if e.Kind == EffectDied || e.Kind == EffectSettle && e.Result.Outcome != OutcomeLost {
					t.Errorf("%s, told %q: %+v", s, told, e)
				}
			}
		}
	}
}

func TestChild_DeadlinesComeAgainUntilTheProcessIsDead(t *testing.T) {
	t.Parallel()
	c := childIn(Freeing, happening{})
	for range 3 {
		now := c.Deadline()
		next, effects := c.Step(ChildEvent{Kind: EventTick}, now)
		if len(effects) != 1 || effects[0].Kind != EffectKill || !next.Deadline().After(now) {
			t.Fatalf("at %s: %v, and the next look is at %s", now, effects, next.Deadline())
		}
		c = next
	}
}

// A line that takes longer than the pace promised keeps nothing waiting behind
// it; it is forgotten after a few dozen quick ones.
func TestChild_SlowLineAmongQuickOnes(t *testing.T) {
	t.Parallel()
	quick := func(c Child, id JobID, took time.Duration, now time.Time) (Child, time.Time) {
		l := Line{Claim: Claim{Job: id, Fence: 1}}
		c, _ = c.Step(ChildEvent{Kind: EventGiven, Lines: []Line{l}}, now)
		now = now.Add(took)
		c, _ = c.Step(ChildEvent{Kind: EventAnswered, Claim: l.Claim, OK: true, At: now}, now)
		return c, now
	}
	c, now := childIn(ChildReady, happening{}), noon
	for i := range 100 {
		c, now = quick(c, JobID(i+1), 10*time.Microsecond, now)
	}
	if c.Room() < 100 {
		t.Fatalf("room %d after quick lines", c.Room())
	}
	slow, behind := Line{Claim: Claim{Job: 1001, Fence: 1}}, Line{Claim: Claim{Job: 1002, Fence: 1}}
	c, _ = c.Step(ChildEvent{Kind: EventGiven, Lines: []Line{slow, behind}}, now)
	now = c.Deadline()
	c, effects := c.Step(ChildEvent{Kind: EventTick}, now)
	if len(effects) != 1 || effects[0].Kind != EffectRecall {
		t.Fatalf("effects %+v, want what waits behind it taken back", effects)
	}
	c, _ = c.Step(ChildEvent{Kind: EventReturned, Lines: []Line{behind}}, now)
	if c.Room() != 0 {
		t.Errorf("room for %d lines behind a line that takes long", c.Room())
	}
	begun := Line{Claim: Claim{Job: 1003, Fence: 1}} // it is given another, which it cannot give back
	c, _ = c.Step(ChildEvent{Kind: EventGiven, Lines: []Line{begun}}, now)
	if at := c.Deadline(); !at.After(now) {
		t.Errorf("what it was to give back is wanted again at once: at %s, now is %s", at, now)
	}
	c, _ = c.Step(ChildEvent{Kind: EventAnswered, Claim: begun.Claim, OK: true, At: now}, now)
	now = now.Add(time.Hour)
	c, _ = c.Step(ChildEvent{Kind: EventAnswered, Claim: slow.Claim, OK: true, At: now}, now)
	for i := range 100 {
		c, now = quick(c, JobID(i+2001), 10*time.Microsecond, now)
	}
	if c.Room() < 100 {
		t.Errorf("room %d: an hour is remembered for too long", c.Room())
	}
}

// The pace is measured, and prefetching follows it.
func TestChild_TakesAsManyLinesAsStartWithinFiveMilliseconds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pace time.Duration
		want int
	}{{0, 1}, {time.Hour, 1}, {5*time.Millisecond + 1, 1}, {5 * time.Millisecond, 2}, {2 * time.Millisecond, 3},
		{100 * time.Microsecond, 51},
		{time.Nanosecond, prefetchMost}} {
		if got := (Child{LineTime: c.pace}).Depth(); got != c.want {
			t.Errorf("pace %s: depth %d, want %d", c.pace, got, c.want)
		}
	}
	c, now := childIn(ChildReady, happening{}), noon
	for i := range 100 {
		l := Line{Claim: Claim{Job: JobID(i + 1), Fence: 1}}
		c, _ = c.Step(ChildEvent{Kind: EventGiven, Lines: []Line{l}}, now)
		now = now.Add(time.Millisecond)
		c, _ = c.Step(ChildEvent{Kind: EventAnswered, Claim: l.Claim, OK: true, At: now}, now)
	}
	if c.LineTime != time.Millisecond || c.Room() != 6 {
		t.Errorf("after 100 lines of 1 ms: pace %s, room %d", c.LineTime, c.Room())
	}
	for _, s := range columns {
		for o := range orders {
			c := Child{State: s, Stop: o, LineTime: time.Millisecond}
			if room := c.Room(); room > 0 && (o != StopNone || s != ChildReady && s != Busy) {
				t.Errorf("%s under order %q has room for %d lines", s, o, room)
			}
		}
	}
}

// moves lists the transitions that the table shows, as "FROM --> TO".
func childMoves() []string {
	var list []string
	for _, from := range columns {
		for _, to := range columns {
			var by []string
			for _, h := range happenings {
				name, _, _ := strings.Cut(h.words, ":")
				name, _, _ = strings.Cut(name, ",")
				if next, _ := childIn(from, h).Step(h.ev, noon.Add(h.late)); next.State == to && from != to &&
					!slices.Contains(by, name) {
					by = append(by, name)
				}
			}
			if len(by) > 0 {
				list = append(list, fmt.Sprintf("%s --> %s: %s", from, to, strings.Join(by, ", ")))
			}
		}
	}
	return list
}

// A line for which locks were asked while it was in hand is told as one that
// holds some, and the child's own are what they were.
func TestChild_WhatWasAskedForCountsAsHeld(t *testing.T) {
	t.Parallel()
	c := childIn(ChildReady, happening{})
	l := Line{Claim: Claim{Job: 1, Fence: 1}}
	c, _ = c.Step(ChildEvent{Kind: EventGiven, Lines: []Line{l}}, noon)
	for _, asked := range []bool{false, true} {
		_, effects := c.Step(ChildEvent{Kind: EventAnswered, Claim: l.Claim, OK: true, Locks: asked, At: noon}, noon)
		r := Record{Kind: RecordSettle, Result: effects[0].Result}
		if r.Line().Locked != asked || r.Hurries() != asked || c.Lines[0].Locked {
			t.Errorf("asked %v: the record is of %+v", asked, r.Line())
		}
	}
}
