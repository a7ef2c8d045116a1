package scheduler

import "time"

// Outcome is what became of one line.
type Outcome uint8

const (
	// OutcomeSucceeded: the agent said so.
	OutcomeSucceeded Outcome = iota
	// OutcomeFailed: the agent said so, without dying; or an exec agent's exit code is not 0.
	OutcomeFailed
	// OutcomeDied: the agent's process ended, or became useless, with the line in hand.
	OutcomeDied
	// OutcomeTimedOut: it took longer than it may and was killed for that.
	OutcomeTimedOut
	// OutcomeCancelled: it was killed because its job was cancelled.
	OutcomeCancelled
	// OutcomeLost: it did not run to an end through no fault of the agent or
	// the job (shutdown, lost lease, given back). It counts as no attempt.
	OutcomeLost

	outcomes
)

// outcomeNames are values of labels and attributes too: one word each.
var outcomeNames = [...]string{"succeeded", "failed", "died", "timed_out", "cancelled", "lost"}

func (o Outcome) String() string { return outcomeNames[o] }

// Result is what became of one line, with all that is recorded about it.
type Result struct {
	Line      *Line // never nil in a result; it does not change any more
	Outcome   Outcome
	ExitCode  int
	Error     string // why: a code, an exit status, a signal; nothing in it was written by an agent
	Message   string // what the agent said while it had the line, for operators
	Successes int
	Answer    *Answer // what it said besides; nil: nothing
	Guard     bool    // Died: it has taken its guard along, and once too often
	Again     bool    // Lost: for want of something that others have; it is tried again after a pause
	Child     ChildName
	Host      HostName
	Began     time.Time // when the child got the line; zero when it never did
	Ended     time.Time
}
