package lock

import "time"

// Job is what the policy knows of a job. What a filter does not ask for may be left out.
type Job struct {
	ID       ID
	Type     string
	Agent    string // whose room it takes, where that is not its type's
	Locks    Set
	Priority int       // as submitted; it ages here
	Since    time.Time // when it came to wait: ages count from here

	// Elsewhere: it keeps from others what it wants, and does not start here. With Input.ByType only.
	Elsewhere bool

	Args, Key, RunOn, SubmittedBy string
	Share                         string // empty: none
	Turn                          int    // as in Waiting
	Vars                          map[string]string
	Reasons                       []string
	Submitted                     time.Time
}

// Order is by what the next job is chosen.
type Order string

const (
	// Predictive is (priority, weight, id): jobs that conflict with no other go first.
	Predictive Order = "predictive"
	// FIFO is (priority, id); a job that has to wait for a lock is passed by, until it has aged.
	FIFO Order = "fifo"
	// Greedy is FIFO without reservations: every job that can start, starts. For simulations; a job that wants much
	// may starve.
	Greedy Order = "greedy"
	// Ganeti is the plain rule of Ganeti design-predictive-queue: weights are those of the beginning of a pass, and no
	// lock forbids a start: a job waits for its locks in its slot. For simulations.
	Ganeti Order = "ganeti"
	// Blind is Ganeti without prediction: (priority, id), and a job waits in its slot.
	// It is what a queue does that knows nothing of locks. For simulations.
	Blind Order = "blind"
)

// Orders are all orders.
var Orders = []Order{Predictive, FIFO, Greedy, Ganeti, Blind}

// reserves says that aged jobs are reserved for.
func (o Order) reserves() bool { return o == Predictive || o == FIFO }

// waitsInSlot says that no lock forbids a start.
func (o Order) waitsInSlot() bool { return o == Ganeti || o == Blind }

// Policy is what is configured.
type Policy struct {
	Order     Order // empty: Predictive
	Constants Constants
	Levels    Levels
}

// DefaultPolicy is what holds where nothing is configured.
var DefaultPolicy = Policy{Order: Predictive, Constants: GanetiConstants, Levels: GanetiLevels}
