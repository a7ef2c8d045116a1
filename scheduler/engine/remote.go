package engine

import (
	"time"
)

// State is where a remote job is, as its watcher knows it.
type State uint8

const (
	// Looking: whether there is a tag of this attempt already is being read.
	Looking State = iota
	// Waiting: for its turn to be submitted; nothing of it is with the engine.
	Waiting
	// Recording: its tag is being recorded.
	Recording
	// Submitting: submit runs.
	Submitting
	// Unsure: submit ended without an answer, or its caller died. find is asked.
	Unsure
	// Running: the engine has it; poll is asked.
	Running
	// Killing: kill was called; poll is asked until it is over.
	Killing
	// Ended: it is over, and how is being written down.
	Ended
	// Over: nothing is to be done any more.
	Over

	states
)

var stateNames = [...]string{"looking", "waiting", "recording", "submitting", "unsure", "running", "killing", "ended", "over"}

func (s State) String() string { return stateNames[s] }

// Wish is why a job is to die.
type Wish uint8

const (
	None Wish = iota
	Cancel
	Timeout
)

// Rules are the times that remote jobs of an engine live by.
type Rules struct {
	// SubmitTimeout is how long a job that was submitted may stay unseen, and for how long submitting is tried
	// while the engine answers otherwise.
	SubmitTimeout time.Duration
	// Quiet is how long after a submit of unknown end the engine's word that it knows no such tag is believed.
	Quiet time.Duration
	// LostAfter is how long a job that was seen may be unseen.
	LostAfter time.Duration
	// KillAgain is when kill is called once more.
	KillAgain time.Duration
}

// Defaults: the submit timeout is that of the scheduler from which engines come.
var Defaults = Rules{
	SubmitTimeout: 160 * time.Second,
	Quiet:         15 * time.Second,
	LostAfter:     time.Minute,
	KillAgain:     10 * time.Second,
}

// Remote is one job that runs elsewhere.
type Remote struct {
	State   State
	ID      string        // the engine's own name of it, where that gives one
	Tagged  bool          // its tag is recorded
	Stage   Stage         // what the engine last said
	Timeout time.Duration // from Ran on; 0: none
	First   time.Time     // submit was first called
	Ran     time.Time     // first seen running; zero: not yet
	Wish    Wish
	End     End // of state Ended

	since   time.Time // Unsure: the call was over. Running: accepted, or last seen. Killing: kill was last called
	missing time.Time // since when the engine does not name it; zero: it does
	unseen  int       // answers in a row that did not
	killed  bool      // kill has ended well once
	said    string    // by the last submit that failed
	refused time.Time // since when an engine that answers does not take it
	saved   bool
	logged  bool
}

// Stage is what an engine says of a job.
type Stage uint8

const (
	Unknown   Stage = iota
	Pending         // it waits there
	Started         // it runs there
	Succeeded       // it is over, and well
	Failed          // it is over, and not
)

var stageNames = [...]string{"", "pending", "running", "succeeded", "failed"}

func (s Stage) String() string { return stageNames[s] }

// StageOf is the reverse of String.
func StageOf(s string) Stage {
	for i, name := range stageNames {
		if name == s {
			return Stage(i)
		}
	}
	return Unknown
}

// End is how a remote job ended.
type End struct {
	How      How
	ExitCode int
	Reason   string        // in our words
	Said     string        // in the engine's
	Pause    time.Duration // Sealed: until the next try
}

// How is in which way.
type How uint8

const (
	Open How = iota
	OK
	Bad       // its exit code says so
	Lost      // the engine does not know it any more
	Unseen    // submission timeout: it has never been seen there
	Refused   // submit said that it can never be done
	Cancelled // on order
	TimedOut
	Sealed // its key is not here, and it was not submitted: it counts as no attempt
)

var howNames = [...]string{"", "succeeded", "failed", "lost", "submission_timeout", "refused", "cancelled", "timed_out",
	"sealed"}

func (h How) String() string { return howNames[h] }

// HowOf is the reverse of String.
func HowOf(s string) How {
	for i, name := range howNames {
		if name == s {
			return How(i)
		}
	}
	return Open
}
