package scheduler

import "time"

// Standstill is why an instance claims nothing just now, though it lives. No Why: it claims.
type Standstill struct {
	Why   string
	Since time.Time
}

// Looker is an instance that looks at all of the queue, and what it tells of itself with that.
type Looker struct {
	Instance InstanceID // 0: none does
	// Seen is where an earlier look began since which all has been asked for that could be
	// taken; empty: not known.
	Seen  string
	Still Standstill
}

// Unexplained is a ready job for whose waiting no cause is known.
type Unexplained struct {
	Job  JobID
	Type TypeName
	Row  string // tells this version of its row from others
	Told string // the row, and what instances have published of the places that it might take
}

// Explained is what a look has found.
type Explained struct {
	Unknown []TypeName // that no live instance serves
	Lost    []Unexplained
	Began   string // every transaction below it was over when the look began
}

// Looks compares an instance's looks at the queue. The zero value has not looked.
//
// That a job is there and there is room for it says nothing by itself: it may be about to be
// taken, and what instances have published may be a heartbeat old. It was passed over when
// after a look all was asked for that could be taken (the dispatcher came to rest), and a later
// look finds the same row in the same case.
type Looks struct {
	last, before begun // the ring for a look comes while the one before it may not be over
	lost         map[JobID]lostSince
}

type begun struct {
	at   string
	over time.Time // when what began there had been read
}

type lostSince struct {
	row string
	at  time.Time
}

// Before is what may be told with the next look. rested is when the bell rang for the last look at
// all of the queue that has come to its end.
func (l *Looks) Before(rested time.Time) (seen string) {
	switch {
	case rested.After(l.last.over):
		return l.last.at
	case rested.After(l.before.over):
		return l.before.at
	}
	return ""
}

// After takes what a look has found, which was read by over, and gives the jobs that were passed over.
func (l *Looks) After(found Explained, rested, over time.Time) (passed []Unexplained) {
	was := l.lost
	l.before, l.last, l.lost = l.last, begun{found.Began, over}, map[JobID]lostSince{}
	for _, job := range found.Lost {
		since, before := was[job.Job]
		if !before || since.row != job.Row {
			since = lostSince{job.Row, over}
		} else if rested.After(since.at) {
			passed = append(passed, job)
		}
		l.lost[job.Job] = since
	}
	return passed
}
