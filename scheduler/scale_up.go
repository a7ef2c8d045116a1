package scheduler

import "time"

// ScaleUp is what a host weighs before it starts processes for lines that none
// of its children has room for.
type ScaleUp struct {
	Lines  int           // that were dealt and wait
	Warm   int           // children that take lines
	Coming int           // children that come up
	Line   time.Duration // what a line takes a child of the type; 0: not known
	Start  time.Duration // what it takes a process of the type to come up; 0: not known
	Waited time.Duration // for how long lines have waited, with all of Warm up and busy
}

// startMost is the longest that a start is thought to take: however slow one
// is, a line does not wait longer for a child that may or may not get free.
const startMost = 100 * time.Millisecond

// Patience is for how long lines wait for children that are up before more are
// started: as long as a start takes. Whoever waits no longer for what he may not
// need than that costs loses at most as much again (ski rental).
func (b ScaleUp) Patience() time.Duration { return min(b.Start, startMost) }

// Worth is how many processes to start now. A type does not take slots for lines
// that its warm children finish sooner than a process starts. While nobody knows
// what a line takes, one child comes first.
func (b ScaleUp) Worth() int {
	missing := b.Lines - b.Coming
	switch {
	case missing <= 0:
		return 0
	case b.Start <= 0: // none has ever come up: Respawn says how many are tried
		return missing
	case b.Coming == 0 && b.Warm > 0 && b.Waited >= b.Patience():
		return missing
	}
	patience := b.Patience()
	needed := int((time.Duration(b.Lines)*b.Line + patience - 1) / patience)
	if b.Warm == 0 {
		needed = max(needed, 1)
	}
	return max(0, min(missing, needed-b.Warm-b.Coming))
}
