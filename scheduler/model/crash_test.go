package model

import "testing"

// A claim commits without a wait for the disk, so a crash of the database may undo it while the agent works. An outcome
// waits for the disk. Its acknowledgement may be lost with the connection; then it is written again. After a crash each
// instance re-asserts its claims: it takes again, under their own fences, those that the crash has undone. Until all
// have done so, no instance claims a job.
//
// Wrong is that two agents work on the job at one time, that an outcome is recorded which is of another run than the
// row says, or that an outcome whose write was acknowledged is not in the row any more.

// holder is an instance: its claim, the agent that works on it, and the outcome that is not known to be written.
type holder struct {
	claim    claimed
	agent    uint8
	outbox   claimed
	maybe    bool // the outcome may have been written: an acknowledgement was lost
	asserted bool // since the last crash it has re-asserted its claims
	dead     bool // it counts as dead: its lease is over, and its guard has killed its agent
}

type crashState struct {
	row, disk fenceRow // disk: what a crash leaves
	holders   [2]holder
	runs      uint8
	crashes   uint8
	told      uint8 // the run whose outcome was acknowledged; 0: none
}

// crashGuards are what can be left out.
type crashGuards struct {
	lazyOutcomes bool // an outcome does not wait for the disk
	lazyTakeover bool // a takeover does not wait for the disk
	noWait       bool // an instance claims before the others have re-asserted
	noAssertion  bool // an instance claims before it has re-asserted its own claims
	keepsClaims  bool // an instance whose lease was over keeps its claims
	takesAnyway  bool // a claim is taken again even if another instance has the job by now, or the job has ended
}

const mostCrashes = 2

func (g crashGuards) next(s crashState) (moves []move[crashState]) {
	can := func(to crashState, what string, n int) { moves = append(moves, move[crashState]{to, what, n}) }
	if s.disk != s.row {
		to := s
		to.disk = s.row
		can(to, "server %d: the log reaches the disk", 1)
	}
	if s.crashes < mostCrashes {
		to := s
		to.row, to.crashes = s.disk, s.crashes+1
		for n := range to.holders {
			to.holders[n].asserted = false
		}
		can(to, "server %d crashes", 1)
	}
	for n := range s.holders {
		g.holder(s, n, can)
	}
	return moves
}

// again takes a claim again, under its own fence, if the crash has undone it.
func (g crashGuards) again(s *crashState, me uint8, c claimed) {
	undone := s.row.state == ready && s.row.fence < c.fence
	if c.fence != 0 && (undone || g.takesAnyway && s.row.claimed != c) {
		s.row.state, s.row.owner, s.row.claimed = running, me, c
	}
}

func (g crashGuards) holder(s crashState, n int, can func(to crashState, what string, n int)) {
	h, me := s.holders[n], uint8(n+1)
	with := func(what string, change func(s *crashState, h *holder)) {
		to := s
		change(&to, &to.holders[n])
		can(to, what, int(me))
	}
	if !h.dead {
		with("instance %d is silent, and counts as dead: its jobs go back", func(s *crashState, h *holder) {
			h.dead, h.asserted, h.agent = true, false, 0
			if s.row.owner == me && s.row.state == running {
				s.row.state, s.row.owner = ready, 0
			}
			if !g.lazyTakeover {
				s.disk = s.row
			}
		})
	}
	if !h.asserted {
		with("instance %d re-asserts its claims", func(s *crashState, h *holder) {
			if h.dead && !g.keepsClaims {
				h.claim = claimed{}
			}
			h.asserted, h.dead = true, false
			g.again(s, me, h.claim)
			g.again(s, me, h.outbox)
			if h.claim.fence != 0 && (s.row.owner != me || s.row.claimed != h.claim) {
				h.claim, h.agent = claimed{}, 0 // another has it: the agent is killed
			}
		})
	}
	all := true
	for _, other := range s.holders {
		all = all && (other.asserted || other.dead)
	}
	may := h.asserted && (all || g.noWait) || g.noAssertion
	if may && s.row.state == ready && h.claim.fence == 0 && s.runs < mostRuns {
		with("instance %d claims the job", func(s *crashState, h *holder) {
			s.runs++
			s.row.claimed = claimed{s.row.fence + 1, s.runs}
			s.row.state, s.row.owner = running, me
			h.claim = s.row.claimed
		})
	}
	if h.dead {
		return // what it does before it re-asserts finds no row of its own
	}
	if h.claim.fence != 0 && h.agent == 0 {
		with("instance %d: its agent begins", func(_ *crashState, h *holder) { h.agent = h.claim.run })
	}
	if h.agent != 0 && h.outbox.fence == 0 {
		with("instance %d: its agent is done", func(_ *crashState, h *holder) {
			h.outbox, h.claim, h.agent, h.maybe = h.claim, claimed{}, 0, false
		})
	}
	if h.outbox.fence != 0 {
		with("instance %d writes the outcome", func(s *crashState, h *holder) {
			if g.write(s, me, h) {
				s.told = h.outbox.run
			}
			h.outbox = claimed{}
		})
		with("instance %d writes the outcome, and the acknowledgement is lost", func(s *crashState, h *holder) {
			g.write(s, me, h)
			h.maybe = true
		})
	}
}

// write writes an outcome, and tells whether it is in the row.
func (g crashGuards) write(s *crashState, me uint8, h *holder) bool {
	mine := func() bool { return s.row.owner == me && s.row.fence == h.outbox.fence && s.row.state == running }
	if !mine() {
		if h.maybe && s.row.state == ended && s.row.owner == me && s.row.fence == h.outbox.fence {
			return true // an earlier try was committed
		}
		if g.again(s, me, h.outbox); !mine() {
			return false
		}
	}
	s.row.state, s.row.outcome = ended, h.outbox.run
	if !g.lazyOutcomes {
		s.disk = s.row
	}
	return true
}

func crashWrong(s crashState) string {
	switch {
	case s.holders[0].agent != 0 && s.holders[1].agent != 0:
		return "two agents work on the job"
	case s.row.state == ended && s.row.outcome != s.row.run:
		return "the outcome of one run is recorded as that of another"
	case s.told != 0 && (s.row.state != ended || s.row.outcome != s.told):
		return "an outcome that was acknowledged is lost"
	}
	return ""
}

func crashProtocol(g crashGuards) protocol[crashState] {
	begin := crashState{}
	for n := range begin.holders {
		begin.holders[n].asserted = true
	}
	return protocol[crashState]{begin: begin, next: g.next, wrong: crashWrong}
}

func TestCrash_NothingAcknowledgedIsLostAndNothingRunsTwice(t *testing.T) {
	t.Parallel()
	holds(t, crashProtocol(crashGuards{}))
}

func TestCrash_EachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	needed(t, map[string]protocol[crashState]{
		"a takeover waits for the disk":                        crashProtocol(crashGuards{lazyTakeover: true}),
		"an instance whose lease was over drops its claims":    crashProtocol(crashGuards{keepsClaims: true}),
		"an outcome waits for the disk":                        crashProtocol(crashGuards{lazyOutcomes: true}),
		"no claim before all instances have re-asserted":       crashProtocol(crashGuards{noWait: true}),
		"no claim before an instance has re-asserted its own":  crashProtocol(crashGuards{noAssertion: true}),
		"a claim is taken again only if a crash has undone it": crashProtocol(crashGuards{takesAnyway: true}),
	})
}
