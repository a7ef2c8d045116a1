package cron

import "time"

// Explained is a schedule in words, and its next slots.
type Explained struct {
	Cron string      `json:"cron"`
	Zone string      `json:"zone"`
	Says string      `json:"says"`
	Next []time.Time `json:"next" nullable:"false"`
}

// Explain says when a schedule comes around: at most n slots after a time, in
// UTC. Next is empty, and not nil, where there is none.
func (s Spec) Explain(after time.Time, n int) Explained {
	e := Explained{Cron: s.String(), Zone: s.Zone().String(), Says: s.Words(), Next: []time.Time{}}
	for len(e.Next) < n {
		next, ok := s.Next(after)
		if !ok {
			break
		}
		e.Next, after = append(e.Next, next), next
	}
	return e
}
