// Package scheduler is bellhop's pure core: every decision is a function of
// the values it is given. It owns the vocabulary (job, line, child, host), the
// state machines and the policies. It does no I/O, starts no goroutine and
// reads no clock: if a function needs the time it takes now, if it needs jitter
// it takes u in [0,1). It imports the standard library only.
package scheduler
