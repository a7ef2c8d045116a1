package tree

import (
	"errors"
	"sync/atomic"
	"time"

	"bellhop/scheduler"
)

// Identity is this instance's id in the database, and how long it may believe in its claims. Written by membership,
// read by all.
type Identity struct {
	me    atomic.Int64 // scheduler.InstanceID; 0: not registered
	lease atomic.Int64 // unix nanoseconds on the local clock's monotonic base, see leaseLeft
	Began time.Time    // base of lease: a monotonic clock reading
	fault atomic.Pointer[heartFault]
}

// heartFault is why the last heartbeat failed.
type heartFault struct {
	err  error
	mend string // what becomes of it, where the error knows; empty: that may pass
}

// Suffers records what the last heartbeat met; nil: it was well.
func (i *Identity) Suffers(err error) {
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

// Fails is why the last heartbeat failed, and what becomes of that where the error knows; nil: it went well.
func (i *Identity) Fails() (mend string, err error) {
	if f := i.fault.Load(); f != nil {
		return f.mend, f.err
	}
	return "", nil
}

func (i *Identity) ID() scheduler.InstanceID { return scheduler.InstanceID(i.me.Load()) }

// Become says under which id this instance is registered; 0: under none.
func (i *Identity) Become(id scheduler.InstanceID) { i.me.Store(int64(id)) }

// SetLease records until when this instance may believe in its claims.
func (i *Identity) SetLease(until time.Time) { i.lease.Store(int64(until.Sub(i.Began))) }

// LeaseLeft is how long the lease lasts from now; negative: it is over.
func (i *Identity) LeaseLeft(now time.Time) time.Duration {
	return time.Duration(i.lease.Load()) - now.Sub(i.Began)
}

// MayBegin reports whether work on a line may start: its claim is one of this
// instance as it is registered now, and the lease on that lasts. What was
// claimed before an instance was taken for dead, others may have begun.
func (i *Identity) MayBegin(l *scheduler.Line, now time.Time) bool {
	return l.Instance == i.ID() && i.LeaseLeft(now) > 0
}
