package scheduler

import "errors"

// ErrBuried: other instances took this one for dead; what it held is theirs.
var ErrBuried = errors.New("this instance was taken for dead")

// ErrRefused: the database understood a write and refused it. The same write
// again will be refused again.
var ErrRefused = errors.New("refused by the database")

// ErrQuery: an MSQ text is to blame, not the line to the database. The error
// that wraps it says how.
var ErrQuery = errors.New("msq_error")
