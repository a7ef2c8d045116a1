package scheduler

import "time"

// Turn is what a turn at the attached tables came to.
type Turn struct {
	Attachments int // that there are
	Taken       int // rows that may start now
	Ended       int // rows whose outcome was written
	// Lasts is how many times as many rows as ended since the last turn were taken ahead: of the attachment that has
	// the fewest. 0: some table has none.
	Lasts float64
}

// Add counts the turn of one attachment, which has so many rows that were taken ahead.
func (t Turn) Add(taken, ended, ahead int) Turn {
	if taken == 0 && ended == 0 {
		return t
	}
	lasts := 0.0
	if ended > 0 {
		lasts = float64(ahead) / float64(ended)
	}
	if t.Taken == 0 && t.Ended == 0 || lasts < t.Lasts {
		t.Lasts = lasts
	}
	t.Taken, t.Ended = t.Taken+taken, t.Ended+ended
	return t
}

// How long after one turn at the attached tables the next may come.
const (
	TurnSoon = 4 * time.Millisecond
	turnIdle = 64 * time.Millisecond // at most: a row of another table, whose pool has room, waits as long
)

// TurnPause is how long after a turn the next may come. This one took so long, and ended so long after the one before.
// While turns find nothing the pause grows. While rows are taken ahead there is no hurry: turns then take a quarter of
// the time, unless they are long, and the next one comes before half of those rows have ended.
func TurnPause(was time.Duration, t Turn, took, since time.Duration) time.Duration {
	if t.Taken+t.Ended == 0 {
		return min(2*was, turnIdle)
	}
	half := time.Duration(min(t.Lasts, 1000) * float64(min(since, time.Minute)) / 2)
	return max(TurnSoon, min(3*took, half, turnIdle))
}

// TurnFailed is how long after a turn that failed the next may come.
const TurnFailed = turnIdle
