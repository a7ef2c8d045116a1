package scheduler

// GateState says how an instance learns of new work.
type GateState uint8

const (
	// GateAwake: producers need not ring for this instance: it looks every few ms.
	GateAwake GateState = iota
	// GateAsking: it has asked for the gate. Producers ring from now on; those
	// that found the gate open may not have ended, so it still looks by itself.
	GateAsking
	// GateAsleep: no such producer is left. The instance looks when a producer rings.
	GateAsleep
)

func (s GateState) String() string { return [...]string{"AWAKE", "ASKING", "ASLEEP"}[s] }

// Gate is one instance's part of the protocol that spares producers the NOTIFY while no instance sleeps. A lock
// stands between the two sides: a producer that gets it shared is silent, and keeps it to its end; one that is
// refused rings. It is refused while an instance holds the lock exclusively, and also while an instance waits for
// that.
type Gate struct {
	State GateState
	Ask   int // number of the last ask
}

// GateEventKind is what happens to a Gate.
type GateEventKind uint8

const (
	GateQuiet GateEventKind = iota // little comes: rings are cheaper than looking (WakePolicy says so)
	GateBusy                       // much comes: looking is cheaper than rings (WakePolicy says so)
	GateTick                       // the time armed is over
	GateShut                       // to an ask: no producer is left that found the gate open
	GateEnded                      // to an ask: it is over, and with it whatever was had: producers may be silent
	GateAgain                      // to an ask: it has waited for as long as one may, and has to be made anew
)

// answers reports whether it is the answer to an ask.
func (k GateEventKind) answers() bool { return k >= GateShut }

// GateEvent is something that happens to a Gate; Ask is the number of the ask that it answers.
type GateEvent struct {
	Kind GateEventKind
	Ask  int
}

// GateEffect is what is to be done after a step, in the order given.
type GateEffect uint8

const (
	GateScan   GateEffect = iota // look at the queue, as after a ring
	GateArm                      // send a tick after WakePolicy.Pause
	GateAskFor                   // ask for the gate, under the number Gate.Ask
	GateLetGo                    // end the last ask, and let go of what it has
)

// Step is total: it says what an event means in each state. The rule behind it: in every state but GateAsleep a
// tick is armed, and an instance that enters GateAsleep, or leaves it without having asked, looks.
func (g Gate) Step(ev GateEvent) (Gate, []GateEffect) {
	if ev.Kind.answers() && ev.Ask != g.Ask {
		return g, nil // to an ask that was let go of
	}
	switch {
	case g.State == GateAwake && ev.Kind == GateQuiet:
		g.State = GateAsking
		g.Ask++
		return g, []GateEffect{GateAskFor}
	case g.State != GateAwake && ev.Kind == GateBusy:
		g.State = GateAwake
		return g, []GateEffect{GateLetGo, GateArm}
	case g.State != GateAsleep && ev.Kind == GateTick:
		return g, []GateEffect{GateScan, GateArm}
	case g.State == GateAsking && ev.Kind == GateShut:
		g.State = GateAsleep
		return g, []GateEffect{GateScan}
	case g.State != GateAwake && ev.Kind == GateEnded:
		g.State = GateAwake
		return g, []GateEffect{GateScan, GateArm}
	case g.State != GateAwake && ev.Kind == GateAgain: // the look that comes with GateShut sees what came in between
		g.State = GateAsking
		g.Ask++
		return g, []GateEffect{GateAskFor, GateArm}
	}
	return g, nil
}
