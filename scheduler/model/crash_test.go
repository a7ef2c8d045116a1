package model

import "testing"

// A claim commits without a wait for the disk, so a crash of the database may undo it while the agent works. An outcome
// waits for the disk. Its acknowledgement may be lost with the connection; then it is written again. After a crash each
// instance re-asserts its claims: it takes again, under their own fences, those that the crash has undone, but none of
// a job with locks. Until all have done so, no instance claims a job. Fences of later claims are above all before.
//
// Wrong is that two agents work on the job at one time, that an outcome is recorded which is of another run than the
// row says, or that an outcome whose write was acknowledged is not in the row any more.

// holder is an instance: its claim, the agent that works on it, and the outcome that is not known to be written.
type holder struct {
	claim    claimed
	agent    uint8
	outbox   claimed
	back     bool // the outcome is that the job is ready again
	maybe    bool // the outcome may have been written: an acknowledgement was lost
	asserted bool // since the last crash it has re-asserted its claims
	dead     bool // it counts as dead: its lease is over, and its guard has killed its agent
}

type crashState struct {
	row, disk fenceRow // disk: what a crash leaves
	holders   [most]holder
	runs      uint8
	crashes   uint8
	floor     uint8 // the lowest fence that a claim may give: each crash begins an era
	told      uint8 // the run whose outcome was acknowledged; 0: none
}

// crashGuards are what can be left out.
type crashGuards struct {
	lazyOutcomes bool // an outcome does not wait for the disk
	noWait       bool // an instance claims before the others have re-asserted
	noFloor      bool // fences go on from the row's own after a crash
	noAssertion  bool // an instance claims before it has re-asserted its own claims
	keepsClaims  bool // an instance whose lease was over keeps its claims
	takesAnyway  bool // a claim is taken again even if another instance has the job by now, or the job has ended
}

const mostCrashes = 2

// crashModel is the protocol at one size, with what is left out.
type crashModel struct {
	crashGuards
	bounds
}

func (g crashModel) next(s crashState) (moves []move[crashState]) {
	can := func(to crashState, what string, n int) { moves = append(moves, move[crashState]{to, what, n}) }
	if s.disk != s.row {
		to := s
		to.disk = s.row
		can(to, "server %d: the log reaches the disk", 1)
	}
	if s.crashes < mostCrashes {
		to := s
		to.row, to.crashes = s.disk, s.crashes+1
		if !g.noFloor {
			to.floor = aboveAll * to.crashes
		}
		for n := range to.holders {
			to.holders[n].asserted = false
		}
		can(to, serverCrashes, 1)
	}
	for n := range g.instances {
		g.holder(s, n, can)
	}
	return moves
}

// again takes a claim again, under its own fence, if the crash has undone it.
func (g crashModel) again(s *crashState, me uint8, c claimed) {
	undone := s.row.state == ready && s.row.fence < c.fence
	if c.fence != 0 && (undone || g.takesAnyway && s.row.claimed != c) {
		s.row.state, s.row.owner, s.row.claimed = running, me, c
	}
}

func (g crashModel) holder(s crashState, n int, can func(to crashState, what string, n int)) {
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
			s.disk = s.row // it waits for the disk
		})
	}
	asserts := func(locks bool) func(*crashState, *holder) {
		return func(s *crashState, h *holder) {
			if h.dead && !g.keepsClaims {
				h.claim = claimed{}
			}
			h.asserted, h.dead = true, false
			if !locks {
				g.again(s, me, h.claim)
				g.again(s, me, h.outbox)
			}
			if h.claim.fence != 0 && (s.row.owner != me || s.row.claimed != h.claim) {
				h.claim, h.agent = claimed{}, 0 // another has it: the agent is killed
			}
		}
	}
	if !h.asserted {
		with("instance %d re-asserts its claims", asserts(false))
		with("instance %d re-asserts its claims, and not those of jobs with locks", asserts(true))
	}
	all := true
	for _, other := range s.holders[:g.instances] {
		all = all && (other.asserted || other.dead)
	}
	may := h.asserted && (all || g.noWait) || g.noAssertion
	if may && s.row.state == ready && h.claim.fence == 0 && s.runs < g.runs {
		with("instance %d claims the job", func(s *crashState, h *holder) {
			s.runs++
			s.row.claimed = claimed{max(s.row.fence+1, s.floor), s.runs}
			s.row.state, s.row.owner = running, me
			h.claim = s.row.claimed
		})
	}
	if !h.dead { // what it does before it re-asserts finds no row of its own
		g.outcome(s, h, me, with)
	}
}

// outcome is what becomes of a claim: an agent works, and what it says is written.
func (g crashModel) outcome(s crashState, h holder, me uint8, with func(string, func(*crashState, *holder))) {
	if s.row.owner == me && s.row.state == running && s.row.fence != h.claim.fence && s.row.fence != h.outbox.fence {
		with("instance %d gives back a job that it does not know", func(s *crashState, _ *holder) {
			s.row.state, s.row.owner = ready, 0
		})
	}
	if h.claim.fence != 0 && h.agent == 0 {
		with(agentBegins, func(_ *crashState, h *holder) { h.agent = h.claim.run })
	}
	owes := func(back bool) func(*crashState, *holder) {
		return func(_ *crashState, h *holder) {
			h.outbox, h.back, h.claim, h.agent, h.maybe = h.claim, back, claimed{}, 0, false
		}
	}
	if h.claim.fence != 0 && h.outbox.fence == 0 {
		with("instance %d gives the job up", owes(true)) // and kills its agent
		if h.agent != 0 {
			with(agentDone, owes(false))
			with(agentFails, owes(true))
		}
	}
	if h.outbox.fence != 0 {
		with("instance %d writes the outcome", func(s *crashState, h *holder) {
			if g.write(s, me, h) && !h.back {
				s.told = h.outbox.run
			}
			h.outbox, h.back = claimed{}, false
		})
		with("instance %d writes the outcome, and the acknowledgement is lost", func(s *crashState, h *holder) {
			g.write(s, me, h)
			h.maybe = true
		})
	}
}

// write writes an outcome, and tells whether it is in the row.
func (g crashModel) write(s *crashState, me uint8, h *holder) bool {
	mine := func() bool { return s.row.owner == me && s.row.fence == h.outbox.fence && s.row.state == running }
	if !mine() {
		if h.maybe && s.row.state == ended && s.row.owner == me && s.row.fence == h.outbox.fence {
			return true // an earlier try was committed
		}
		if g.again(s, me, h.outbox); !mine() {
			return false
		}
	}
	if s.row.state, s.row.outcome = ended, h.outbox.run; h.back {
		s.row.state, s.row.owner, s.row.outcome = ready, 0, 0
	}
	if !g.lazyOutcomes {
		s.disk = s.row
	}
	return true
}

func crashWrong(s crashState) string {
	working := 0
	for _, h := range s.holders {
		working += int(min(h.agent, 1))
	}
	switch {
	case working > 1:
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
	return protocol[crashState]{begin: begin, next: crashModel{g, small}.next, wrong: crashWrong}
}

func TestCrash_NothingAcknowledgedIsLostAndNothingRunsTwice(t *testing.T) {
	t.Parallel()
	holds(t, crashProtocol(crashGuards{}))
}

func TestCrash_EachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	needed(t, map[string]protocol[crashState]{
		"an instance whose lease was over drops its claims":    crashProtocol(crashGuards{keepsClaims: true}),
		"fences of an era above all before":                    crashProtocol(crashGuards{noFloor: true}),
		"an outcome waits for the disk":                        crashProtocol(crashGuards{lazyOutcomes: true}),
		"no claim before all instances have re-asserted":       crashProtocol(crashGuards{noWait: true}),
		"no claim before an instance has re-asserted its own":  crashProtocol(crashGuards{noAssertion: true}),
		"a claim is taken again only if a crash has undone it": crashProtocol(crashGuards{takesAnyway: true}),
	})
}
