package message

import (
	"time"

	"bellhop/scheduler"
)

// Trouble: why no child of a type comes up on a host; empty: all is well. From hosts.
type Trouble struct {
	Type scheduler.TypeName
	Host scheduler.HostName
	Why  scheduler.Account
}

// Death: the last death of a type on a host; none in a row: it has proved
// itself since. From hosts to membership.
type Death struct {
	Type scheduler.TypeName
	Host scheduler.HostName
	scheduler.Death
}

// Draining: since when nothing starts but a job that must be alone; zero: that
// is over. From the dispatcher to membership.
type Draining struct{ Since time.Time }

// HostState: what others are to see of a host. From hosts to membership.
type HostState struct {
	Host    scheduler.HostName
	State   scheduler.HostState
	Message string
}

// Reshaped: the setup is another. Of the types that are renewed the processes are
// replaced, each as soon as it has nothing to do. From System.
type Reshaped struct{ Renewed []scheduler.TypeName }

// WaitingTypes tells a host what waits for it, and of which types an MSQ job that
// runs here has rows to come. From the dispatcher.
type WaitingTypes struct {
	Waiting []scheduler.Backlog
	Coming  []scheduler.TypeName
}

type (
	// Stands: how the dispatcher stands: when the bell rang for the last look at all of the
	// queue after which it came to rest, and why it claims nothing. To maintenance, with each
	// such ring, and when a standstill that was told is over.
	Stands struct {
		Rested time.Time
		Still  scheduler.Standstill
	}
	// Doubts: for the waiting of these jobs no cause is known, and these were passed over.
	// From maintenance to the dispatcher.
	Doubts struct{ Lost, Passed []scheduler.Unexplained }
)

// LockAgain is how often a waiting request is tried again, without a ring: so soon it finds a circle of waits, and
// a lock freed without notice.
const LockAgain = time.Second

// Of locks.
type (
	// TryLocks: something was asked, or is free. To locks and msqs, from any actor.
	TryLocks struct{}
	// LockedNow: a job holds a lock that it was not claimed with. To the dispatcher.
	LockedNow struct{ Claim scheduler.Claim }
)

// ConnLost: a connection was lost: what is committed is not known. To the dispatcher, from wherever that was.
type ConnLost struct{}

// Audit asks the dispatcher for one.
type Audit struct{}

// LookBack: another server of the database answers, or it has gone back in time. What has run here may not be known
// there. From membership.
type LookBack struct {
	scheduler.LookBack
	Since time.Time // what was confirmed before has arrived
}

// Holding is how many jobs a dispatcher holds.
type Holding int

// HostLeft: a host has no child any more. From a host that was asked to leave.
type HostLeft struct{}
