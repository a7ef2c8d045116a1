package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What follows plays every order in which the steps of producers, instances,
// the server's lock and the lines between them can happen, and looks for a
// world in which a job is there, somebody lives who could run it, and nobody
// will ever look: all are asleep, and nothing is on its way to them.

const (
	maxProducers = 3
	maxInstances = 2
)

// producer is one transaction: it inserts, tries the lock, perhaps inserts
// once more and tries again, and commits (or rolls back). What it inserted is
// seen, then its lock is free, then its ring is delivered.
type gateProducer struct {
	At     int8 // 0 … 6: begun, row in, tried, seen, lock free, over
	Silent bool // it got the lock
	Rings  bool // it was refused
}

const (
	pIdle int8 = iota
	pBegun
	pInserted
	pTried
	pVisible
	pFreed
	pOver
)

// gateInstance is what one instance and its ask at the server look like.
type gateInstance struct {
	Gate     Gate
	Dead     bool // killed: it is not coming back
	Look     bool // a look at the queue is due
	Rung     bool // a ring is on its way
	Ask      int8 // the ask at the server: none, on its way, waits, has it
	Number   int  // of that ask
	Told     bool // it has been told that the gate is shut
	Shut     int  // the number of the ask whose answer "shut" is on its way; 0: none
	Ended    int  // … "ended"
	Again    int  // … "again"
	Released bool // the ask at the server is to end, and nobody wants to hear of it
}

const (
	askNone int8 = iota
	askSent      // on its way to the server
	askWaits
	askHas
)

// gateWorld is one moment.
type gateWorld struct {
	Producers [maxProducers]gateProducer
	Instances [maxInstances]gateInstance
	Queue     [maxInstances]int8 // who waits for the gate, in order; instance + 1
	Jobs      bool               // a committed job that nobody has claimed
	Budget    int8               // of faults and of changes of mind
}

func (w *gateWorld) has(except int) bool {
	for i := range w.Instances {
		if i != except && w.Instances[i].Ask == askHas {
			return true
		}
	}
	return false
}

func (w *gateWorld) waits() bool { return w.Queue[0] != 0 }

// leave takes an instance's ask out of the lock.
func (w *gateWorld) leave(i int) {
	var rest [maxInstances]int8
	n := 0
	for _, q := range w.Queue {
		if q != 0 && q != int8(i+1) {
			rest[n] = q
			n++
		}
	}
	w.Queue = rest
}

// step lets an instance's gate step, and does what it says. how breaks the
// protocol on purpose.
func (w *gateWorld) step(i int, ev GateEvent, how gateFlaw) {
	in := &w.Instances[i]
	var effects []GateEffect
	in.Gate, effects = in.Gate.Step(ev)
	for _, e := range effects {
		switch e {
		case GateScan:
			in.Look = in.Look || how != flawNoLastLook || ev.Kind != GateShut
		case GateAskFor:
			in.Ask, in.Number, in.Told, in.Released = askSent, in.Gate.Ask, false, false
		case GateLetGo:
			in.Released = true
		case GateArm: // a tick is possible in every state that wants one
		}
	}
	// Ask numbers are compared for equality only: keep them small.
	if in.Gate.Ask > 2 && in.Shut == 0 && in.Ended == 0 && in.Again == 0 && in.Ask == askNone {
		in.Gate.Ask = 2
	}
}

// gateFlaw is a way to get it wrong, to see that the search would find it.
type gateFlaw int

const (
	flawNone gateFlaw = iota
	flawNoLastLook
	flawLossUnnoticed     // an ask that has ended while asleep is taken for nothing
	flawShutWhileWaiting  // asking is taken for having
	flawReleasedOnTrying  // a producer does not keep the lock to its end
	flawFreedBeforeSeen   // it lets go of the lock before its row is seen
	flawStaleAnswers      // answers to old asks are taken
	flawBehindAnyWaiter   // who waits behind one that waits itself takes that for having
	flawNobodyTicksAsking // no looks while asking
)

// gateMove is what led from one moment to the next.
type gateMove struct {
	who  string
	i    int
	what string
}

// next gives every moment that can follow.
func (w gateWorld) next(how gateFlaw, instances int, emit func(gateMove, gateWorld)) {
	for p := range w.Producers {
		w.produce(p, how, emit)
	}
	for i := range instances {
		w.schedule(i, how, emit)
	}
}

func (w gateWorld) produce(p int, how gateFlaw, emit func(gateMove, gateWorld)) {
	do := func(what string, change func(w *gateWorld, p *gateProducer)) {
		after := w
		change(&after, &after.Producers[p])
		emit(gateMove{"producer", p, what}, after)
	}
	switch w.Producers[p].At {
	case pIdle: // REPEATABLE READ takes its snapshot here: nothing hangs on it
		do("begins", func(_ *gateWorld, p *gateProducer) { p.At = pBegun })
	case pBegun:
		do("inserts", func(_ *gateWorld, p *gateProducer) { p.At = pInserted })
	case pInserted:
		do("tries", func(w *gateWorld, p *gateProducer) {
			p.At = pTried
			if !w.has(-1) && !w.waits() {
				p.Silent = how != flawReleasedOnTrying
			} else {
				p.Rings = true
			}
		})
	case pTried:
		if how == flawFreedBeforeSeen && w.Producers[p].Silent {
			do("lets go too early", func(_ *gateWorld, p *gateProducer) { p.Silent = false })
		}
		do("commits", func(w *gateWorld, p *gateProducer) { p.At, w.Jobs = pVisible, true })
		do("rolls back", func(_ *gateWorld, p *gateProducer) { *p = gateProducer{At: pOver} })
	case pVisible:
		do("frees", func(_ *gateWorld, p *gateProducer) { p.At, p.Silent = pFreed, false })
	case pFreed:
		do("is over", func(w *gateWorld, p *gateProducer) {
			if p.Rings {
				for i := range w.Instances {
					w.Instances[i].Rung = w.Instances[i].Rung || !w.Instances[i].Dead
				}
			}
			*p = gateProducer{At: pOver}
		})
	}
}

func (w gateWorld) schedule(i int, how gateFlaw, emit func(gateMove, gateWorld)) {
	in := w.Instances[i]
	do := func(what string, change func(w *gateWorld, in *gateInstance)) {
		after := w
		change(&after, &after.Instances[i])
		emit(gateMove{"instance", i, what}, after)
	}
	silent := func(p gateProducer) bool { return p.Silent }
	// The server's side of the ask. It goes on after its instance's death, until
	// the server has seen that.
	switch in.Ask {
	case askSent:
		do("waits at the gate", func(w *gateWorld, in *gateInstance) {
			in.Ask = askWaits
			w.Queue[slices.Index(w.Queue[:], 0)] = int8(i + 1)
		})
	case askWaits:
		if w.Queue[0] == int8(i+1) && !w.has(i) && !slices.ContainsFunc(w.Producers[:], silent) {
			do("is granted the gate", func(w *gateWorld, in *gateInstance) {
				w.leave(i)
				if in.Ask = askHas; !in.Told {
					in.Shut, in.Told = in.Number, true
				}
			})
		}
		if !in.Told && (w.has(i) || how == flawShutWhileWaiting || how == flawBehindAnyWaiter && w.Queue[0] != int8(i+1)) {
			do("sees that it waits behind one who has the gate",
				func(_ *gateWorld, in *gateInstance) { in.Shut, in.Told = in.Number, true })
		}
		if w.Budget > 0 {
			do("has waited for long enough", func(w *gateWorld, in *gateInstance) {
				w.leave(i)
				w.Budget--
				in.Ask, in.Again = askNone, in.Number
			})
		}
	}
	if in.Ask != askNone && (in.Released || in.Dead) {
		do("has let go", func(w *gateWorld, in *gateInstance) { w.leave(i); in.Ask, in.Released = askNone, false })
	}
	if in.Dead {
		return
	}
	if w.Budget > 0 && (in.Ask == askWaits || in.Ask == askHas) && !in.Released {
		do("loses its connection", func(w *gateWorld, in *gateInstance) {
			w.leave(i)
			w.Budget--
			in.Ask, in.Ended = askNone, in.Number
		})
	}
	if w.Budget > 0 {
		do("is killed", func(w *gateWorld, in *gateInstance) {
			w.Budget--
			*in = gateInstance{Dead: true, Ask: in.Ask}
		})
		if in.Gate.State == GateAwake && in.Ask == askNone { // one ask at a time
			do("finds it quiet", func(w *gateWorld, _ *gateInstance) { w.Budget--; w.step(i, GateEvent{Kind: GateQuiet}, how) })
		}
		if in.Gate.State != GateAwake {
			do("finds it busy", func(w *gateWorld, _ *gateInstance) { w.Budget--; w.step(i, GateEvent{Kind: GateBusy}, how) })
		}
	}
	if in.Shut != 0 {
		do("hears that the gate is shut", func(w *gateWorld, in *gateInstance) {
			ask := in.Shut
			if in.Shut = 0; how == flawStaleAnswers {
				ask = in.Gate.Ask
			}
			w.step(i, GateEvent{Kind: GateShut, Ask: ask}, how)
		})
	} else if in.Ended != 0 { // told in the order in which it happened
		do("hears that its ask has ended", func(w *gateWorld, in *gateInstance) {
			ask := in.Ended
			if in.Ended = 0; how != flawLossUnnoticed {
				w.step(i, GateEvent{Kind: GateEnded, Ask: ask}, how)
			}
		})
	} else if in.Again != 0 {
		do("hears that it has waited for long enough", func(w *gateWorld, in *gateInstance) {
			ask := in.Again
			in.Again = 0
			w.step(i, GateEvent{Kind: GateAgain, Ask: ask}, how)
		})
	}
	if in.Gate.State != GateAsleep && !in.Look {
		do("ticks", func(w *gateWorld, _ *gateInstance) { w.step(i, GateEvent{Kind: GateTick}, how) })
	}
	if in.Rung {
		do("is rung", func(_ *gateWorld, in *gateInstance) { in.Rung, in.Look = false, true })
	}
	if in.Look {
		do("looks", func(w *gateWorld, in *gateInstance) { in.Look, w.Jobs = false, false })
	}
}

// lost: a job is there, nobody will look, and somebody could.
func (w gateWorld) lost(how gateFlaw) bool {
	if !w.Jobs {
		return false
	}
	living := false
	for _, p := range w.Producers {
		if p.Rings && p.At >= pVisible {
			return false // its ring comes yet
		}
	}
	for _, in := range w.Instances {
		if in.Dead {
			continue
		}
		living = true
		ticks := in.Gate.State == GateAwake || in.Gate.State == GateAsking && how != flawNobodyTicksAsking
		if ticks || in.Look || in.Rung || in.Shut != 0 || in.Ended != 0 || in.Again != 0 {
			return false
		}
		if how == flawNobodyTicksAsking && in.Gate.State == GateAsking && !w.lateProducer() {
			return false // it will be granted, and look
		}
	}
	return living
}

// lateProducer reports whether somebody who was silent stays open for hours.
func (w gateWorld) lateProducer() bool {
	return slices.ContainsFunc(w.Producers[:], func(p gateProducer) bool { return p.Silent && p.At == pTried })
}

// explore plays all of it, and gives how many moments there are, and the way to
// one that must not be.
func explore(how gateFlaw, producers, instances int, budget int8) (moments int, way []string) {
	type origin struct {
		from gateWorld
		move gateMove
	}
	start := gateWorld{Budget: budget}
	for p := producers; p < maxProducers; p++ {
		start.Producers[p].At = pOver
	}
	for i := instances; i < maxInstances; i++ {
		start.Instances[i].Dead = true
	}
	seen := map[gateWorld]origin{start: {}}
	list := []gateWorld{start}
	for len(list) > 0 {
		w := list[0]
		list = list[1:]
		if w.lost(how) {
			for w != start {
				o := seen[w]
				way = append(way, fmt.Sprintf("%s %d %s", o.move.who, o.move.i, o.move.what))
				w = o.from
			}
			slices.Reverse(way)
			return len(seen), way
		}
		w.next(how, instances, func(move gateMove, after gateWorld) {
			if _, known := seen[after]; !known {
				seen[after] = origin{w, move}
				list = append(list, after)
			}
		})
	}
	return len(seen), nil
}

func TestGate_NoOrderOfStepsLosesAWakeUp(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		producers, instances int
		budget               int8
	}{{1, 1, 5}, {2, 1, 4}, {3, 1, 2}, {1, 2, 4}, {2, 2, 3}} {
		t.Run(fmt.Sprintf("%d producers, %d instances", size.producers, size.instances), func(t *testing.T) {
			t.Parallel()
			moments, way := explore(flawNone, size.producers, size.instances, size.budget)
			if way != nil {
				t.Errorf("a job is lost: %s", strings.Join(way, "; "))
			}
			t.Logf("%d moments", moments)
		})
	}
}

// The search is worth something only if it finds what is wrong.
func TestGate_TheSearchFindsFlaws(t *testing.T) {
	t.Parallel()
	for _, flaw := range []struct {
		how                  gateFlaw
		name                 string
		producers, instances int
		budget               int8
	}{
		{flawNoLastLook, "no last look", 1, 1, 2},
		{flawLossUnnoticed, "a lost connection unnoticed", 1, 1, 3},
		{flawShutWhileWaiting, "asking taken for having", 1, 1, 2},
		{flawReleasedOnTrying, "the lock not kept to the end", 1, 1, 2},
		{flawFreedBeforeSeen, "the lock free before the row is seen", 1, 1, 2},
		{flawStaleAnswers, "stale answers taken", 1, 1, 4},
		{flawBehindAnyWaiter, "behind one that waits itself", 1, 2, 3},
		{flawNobodyTicksAsking, "no looks while asking", 2, 1, 2},
	} {
		t.Run(flaw.name, func(t *testing.T) {
			t.Parallel()
			_, way := explore(flaw.how, flaw.producers, flaw.instances, flaw.budget)
			if way == nil {
				t.Error("nothing was found")
			}
			t.Log(strings.Join(way, "; "))
		})
	}
}
