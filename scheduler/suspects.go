package scheduler

import (
	"slices"
	"time"
)

// GuardDeaths is how many times a line may take the guard of its agent down with
// it (its agent kills its parent, say).
const GuardDeaths = 3

// LineID names a job, or an item of one, whatever its claim.
type LineID struct {
	Job  JobID
	Item int64
}

// ID names a line.
func (l *Line) ID() LineID { return LineID{l.Claim.Job, l.Item} }

// Suspects are the lines that agents were working on when their guard died. One guard has many agents, so it is
// unknown at first which of them killed it. From then on each of them runs under a guard of its own: the next death
// names its killer, and takes no neighbour along. If guards of different lines die together, no line is suspected:
// an operator, or the system, has killed them. One line that takes two guards along within a moment is suspected.
//
// The zero value suspects nothing. It is used by one goroutine at a time.
type Suspects struct {
	lines map[LineID]suspicion
	types map[TypeName]time.Time // of warm agents, which get lines only when they are up: since when
	last  struct {               // the latest death of a guard
		guard int
		at    time.Time
		lines []LineID // whose counts it has raised
	}
}

type suspicion struct {
	deaths int // of guards, with this line in hand
	at     time.Time
}

const (
	suspectFor   = time.Hour   // how long a line, or a type of warm agents, is suspected
	diedTogether = time.Second // guards that die within this die of one cause
	suspectsMost = 10_000      // lines; beyond, those that are not suspected any more are forgotten
)

// Died records that a guard has died while an agent of it had a line in hand, and
// gives how many that line has taken along. guard tells guards apart.
func (s *Suspects) Died(guard int, line LineID, now time.Time) (deaths int) {
	if s.lines == nil {
		s.lines = map[LineID]suspicion{}
	}
	s.forget(now)
	raised := 1
	switch {
	case guard != s.last.guard && now.Sub(s.last.at) < diedTogether && !slices.Equal(s.last.lines, []LineID{line}):
		for _, other := range s.last.lines {
			was := s.lines[other]
			was.deaths = max(0, was.deaths-1)
			s.lines[other] = was
		}
		s.last.lines, raised = nil, 0
		s.last.guard, s.last.at = guard, now
	case guard != s.last.guard:
		s.last.guard, s.last.at, s.last.lines = guard, now, nil
	}
	deaths = s.lines[line].deaths + raised
	s.lines[line] = suspicion{deaths, now}
	if raised > 0 {
		s.last.lines = append(s.last.lines, line)
	}
	if deaths >= GuardDeaths { // it is over with it; should it be retried, it begins anew
		s.lines[line] = suspicion{0, now}
	}
	return deaths
}

// DiedUnder records that a guard has died under a warm agent of a type, which had
// a line in hand or was coming up.
func (s *Suspects) DiedUnder(typ TypeName, now time.Time) {
	if s.types == nil {
		s.types = map[TypeName]time.Time{}
	}
	s.types[typ] = now
}

// Alone reports whether a line is to run under a guard of its own.
func (s *Suspects) Alone(line LineID, now time.Time) bool {
	was, is := s.lines[line]
	return is && now.Sub(was.at) < suspectFor
}

// TypeAlone reports whether warm agents of a type are to have guards of their own.
func (s *Suspects) TypeAlone(typ TypeName, now time.Time) bool {
	since, is := s.types[typ]
	return is && now.Sub(since) < suspectFor
}

func (s *Suspects) forget(now time.Time) {
	if len(s.lines) < suspectsMost {
		return
	}
	for line, was := range s.lines {
		if now.Sub(was.at) >= suspectFor {
			delete(s.lines, line)
		}
	}
}
