package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// noon is when every test here begins.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// simulated is a process as package agents runs it: it takes one line at a
// time, the most urgent of those it was fed, and lives at its own pace. What
// it says waits in events until the child is told.
type simulated struct {
	forked, ready, closing, mute, dead bool

	queue  []Line
	hand   []Line // one at the most
	events []ChildEvent
}

func (p *simulated) feed(lines []Line) {
	p.queue = append(p.queue, lines...)
	slices.SortStableFunc(p.queue, func(a, b Line) int { return a.Priority - b.Priority })
}

func (p *simulated) recall() []Line {
	lines := p.queue
	p.queue = nil
	return lines
}

// world is a child, its process, and the books of all that was ever given.
type world struct {
	*rapid.T
	now       time.Time
	child     Child
	process   *simulated
	jobs      JobID
	given     map[handle]time.Time
	ended     map[handle]string
	okSaid    map[handle]bool
	cancelled map[Claim]bool
	answered  time.Time // when the process said its last answer
	lateAt    time.Time // when a line was found to be late
	lateAfter time.Time // what had been answered by then
}

func newWorld(t *rapid.T) *world {
	rules := Rules{StartTimeout: 10 * time.Second, Idle: 15 * time.Minute, KillAfter: 20 * time.Second}
	rules.Timeout = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "timeout of the type")
	return &world{T: t, now: noon, child: Child{Name: "work.1", Host: "local", State: Free, Since: noon, Rules: rules},
		given: map[handle]time.Time{}, ended: map[handle]string{}, okSaid: map[handle]bool{}, cancelled: map[Claim]bool{}}
}

// step tells the child an event and does what it asks for, as its actor would.
func (w *world) step(ev ChildEvent) {
	before := w.child
	next, effects := before.Step(ev, w.now)
	w.child = next
	w.checkDeath(before, ev, effects)
	if next.State == Freeing && before.State != Freeing && next.Stop == StopTimeout {
		w.lateAt, w.lateAfter = w.now, w.answered
	}
	for i := range effects {
		w.carryOut(&effects[i], ev)
	}
	w.checkBooks(ev)
}

func (w *world) carryOut(e *Effect, because ChildEvent) {
	if e.Kind != EffectLaunch && e.Kind != EffectSettle && e.Kind != EffectGiveBack && e.Kind != EffectDied &&
		w.process == nil {
		w.Fatalf("%s, though there is no process", e.Kind)
	}
	switch e.Kind {
	case EffectLaunch:
		if w.process != nil {
			w.Fatalf("launch, though there is a process")
		}
		w.process = &simulated{}
	case EffectFeed:
		if w.child.State != Busy {
			w.Fatalf("fed in %s", w.child.State)
		}
		w.process.feed(e.Lines)
	case EffectRecall:
		w.step(ChildEvent{Kind: EventReturned, Lines: w.process.recall()})
	case EffectClose, EffectKill:
		w.process.closing = true
	case EffectSettle:
		w.checkSettle(&e.Result, because)
	case EffectGiveBack:
		for _, l := range e.Lines {
			w.end(l, "given back")
		}
	}
}

func (w *world) end(l Line, how string) {
	h := l.handle()
	if was, twice := w.ended[h]; twice {
		w.Fatalf("line %v was %s, and now it is %s", h, was, how)
	}
	w.ended[h] = how
}

func (w *world) checkSettle(r *Result, because ChildEvent) {
	h := r.Line.handle()
	w.end(*r.Line, r.Outcome.String())
	switch r.Outcome {
	case OutcomeSucceeded:
		if because.Kind != EventAnswered || !because.OK || !w.okSaid[h] {
			w.Fatalf("line %v succeeded without an OK of its own", h)
		}
	case OutcomeCancelled:
		if !w.cancelled[r.Line.Claim] {
			w.Fatalf("line %v was cancelled, and nobody had asked for that", h)
		}
	case OutcomeTimedOut:
		began := w.given[h]
		if w.lateAfter.After(began) {
			began = w.lateAfter
		}
		allowed := r.Line.Timeout
		if allowed == 0 {
			allowed = w.child.Rules.Timeout
		}
		if w.lateAt.Sub(began) < allowed {
			w.Fatalf("line %v timed out after %s of %s", h, w.lateAt.Sub(began), allowed)
		}
	}
}

// checkDeath: a death under an order of ours never counts, and every other one does.
func (w *world) checkDeath(before Child, ev ChildEvent, effects []Effect) {
	counted := slices.ContainsFunc(effects, func(e Effect) bool { return e.Kind == EffectDied })
	over := ev.Kind == EventExited || ev.Kind == EventLaunchFailed
	ordered := (before.State == Freeing || before.State == Prep) && before.Stop.Ours()
	if counted != (over && !ordered) {
		w.Fatalf("%s in %s under order %q: death counted: %v", ev.Kind, before.State, before.Stop, counted)
	}
}

// checkBooks: every line ever given is in exactly one place.
func (w *world) checkBooks(ev ChildEvent) {
	held := map[handle]int{}
	for _, l := range w.child.Lines {
		held[l.handle()]++
	}
	for h := range w.given {
		_, ended := w.ended[h]
		if n := held[h]; n > 1 || (n == 1) == ended {
			w.Fatalf("after %s in %s: line %v is held %d times and ended: %q", ev.Kind, w.child.State, h, n, w.ended[h])
		}
		delete(held, h)
	}
	if len(held) > 0 {
		w.Fatalf("held, but never given: %v", held)
	}
	switch s := w.child.State; {
	case s != Busy && s != Freeing && len(w.child.Lines) > 0:
		w.Fatalf("%s holds %d lines", s, len(w.child.Lines))
	case s == Busy && len(w.child.Lines) == 0:
		w.Fatalf("RUNNING without a line after %s", ev.Kind)
	case s == Busy && w.child.timeout() > 0 && w.child.Deadline().IsZero():
		w.Fatalf("a line with a timeout, and no deadline")
	}
}

// deliver tells the child the oldest event of its process.
func (w *world) deliver() {
	p := w.process
	ev := p.events[0]
	p.events = p.events[1:]
	if ev.Kind == EventExited { // what it was never given is not to blame for its end
		w.step(ChildEvent{Kind: EventReturned, Lines: p.recall()})
		w.process = nil
	}
	if ev.Kind == EventLaunchFailed {
		w.process = nil
	}
	w.step(ev)
}

// processMoves is what the process may do now, of its own accord.
func (w *world) processMoves() []string {
	p := w.process
	if p == nil {
		return nil
	}
	var can []string
	add := func(ok bool, what ...string) {
		if ok {
			can = append(can, what...)
		}
	}
	add(len(p.events) > 0, "deliver", "deliver", "deliver")
	add(!p.forked, "fork", "fork", "no fork")
	lives := p.forked && !p.dead
	add(lives, "exit")
	add(lives && !p.mute && !p.ready, "first OK", "first OK")
	add(lives && !p.mute && p.ready && len(p.hand) == 0 && len(p.queue) > 0 && !p.closing, "take", "take")
	add(lives && !p.mute && len(p.hand) > 0, "answer", "answer", "answer badly")
	add(lives && !p.mute, "close stdout")
	return can
}

func (w *world) processDoes(what string) {
	p := w.process
	say := func(ev ChildEvent) {
		ev.At = w.now
		p.events = append(p.events, ev)
	}
	switch what {
	case "deliver":
		w.deliver()
	case "fork":
		p.forked = true
		say(ChildEvent{Kind: EventLaunched})
	case "no fork":
		p.dead, p.forked = true, true
		say(ChildEvent{Kind: EventLaunchFailed, Error: "no such file"})
	case "first OK":
		p.ready = true
		say(ChildEvent{Kind: EventReady})
	case "take":
		p.hand, p.queue = []Line{p.queue[0]}, p.queue[1:]
	case "answer", "answer badly":
		l, ok := p.hand[0], what == "answer"
		p.hand, w.answered = nil, w.now
		w.okSaid[l.handle()] = ok
		say(ChildEvent{Kind: EventAnswered, Claim: l.Claim, Item: l.Item, OK: ok})
	case "close stdout":
		p.mute = true
		say(ChildEvent{Kind: EventOutputClosed, Error: "closed its stdout"})
	case "exit":
		p.dead, p.hand = true, nil
		say(ChildEvent{Kind: EventExited, Error: "exit status 1", ExitCode: 1})
	}
}

var oursOnly = []StopReason{StopIdle, StopRoom, StopShutdown, StopFenced, StopStale, StopReplaced}

var hostMoves = []string{"want", "give", "give", "give", "recall", "free", "kill", "cancel", "bar", "time", "time", "forged answer"}

func (w *world) hostDoes(what string) {
	switch what {
	case "want":
		w.step(ChildEvent{Kind: EventWanted})
	case "give":
		var lines []Line
		items := rapid.Bool().Draw(w.T, "items of an MSQ job")
		for i := range rapid.IntRange(1, 3).Draw(w.T, "lines") {
			l := Line{
				Priority: rapid.IntRange(-1, 1).Draw(w.T, "priority"),
				Timeout:  rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(w.T, "timeout"),
			}
			if i == 0 || !items {
				w.jobs++
			}
			l.Claim = Claim{Job: w.jobs, Fence: 1}
			if items {
				l.Item = int64(i + 1)
			}
			w.given[l.handle()] = w.now
			lines = append(lines, l)
		}
		w.step(ChildEvent{Kind: EventGiven, Lines: lines})
	case "recall":
		w.step(ChildEvent{Kind: EventRecall})
	case "free", "kill":
		ev := ChildEvent{Kind: EventDismiss, Stop: rapid.SampledFrom(oursOnly).Draw(w.T, "order")}
		if what == "kill" {
			ev.Kind = EventKill
		}
		w.step(ev)
	case "cancel":
		claim := Claim{Job: JobID(rapid.IntRange(1, int(w.jobs)+1).Draw(w.T, "job")), Fence: 1}
		w.cancelled[claim] = true
		w.step(ChildEvent{Kind: EventCancel, Claim: claim, Now: rapid.Bool().Draw(w.T, "now")})
	case "bar":
		w.step(ChildEvent{Kind: EventTripped})
	case "time":
		if at := w.child.Deadline(); at.After(w.now) && rapid.Bool().Draw(w.T, "until the deadline") {
			w.now = at
		} else {
			w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, 11 * time.Millisecond,
				time.Second}).Draw(w.T, "later by"))
		}
		w.step(ChildEvent{Kind: EventTick})
	case "forged answer": // to a line that is not there, or not any more
		for h := range w.ended {
			w.step(ChildEvent{Kind: EventAnswered, Claim: h.Claim, Item: h.item, OK: true, At: w.now})
			break
		}
	}
}

// rest lets the process do what is sensible until nothing is left to do.
func (w *world) rest() {
	for range 1000 {
		moves := slices.DeleteFunc(w.processMoves(), func(m string) bool {
			return m == "exit" && !w.process.closing && !w.process.mute || m == "no fork" || m == "close stdout" || m == "answer badly"
		})
		if len(moves) == 0 {
			return
		}
		w.processDoes(moves[0])
	}
	w.Fatalf("never at rest: %s", w.child.State)
}

// Law: whatever happens, every line that a child was given ends in exactly one
// outcome, or goes back, or is still held; no line is taken for done that the
// agent did not call done, none for cancelled that nobody cancelled; and our
// orders count no deaths.
func TestChild_EveryLineEndsExactlyOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.now = w.now.Add(time.Microsecond)
			moves := append(slices.Clone(hostMoves), w.processMoves()...)
			if what := rapid.SampledFrom(moves).Draw(t, "what"); slices.Contains(hostMoves, what) {
				w.hostDoes(what)
			} else {
				w.processDoes(what)
			}
		}
		w.rest()
		if s := w.child.State; s != Free && s != Fail && s != ChildReady {
			t.Fatalf("its agent is well and has done all it was given, and the child is %s with %d lines, order %q", s,
				len(w.child.Lines), w.child.Stop)
		}
		if w.child.State == ChildReady {
			w.step(ChildEvent{Kind: EventKill, Stop: StopShutdown})
			w.rest()
		}
		if len(w.child.Lines) > 0 || len(w.ended) != len(w.given) {
			t.Fatalf("%d lines given, %d ended, %d held", len(w.given), len(w.ended), len(w.child.Lines))
		}
	})
}

func ExampleChild() {
	now := noon
	c := Child{Name: "license.1", Host: "local"}
	tell := func(ev ChildEvent) {
		var effects []Effect
		c, effects = c.Step(ev, now)
		for _, e := range effects {
			fmt.Print(e.Kind, " ")
		}
		fmt.Println(c.State)
	}
	line := Line{Claim: Claim{Job: 7, Fence: 1}, Args: "/etc/passwd"}
	tell(ChildEvent{Kind: EventWanted})
	tell(ChildEvent{Kind: EventLaunched})
	tell(ChildEvent{Kind: EventReady})
	tell(ChildEvent{Kind: EventGiven, Lines: []Line{line}})
	tell(ChildEvent{Kind: EventAnswered, Claim: line.Claim, OK: true})
	// Output:
	// launch PREP
	// SPAWNED
	// READY
	// feed RUNNING
	// settle READY
}
