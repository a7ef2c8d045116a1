package model

import "testing"

// One job, two instances. An instance claims the job, an agent works on it, and the instance writes the outcome, again
// and again if the acknowledgement is lost. After a failure, or without an agent's answer, the outcome is that the job
// is ready again. An instance may stop for any time (a stall, a SIGSTOP), and then go on without knowing how long that
// was. Its guard kills the agent when the lease is over; after that, and not before, the other
// instance takes the job over. A failover loses the end of the log: the row is as it was at some earlier time.
//
// Wrong is that two agents work on the job at one time (a failover excepted: the new server cannot know of the claims
// that it lost), or that an outcome is recorded which is of another run than the row says. docs/failure.md names the
// guards.

// claimed is what an instance knows of its claim, or the row says: the fence, and which run that is. The run is no
// part of the program: it tells the search what an equal fence hides.
type claimed struct{ fence, run uint8 }

type fenceRow struct {
	state rowState
	owner uint8 // the instance's number; 0: none
	claimed
	outcome uint8 // the run whose outcome is recorded
}

type rowState uint8

const (
	ready rowState = iota
	running
	ended
)

// worker is an instance with at most one claim, and at most one outcome that is not known to be written.
type worker struct {
	claim   claimed // fence 0: none
	agent   uint8   // the run that its agent works on; 0: none
	outbox  claimed // the claim whose outcome is to be written; fence 0: none
	back    bool    // that outcome is: the job is ready again
	stalled bool
	expired bool // its lease is over, and its guard has killed the agent
}

type fenceState struct {
	row, kept fenceRow // kept: as a server has it that takes over with an earlier end of the log
	workers   [most]worker
	runs      uint8 // claims so far
	floor     uint8 // the lowest fence that a claim may give: an era begins above all before
	failed    bool  // there was a failover
}

// fenceGuards are what can be left out.
type fenceGuards struct {
	noFence       bool // an outcome is written for the row's owner, whatever its fence
	earlyTakeover bool // a takeover does not wait for the end of the lease
	noReassertion bool // an instance that goes on after a stall keeps its claim without a look
	noFloor       bool // fences go on from the row's own after a failover
}

// fenceModel is the protocol at one size, with what is left out.
type fenceModel struct {
	fenceGuards
	bounds
}

func (g fenceModel) next(s fenceState) (moves []move[fenceState]) {
	can := func(to fenceState, what string, n int) { moves = append(moves, move[fenceState]{to, what, n}) }
	for n := range g.instances {
		g.worker(s, n, can)
	}
	if s.kept != s.row && !s.failed {
		to := s
		to.kept = s.row
		can(to, "server %d: the standby has all until here", 2)
		to = s
		to.row, to.failed = s.kept, true
		if !g.noFloor {
			to.floor = aboveAll
		}
		can(to, logLost, 2)
	}
	return moves
}

func (g fenceModel) worker(s fenceState, n int, can func(to fenceState, what string, n int)) {
	w, me := s.workers[n], n+1
	with := func(what string, change func(s *fenceState, w *worker)) {
		to := s
		change(&to, &to.workers[n])
		can(to, what, me)
	}
	if s.row.owner == uint8(me) && s.row.state == running && w.expired ||
		g.earlyTakeover && s.row.owner == uint8(me) && s.row.state == running && w.stalled {
		with("the other takes the job of instance %d over", func(s *fenceState, _ *worker) {
			s.row.state, s.row.owner = ready, 0
		})
	}
	if w.stalled {
		if !w.expired {
			with("the lease of instance %d is over: its guard kills the agent", func(_ *fenceState, w *worker) {
				w.expired, w.agent = true, 0
			})
		}
		with("instance %d goes on", func(s *fenceState, w *worker) {
			mine := s.row.owner == uint8(me) && s.row.fence == w.claim.fence && s.row.state == running
			if !g.noReassertion && w.claim.fence != 0 && (!mine || w.expired) {
				w.claim, w.agent = claimed{}, 0
				if mine {
					s.row.state, s.row.owner = ready, 0 // it gives the job back
				}
			}
			w.stalled, w.expired = false, false
		})
		return
	}
	with("instance %d stalls", func(_ *fenceState, w *worker) { w.stalled = true })
	if w.claim.fence == 0 && s.row.state == ready && s.runs < g.runs {
		with("instance %d claims the job", func(s *fenceState, w *worker) {
			s.runs++
			s.row.claimed = claimed{max(s.row.fence+1, s.floor), s.runs}
			s.row.state, s.row.owner = running, uint8(me)
			w.claim = s.row.claimed
		})
	}
	mine := s.row.owner == uint8(me) && s.row.state == running
	if mine && s.row.fence != w.claim.fence && s.row.fence != w.outbox.fence {
		with("instance %d gives back a job that it does not know", func(s *fenceState, _ *worker) {
			s.row.state, s.row.owner = ready, 0
		})
	}
	g.outcome(w, uint8(me), with)
}

// outcome is what becomes of a claim: an agent works, and what it says is written.
func (g fenceModel) outcome(w worker, me uint8, with func(string, func(*fenceState, *worker))) {
	if w.claim.fence != 0 && w.agent == 0 {
		with(agentBegins, func(_ *fenceState, w *worker) { w.agent = w.claim.run })
	}
	owes := func(back bool) func(*fenceState, *worker) {
		return func(_ *fenceState, w *worker) {
			w.outbox, w.back, w.claim, w.agent = w.claim, back, claimed{}, 0
		}
	}
	if w.claim.fence != 0 && w.outbox.fence == 0 {
		with("instance %d gives the job up", owes(true)) // and kills its agent
		if w.agent != 0 {
			with(agentDone, owes(false))
			with(agentFails, owes(true))
		}
	}
	if w.outbox.fence == 0 {
		return
	}
	record := func(s *fenceState, w *worker) {
		ours := s.row.state == running && s.row.owner == me && (g.noFence || s.row.fence == w.outbox.fence)
		if !ours {
			return
		}
		if s.row.state, s.row.outcome = ended, w.outbox.run; w.back {
			s.row.state, s.row.owner, s.row.outcome = ready, 0, 0
		}
	}
	with("instance %d writes an outcome, and the acknowledgement is lost", record)
	with("instance %d writes an outcome", func(s *fenceState, w *worker) {
		record(s, w)
		w.outbox, w.back = claimed{}, false
	})
}

func fenceWrong(s fenceState) string {
	working := 0
	for _, w := range s.workers {
		working += int(min(w.agent, 1))
	}
	if working > 1 && !s.failed {
		return "two agents work on the job"
	}
	if s.row.state == ended && s.row.outcome != s.row.run {
		return "the outcome of one run is recorded as that of another"
	}
	return ""
}

func fenceProtocol(g fenceGuards) protocol[fenceState] {
	return protocol[fenceState]{next: fenceModel{g, small}.next, wrong: fenceWrong}
}

func TestFence_OneOwnerAndItsOwnOutcome(t *testing.T) {
	t.Parallel()
	holds(t, fenceProtocol(fenceGuards{}))
}

func TestFence_EachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	needed(t, map[string]protocol[fenceState]{
		"a fence in each outcome":                 fenceProtocol(fenceGuards{noFence: true}),
		"a takeover after the end of the lease":   fenceProtocol(fenceGuards{earlyTakeover: true}),
		"a look at the row after a stall":         fenceProtocol(fenceGuards{noReassertion: true}),
		"fences of a new server above all others": fenceProtocol(fenceGuards{noFloor: true}),
	})
}
