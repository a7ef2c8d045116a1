package model

import (
	"fmt"
	"testing"
)

// A replay asks whether a model can do what the program did. What is seen of the program is each change of the job's
// row that was committed and stayed, and each start and end of an agent. All else is hidden: stalls, leases,
// acknowledgements, the disk, and commits that a crash has undone. So a replay keeps every place where the model can
// be.

// seen is one thing that was seen of a job.
type seen struct {
	what string
	n    uint8 // the instance, in the order of their appearance; 0: it is not known
	run  uint8 // the run, in the order of fences; 0: none
}

func (e seen) String() string { return fmt.Sprintf("%s (run %d, instance %d)", e.what, e.run, e.n) }

// What is seen.
const (
	rowClaimed = "the row is claimed"
	rowReady   = "the row is ready again"
	rowEnded   = "the row has ended"
	beginSeen  = "an agent begins"
	endSeen    = "an agent ends"
)

// replayed is a model that recordings are held against.
type replayed[S comparable] struct {
	protocol[S]
	row     func(S) fenceRow
	durable func(S) fenceRow       // what the next crash leaves
	agent   func(s S, n int) uint8 // the run that an agent of an instance works on
	forgets bool                   // crashes may undo commits
}

// place is where a replay can be. If doomed, a crash is going to undo the last changes of the row: nothing shows them.
type place[S comparable] struct {
	s      S
	doomed bool
}

// replay gives how many of the things seen the model can do, one after the other.
func (r replayed[S]) replay(all []seen) int {
	at := r.settle(map[place[S]]bool{{s: r.begin}: true})
	for n, e := range all {
		to := map[place[S]]bool{}
		for p := range at {
			for _, m := range r.next(p.s) {
				is := r.watch(p.s, m)
				fits := is.what == e.what && (e.n == 0 || is.n == 0 || is.n == e.n) && (is.run == 0 || is.run == e.run)
				if fits && !r.undoes(m) && (!p.doomed || r.row(p.s) == r.row(m.to)) {
					to[place[S]{m.to, p.doomed}] = true
				}
			}
		}
		if len(to) == 0 {
			return n
		}
		at = r.settle(to)
	}
	for p := range at {
		if !p.doomed {
			return len(all)
		}
	}
	return len(all) - 1 // the row stays as it was seen last: no crash is left to undo it
}

// settle adds all places that are reached by hidden moves.
func (r replayed[S]) settle(at map[place[S]]bool) map[place[S]]bool {
	var open []place[S]
	for p := range at {
		open = append(open, p)
	}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		for _, m := range r.next(p.s) {
			to, can := r.hidden(p, m)
			if can && !at[to] {
				at[to] = true
				open = append(open, to)
			}
		}
	}
	return at
}

// hidden gives the place after a move that nothing shows, if there can be such a move.
func (r replayed[S]) hidden(p place[S], m move[S]) (to place[S], can bool) {
	same := shown(r.row(p.s)) == shown(r.row(m.to))
	if r.undoes(m) {
		return place[S]{s: m.to}, r.forgets && (p.doomed || same)
	}
	switch what := r.watch(p.s, m).what; {
	case what == beginSeen || what == endSeen:
		return to, false // its witness has written it down
	case what != "" && !r.forgets:
		return to, false
	}
	to = place[S]{m.to, p.doomed || !same}
	return to, !to.doomed || shown(r.row(m.to)) != shown(r.durable(m.to)) // what is on the disk stays
}

func (r replayed[S]) undoes(m move[S]) bool { return m.what == serverCrashes || m.what == logLost }

// shown is what a recording has of a row.
func shown(row fenceRow) fenceRow {
	row.outcome = 0
	return row
}

// watch gives what is seen of a move; the zero value: nothing.
func (r replayed[S]) watch(s S, m move[S]) seen {
	before, after := shown(r.row(s)), shown(r.row(m.to))
	switch {
	case m.what == agentBegins:
		return seen{beginSeen, uint8(m.n), r.agent(m.to, m.n-1)}
	case m.what == agentDone || m.what == agentFails:
		return seen{endSeen, uint8(m.n), r.agent(s, m.n-1)}
	case before == after:
		return seen{}
	case after.state == running:
		return seen{rowClaimed, after.owner, after.run}
	case after.state == ended:
		return seen{rowEnded, after.owner, after.run}
	}
	return seen{what: rowReady}
}

// mostRuns is how many runs a recorded job may have, and mostLost where outcomes may be lost: there a replay keeps ten
// times as many places with each run.
const mostRuns, mostLost = 6, 4

// leases is the model of stalls and takeovers; if forgets, also of a server that is promoted without its newest
// commits.
func leases(size bounds, forgets bool) replayed[fenceState] {
	p := fenceProtocol(fenceGuards{})
	p.next = fenceModel{bounds: size}.next
	return replayed[fenceState]{
		protocol: p,
		row:      func(s fenceState) fenceRow { return s.row },
		durable:  func(s fenceState) fenceRow { return s.kept },
		agent:    func(s fenceState, n int) uint8 { return s.workers[n].agent },
		forgets:  forgets,
	}
}

// crashes is the model of a database that loses its last commits.
func crashes(size bounds) replayed[crashState] {
	p := crashProtocol(crashGuards{})
	p.next = crashModel{bounds: size}.next
	return replayed[crashState]{
		protocol: p,
		row:      func(s crashState) fenceRow { return s.row },
		durable:  func(s crashState) fenceRow { return s.disk },
		agent:    func(s crashState, n int) uint8 { return s.holders[n].agent },
		forgets:  true,
	}
}

func TestReplay_RefusesWhatNoOrderAllows(t *testing.T) {
	t.Parallel()
	claimed := func(n, run uint8) seen { return seen{rowClaimed, n, run} }
	begins := func(n, run uint8) seen { return seen{beginSeen, n, run} }
	ends := func(n, run uint8) seen { return seen{endSeen, n, run} }
	over := func(run uint8) seen { return seen{rowEnded, 0, run} }
	free := seen{what: rowReady}
	tests := map[string]struct {
		all     []seen
		leases  int // so many of them the model of leases can do
		crashes int // and that of crashes
	}{
		"all goes well":                {[]seen{claimed(1, 1), begins(1, 1), ends(1, 1), over(1)}, 4, 4},
		"an attempt fails":             {[]seen{claimed(1, 1), begins(1, 1), ends(1, 1), free, claimed(2, 2), begins(2, 2), ends(2, 2), over(2)}, 8, 8},
		"a takeover":                   {[]seen{claimed(1, 1), begins(1, 1), free, claimed(2, 2), begins(2, 2), ends(2, 2), over(2)}, 7, 7},
		"the third instance ends it":   {[]seen{claimed(1, 1), free, claimed(2, 2), free, claimed(3, 3), begins(3, 3), ends(3, 3), over(3)}, 8, 8},
		"a claim that a crash undoes":  {[]seen{begins(1, 1), claimed(1, 1), ends(1, 1), over(1)}, 0, 4},
		"the same, and another has it": {[]seen{begins(1, 1), claimed(2, 2), begins(2, 2), ends(2, 2), over(2)}, 0, 5},

		"begun without a claim":               {[]seen{begins(1, 1), ends(1, 1)}, 0, 2},
		"ended without an agent":              {[]seen{claimed(1, 1), over(1)}, 1, 1},
		"ended before its agent has":          {[]seen{claimed(1, 1), begins(1, 1), over(1), ends(1, 1)}, 2, 2},
		"ended twice":                         {[]seen{claimed(1, 1), begins(1, 1), ends(1, 1), over(1), over(1)}, 4, 4},
		"begun twice under one claim":         {[]seen{claimed(1, 1), begins(1, 1), begins(1, 1)}, 2, 2},
		"claimed from another":                {[]seen{claimed(1, 1), claimed(2, 2)}, 1, 1},
		"begun by another than the claimer":   {[]seen{claimed(1, 1), begins(2, 1)}, 1, 1},
		"two agents":                          {[]seen{claimed(1, 1), begins(1, 1), free, claimed(2, 2), begins(2, 2), ends(1, 1)}, 5, 5},
		"an outcome of a run that is over":    {[]seen{claimed(1, 1), begins(1, 1), ends(1, 1), free, claimed(2, 2), over(1)}, 5, 5},
		"claimed again after its end":         {[]seen{claimed(1, 1), begins(1, 1), ends(1, 1), over(1), claimed(2, 2)}, 4, 4},
		"a claim that was undone comes later": {[]seen{begins(1, 1), claimed(2, 2), free, claimed(1, 1)}, 0, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size := bounds{most, 3}
			if n := leases(size, false).replay(test.all); n != test.leases {
				t.Errorf("the model of leases can do %d of %v, want %d", n, test.all, test.leases)
			}
			if n := crashes(size).replay(test.all); n != test.crashes {
				t.Errorf("the model of crashes can do %d of %v, want %d", n, test.all, test.crashes)
			}
		})
	}
}
