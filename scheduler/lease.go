package scheduler

import "time"

// Lease says how long an instance goes on without an answer to its heartbeat, and when others may count it as dead.
type Lease struct {
	Heartbeat time.Duration // between two heartbeats
	Lag       time.Duration // of silence on the database's clock, after which it counts as dead
}

// heartbeatAgain is the longest pause before a heartbeat that failed is tried again.
const heartbeatAgain = 500 * time.Millisecond

// Margin is how long before others may count it as dead an instance kills its agents: time enough to be dead by then.
func (l Lease) Margin() time.Duration { return l.Lag / 5 }

// Until is when the lease ends that a heartbeat renewed. It counts from when the statement was sent, which is before
// the database has read its clock.
func (l Lease) Until(sent time.Time) time.Time { return sent.Add(l.Lag - l.Margin()) }

// Next is the pause after a heartbeat that was answered, or failed.
func (l Lease) Next(failed bool) time.Duration {
	if failed {
		return min(l.Heartbeat, heartbeatAgain)
	}
	return l.Heartbeat
}

// Bears is how long an instance may stand still, at whatever moment, without losing its lease.
func (l Lease) Bears() time.Duration { return l.Lag - l.Margin() - l.Heartbeat }
