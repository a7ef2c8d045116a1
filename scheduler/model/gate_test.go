package model

import (
	"fmt"
	"testing"

	"bellhop/scheduler"
)

// The gate spares producers the NOTIFY (docs/waking.md). A producer inserts rows, in any number of transactions; two
// instances fall asleep and wake, lose their connections, and wait for the gate no longer than so long. The model asks
// scheduler.Gate itself what an instance does.
//
// Wrong is a state in which an instance sleeps, has not seen a row that is committed, and will not look: no ring, no
// look and no answer to its ask is on its way.

const (
	producers = 1
	sleepers  = 2
)

// txn is a producer's transaction.
type txn uint8

const (
	noTxn  txn = iota
	silent     // it got the lock, shared, and keeps it to its end
	loud       // it was refused, and rings at its commit
	mute       // it got the lock and let go of it before its end: it does not ring
)

// keep is an instance's session at the gate.
type keep uint8

const (
	apart   keep = iota // it is not there
	coming              // an ask is on its way to the server
	waits               // it waits for the lock
	has                 // it has the lock
	leaving             // it was told to let go, and the server does not know yet
)

// answer is one on its way to an instance. Which of the old asks it is to makes no difference.
type answer uint8

const (
	noAnswer answer = iota
	stale           // to an ask that was let go of
	fresh           // to the last ask
)

type sleeper struct {
	state  scheduler.GateState
	keep   keep
	had    bool   // leaving: it has the lock; else it waits for it
	serves answer // whether the session serves the last ask, or one before
	want   bool   // the last ask waits for the session's end
	shut   answer // that the gate is shut
	ended  answer // that the ask is over
	again  answer // that it has waited for long enough
	armed  bool   // a tick will come
	look   bool   // it is about to look
	ring   bool   // a ring is on its way to it
	unseen bool   // a row is committed that it has not seen
}

// gate is the instance's gate. Its last ask has the number 1, the ones before have 0.
func (i sleeper) gate() scheduler.Gate { return scheduler.Gate{State: i.state, Ask: 1} }

// older turns answers to the last ask into stale ones: another ask comes.
func (i *sleeper) older() {
	for _, a := range []*answer{&i.serves, &i.shut, &i.ended, &i.again} {
		if *a == fresh {
			*a = stale
		}
	}
}

type gateState struct {
	txns      [producers]txn
	instances [sleepers]sleeper
}

// gateGuards are what can be left out.
type gateGuards struct {
	releaseEarly  bool // a silent producer lets go of the lock at its INSERT
	shutBlindly   bool // no look when the gate is shut
	endedBlindly  bool // no look when the gate is lost
	staleAnswers  bool // answers to old asks count
	behindAWaiter bool // shut is told behind another waiter, too
	ringAtInsert  bool // a ring comes before the commit
}

func (s gateState) refused() bool {
	for _, i := range s.instances {
		if i.keep == waits || i.keep == has || i.keep == leaving {
			return true
		}
	}
	return false
}

// free reports whether an instance can have the lock: no producer and no other instance has it.
func (s gateState) free(me int) bool {
	for _, t := range s.txns {
		if t == silent {
			return false
		}
	}
	return !s.taken(me)
}

func (s gateState) taken(me int) bool {
	for n, i := range s.instances {
		if n != me && (i.keep == has || i.keep == leaving && i.had) {
			return true
		}
	}
	return false
}

// step tells an instance's gate of an event, and carries out what it says.
func (s gateState) step(n int, ev scheduler.GateEvent, g gateGuards) gateState {
	i := &s.instances[n]
	if g.staleAnswers {
		ev.Ask = 1
	}
	gate, effects := i.gate().Step(ev)
	i.state = gate.State
	for _, e := range effects {
		switch e {
		case scheduler.GateScan:
			blind := g.shutBlindly && ev.Kind == scheduler.GateShut || g.endedBlindly && ev.Kind == scheduler.GateEnded
			i.look = i.look || !blind
		case scheduler.GateArm:
			i.armed = !(g.endedBlindly && ev.Kind == scheduler.GateEnded)
		case scheduler.GateAskFor:
			if i.older(); i.keep == apart {
				i.keep, i.serves = coming, fresh
			} else {
				i.want = true
			}
		case scheduler.GateLetGo:
			switch i.want = false; i.keep {
			case coming:
				i.keep, i.serves = apart, noAnswer
			case waits, has:
				i.had, i.keep = i.keep == has, leaving
			}
		}
	}
	return s
}

// over ends an instance's session; another ask may wait for that.
func (i *sleeper) over() {
	i.keep, i.had, i.serves = apart, false, noAnswer
	if i.want {
		i.keep, i.serves, i.want = coming, fresh, false
	}
}

func (s gateState) ringAll() gateState {
	for n := range s.instances {
		s.instances[n].ring = true
	}
	return s
}

func (g gateGuards) next(s gateState) (moves []move[gateState]) {
	can := func(to gateState, what string, n int) { moves = append(moves, move[gateState]{to, what, n}) }
	for p := range s.txns {
		to := s
		if s.txns[p] == noTxn {
			what := "producer %d inserts a row: it is silent"
			if to.txns[p] = silent; s.refused() {
				to.txns[p], what = loud, "producer %d inserts a row: it will ring"
			}
			if g.ringAtInsert && to.txns[p] == loud {
				to = to.ringAll()
			}
			can(to, what, p+1)
			continue
		}
		if s.txns[p] == loud && !g.ringAtInsert {
			to = to.ringAll()
		}
		to.txns[p] = noTxn
		for n := range to.instances {
			to.instances[n].unseen = true
		}
		can(to, "producer %d commits", p+1)
		if g.releaseEarly && s.txns[p] == silent {
			to = s
			to.txns[p] = mute
			can(to, "producer %d lets go of the lock", p+1)
		}
	}
	for n := range s.instances {
		g.instance(s, n, can)
	}
	for i := range moves {
		moves[i].to = alike(moves[i].to)
	}
	return moves
}

func (g gateGuards) instance(s gateState, n int, can func(to gateState, what string, n int)) {
	i, me := s.instances[n], n+1
	if i.state == scheduler.GateAwake {
		can(s.step(n, scheduler.GateEvent{Kind: scheduler.GateQuiet}, g), "instance %d: little comes", me)
	} else {
		can(s.step(n, scheduler.GateEvent{Kind: scheduler.GateBusy}, g), "instance %d: much comes", me)
	}
	with := func(change func(i *sleeper), what string) {
		to := s
		change(&to.instances[n])
		can(to, what, me)
	}
	if i.armed {
		to := s
		to.instances[n].armed = false
		can(to.step(n, scheduler.GateEvent{Kind: scheduler.GateTick}, g), "instance %d: a tick", me)
	}
	if i.ring {
		with(func(i *sleeper) { i.ring, i.look = false, true }, "instance %d: it hears a ring")
	}
	if i.look {
		with(func(i *sleeper) { i.look, i.unseen = false, false }, "instance %d: it looks")
	}
	if i.shut != noAnswer {
		to := s
		to.instances[n].shut = noAnswer
		ev := scheduler.GateEvent{Kind: scheduler.GateShut, Ask: int(i.shut - stale)}
		can(to.step(n, ev, g), "instance %d: it hears that the gate is shut", me)
	}
	if i.ended != noAnswer {
		to := s
		to.instances[n].ended = noAnswer
		ev := scheduler.GateEvent{Kind: scheduler.GateEnded, Ask: int(i.ended - stale)}
		can(to.step(n, ev, g), "instance %d: it hears that its ask is over", me)
	}
	if i.again != noAnswer {
		to := s
		to.instances[n].again = noAnswer
		ev := scheduler.GateEvent{Kind: scheduler.GateAgain, Ask: int(i.again - stale)}
		can(to.step(n, ev, g), "instance %d: it hears that it has to ask anew", me)
	}
	switch i.keep {
	case coming:
		with(func(i *sleeper) { i.keep = waits }, "instance %d: it waits for the lock")
	case waits:
		if s.free(n) {
			with(func(i *sleeper) { i.keep, i.shut = has, i.serves }, "instance %d: it gets the lock")
		}
		if s.taken(n) || g.behindAWaiter && s.refusedBy(n) {
			with(func(i *sleeper) { i.shut = i.serves }, "instance %d: it waits behind another instance")
		}
		with(func(i *sleeper) { i.again = i.serves; i.over() }, "instance %d: it has waited for long enough")
	case has:
		with(func(i *sleeper) { i.ended = i.serves; i.over() }, "instance %d: its connection is lost")
	case leaving:
		with(func(i *sleeper) { i.over() }, "instance %d: its session has let go")
	}
}

// refusedBy reports whether another instance waits for the lock.
func (s gateState) refusedBy(me int) bool {
	for n, i := range s.instances {
		if n != me && i.keep == waits {
			return true
		}
	}
	return false
}

func missed(s gateState) string {
	for n, i := range s.instances {
		onItsWay := i.look || i.ring || i.armed || i.shut == fresh || i.ended == fresh || i.again == fresh
		if i.unseen && !onItsWay {
			return fmt.Sprintf("instance %d sleeps, and a row waits for it", n+1)
		}
	}
	return ""
}

// alike puts the instances into one order: which of the two is the first makes no difference.
func alike(s gateState) gateState {
	a, b := s.instances[0], s.instances[1]
	if a != b && a.rank() > b.rank() {
		s.instances[0], s.instances[1] = b, a
	}
	return s
}

// rank is another number for each instance that differs.
func (i sleeper) rank() (n uint64) {
	n = uint64(i.state)<<3 | uint64(i.keep)
	for _, a := range []answer{i.serves, i.shut, i.ended, i.again} {
		n = n<<3 | uint64(a)
	}
	for _, is := range []bool{i.had, i.want, i.armed, i.look, i.ring, i.unseen} {
		if n <<= 1; is {
			n |= 1
		}
	}
	return n
}

func gateProtocol(g gateGuards) protocol[gateState] {
	begin := gateState{}
	for n := range begin.instances {
		begin.instances[n].armed = true
	}
	return protocol[gateState]{begin: begin, next: g.next, wrong: missed}
}

func TestGate_NoRowIsMissed(t *testing.T) {
	t.Parallel()
	holds(t, gateProtocol(gateGuards{}))
}

func TestGate_EachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	needed(t, map[string]protocol[gateState]{
		"a producer keeps the lock to its end":          gateProtocol(gateGuards{releaseEarly: true}),
		"a look when the gate is shut":                  gateProtocol(gateGuards{shutBlindly: true}),
		"a look when the gate is lost":                  gateProtocol(gateGuards{endedBlindly: true}),
		"answers to old asks mean nothing":              gateProtocol(gateGuards{staleAnswers: true}),
		"shut behind a holder, and not behind a waiter": gateProtocol(gateGuards{behindAWaiter: true}),
		"a ring comes with the commit":                  gateProtocol(gateGuards{ringAtInsert: true}),
	})
}
