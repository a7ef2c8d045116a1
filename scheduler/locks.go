package scheduler

// LockAsk is what a running job asks of locks, in words: to have all of some, to
// have so many of some as are free now, or to give some back.
type LockAsk struct {
	Claim
	Locks  []string
	Any    int      // so many of Locks, now; 0: all of them, and it waits until it can have them
	Unlock []string // then all else is empty
}

// LockAnswer is what becomes of it.
type LockAnswer struct {
	Granted  []string
	Unlocked []string
	Refused  string // why it cannot be done, and what to write; the job goes on
	Failed   string // why the attempt has failed
	Again    bool   // of that: it counts as no attempt, and is tried again
}

// NoResources is the reason of an attempt that found fewer locks free than it needs.
const NoResources = "no_resources"
