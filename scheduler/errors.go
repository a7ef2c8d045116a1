package scheduler

import "errors"

// ErrGone: other instances took this one for dead; what it held is theirs.
var ErrGone = errors.New("this instance was taken for dead")

// ErrRefused: the database understood a write and refused it. The same write
// again will be refused again.
var ErrRefused = errors.New("refused by the database")

// ErrBusy: another session has locked a row that a write needs. Nothing was written; repeat the write once the lock
// is released.
var ErrBusy = errors.New("another session has locked a row of it")

// ErrLeaseOver: other instances may have taken over the work that was about to begin here.
var ErrLeaseOver = errors.New("the instance's lease is over")

// ErrUnguarded: the guard died while it started the agent, which may have begun.
var ErrUnguarded = errors.New("its guard died")

// ErrQuery: an MSQ text is to blame, not the line to the database. The error
// that wraps it says how.
var ErrQuery = errors.New("msq_error")

// Unreachable is an error of the connection to the database, not of a statement: whether that was carried out is
// not known.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string { return "database out of reach: " + u.Err.Error() }
func (u *Unreachable) Unwrap() error { return u.Err }
