package lock

import "time"

// BestPriority is the most urgent one, where ageing stops.
const BestPriority = -20

// everything is what a running job with the big lock is taken to hold at every level.
var everything = Value{All: Exclusive}

// LevelWeight is what a level adds to a job's weight.
type LevelWeight struct {
	Level   string
	Pending Kind
	Running Kind // of the job that counts; None too when none runs
	By      int  // which of the running jobs counts, by its place in what was given; -1: none adds anything
	Weight  float64
}

// Weight is a job's weight, worked out.
type Weight struct {
	SPV    float64 // the static value: 1 + what each level adds, whatever the age
	Factor float64 // 1 for a new job, 0 for an aged one
	Weight float64 // SPV × Factor
	Levels []LevelWeight
}

// Static is the static value of a pending job beside running ones, in 1 … BigWeight:
// Base + at each level the most that one of the running jobs does to it. The big lock
// is always the heaviest, even with nothing running; a running job that holds it
// counts as AllExclusive on every level (in Ganeti it counts as no lock at all).
func (c Constants) Static(pending Set, running []Set, levels Levels) float64 {
	return c.Weigh(pending, running, levels, 0).SPV
}

// BigWeight is what a job that wants the big lock weighs: 16 for five levels.
func (c Constants) BigWeight(levels Levels) float64 {
	return c.SureBlock*float64(len(levels)) + c.Base
}

// Weigh works the weight of a job out that has waited for a while.
func (c Constants) Weigh(pending Set, running []Set, levels Levels, waited time.Duration) Weight {
	w := Weight{SPV: c.Base, Factor: c.Factor(waited)}
	for _, level := range levels {
		l := c.level(pending, running, level)
		w.Levels = append(w.Levels, l)
		w.SPV += l.Weight
	}
	if pending.Big {
		w.SPV = c.BigWeight(levels)
	}
	w.Weight = w.SPV * w.Factor
	return w
}

func (c Constants) level(pending Set, running []Set, level string) LevelWeight {
	mine := pending.At(level)
	l := LevelWeight{Level: level, Pending: mine.Kind(), By: -1}
	for i, r := range running {
		theirs := r.At(level)
		if r.Big {
			theirs = everything
		}
		if x := c.Contention(mine, theirs); x > l.Weight {
			l.Weight, l.Running, l.By = x, theirs.Kind(), i
		}
	}
	return l
}

// Factor is how much of its static value a job that waited still weighs. It is
// kept within 0 … 1, so that a job received in the future weighs its static value.
func (c Constants) Factor(waited time.Duration) float64 {
	horizon := c.Horizon()
	if horizon <= 0 {
		return 1
	}
	return min(1, max(0, 1-float64(waited)/float64(horizon)))
}

// Horizon is after which wait a job weighs nothing: 15 minutes by default. 0: never.
func (c Constants) Horizon() time.Duration { return max(0, c.Tick*time.Duration(c.AgeingTicks)) }

// Aged reports that a job weighs nothing, so that it is reserved for.
func (c Constants) Aged(waited time.Duration) bool {
	return c.Horizon() > 0 && waited >= c.Horizon()
}

// Priority is a job's priority after a wait: one better for each PriorityTick,
// down to BestPriority.
func (c Constants) Priority(priority int, waited time.Duration) int {
	if c.PriorityTick <= 0 || waited <= 0 {
		return priority
	}
	ticks := min(int64(waited/c.PriorityTick), int64(max(0, priority-BestPriority)))
	return priority - int(ticks)
}
