// Package lock is the policy of locks as a value: how they are written and
// read, what a job wants at each level, which jobs may run beside each other,
// which starts next, and why another does not. It follows Ganeti's predictive
// queue (design-predictive-queue) and its job filters, and goes further where a
// comment says so: known conflicts forbid a start, and an aged job is reserved for.
//
// Like all of scheduler/ it is pure: no I/O, no clock, no luck. It holds nothing
// and grants nothing; the queue does that with what is decided here.
package lock
