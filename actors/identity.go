package actors

import (
	"errors"
	"sync/atomic"
	"time"

	"bellhop/scheduler"
)

// identity is this instance's id in the database, and how long it may believe in its claims. Written by membership,
// read by all.
type identity struct {
	me    atomic.Int64 // scheduler.InstanceID; 0: not registered
	lease atomic.Int64 // unix nanoseconds on the local clock's monotonic base, see leaseLeft
	began time.Time    // base of lease: a monotonic clock reading
	fault atomic.Pointer[heartFault]
}

// heartFault is why the last heartbeat failed.
type heartFault struct {
	err  error
	mend string // what becomes of it, where the error knows; empty: that may pass
}

// suffers records what the last heartbeat met; nil: it was well.
func (i *identity) suffers(err error) {
	if err == nil {
		i.fault.Store(nil)
		return
	}
	f := &heartFault{err: err}
	var known interface {
		error
		Mend() string
	}
	if errors.As(err, &known) {
		f.err, f.mend = known, known.Mend()
	}
	i.fault.Store(f)
}

func (i *identity) id() scheduler.InstanceID { return scheduler.InstanceID(i.me.Load()) }

// become says under which id this instance is registered; 0: under none.
func (i *identity) become(id scheduler.InstanceID) { i.me.Store(int64(id)) }

// setLease records until when this instance may believe in its claims.
func (i *identity) setLease(until time.Time) { i.lease.Store(int64(until.Sub(i.began))) }

// leaseLeft is how long the lease lasts from now; negative: it is over.
func (i *identity) leaseLeft(now time.Time) time.Duration {
	return time.Duration(i.lease.Load()) - now.Sub(i.began)
}

// mayBegin reports whether work on a line may start: its claim is one of this
// instance as it is registered now, and the lease on that lasts. What was
// claimed before an instance was taken for dead, others may have begun.
func (i *identity) mayBegin(l *scheduler.Line, now time.Time) bool {
	return l.Instance == i.id() && i.leaseLeft(now) > 0
}
