package scheduler

import (
	"strings"
	"testing"
)

var (
	gateStates = []GateState{GateAwake, GateAsking, GateAsleep}
	gateKinds  = []GateEventKind{GateQuiet, GateBusy, GateTick, GateShut, GateEnded, GateAgain}
	gateWords  = map[GateEventKind]string{
		GateQuiet: "quiet",
		GateBusy:  "busy",
		GateTick:  "tick",
		GateShut:  "shut",
		GateEnded: "ended",
		GateAgain: "again",
	}
	gateDoes = map[GateEffect]string{GateScan: "look", GateArm: "arm", GateAskFor: "ask", GateLetGo: "let go"}
)

// gateCell says what an event does in a state, as docs/state_machines.md shows it.
func gateCell(s GateState, k GateEventKind) string {
	g, effects := Gate{State: s, Ask: 1}.Step(GateEvent{Kind: k, Ask: 1})
	var parts []string
	if g.State != s {
		parts = append(parts, "**"+g.State.String()+"**")
	}
	for _, e := range effects {
		parts = append(parts, gateDoes[e])
	}
	if len(parts) == 0 {
		return "·"
	}
	return strings.Join(parts, ", ")
}

func TestGate_EveryEventInEveryState(t *testing.T) {
	t.Parallel()
	want := map[GateEventKind][3]string{ //  AWAKE  ASKING  ASLEEP
		GateQuiet: {"**ASKING**, ask", "·", "·"},
		GateBusy:  {"·", "**AWAKE**, let go, arm", "**AWAKE**, let go, arm"},
		GateTick:  {"look, arm", "look, arm", "·"},
		GateShut:  {"·", "**ASLEEP**, look", "·"},
		GateEnded: {"·", "**AWAKE**, look, arm", "**AWAKE**, look, arm"},
		GateAgain: {"·", "ask, arm", "**ASKING**, ask, arm"},
	}
	for _, k := range gateKinds {
		for i, s := range gateStates {
			if got := gateCell(s, k); got != want[k][i] {
				t.Errorf("%s in %s: %s, want %s", gateWords[k], s, got, want[k][i])
			}
		}
	}
}

// An answer to an ask that was let go of changes nothing.
func TestGate_StaleAnswers(t *testing.T) {
	t.Parallel()
	for _, s := range gateStates {
		for _, k := range []GateEventKind{GateShut, GateEnded, GateAgain} {
			g := Gate{State: s, Ask: 7}
			if after, effects := g.Step(GateEvent{Kind: k, Ask: 6}); after != g || effects != nil {
				t.Errorf("a stale %s in %s: %v, %v", gateWords[k], s, after, effects)
			}
		}
	}
	g, _ := Gate{Ask: 7}.Step(GateEvent{Kind: GateQuiet})
	if g.Ask != 8 {
		t.Errorf("the next ask has the number %d", g.Ask)
	}
}
