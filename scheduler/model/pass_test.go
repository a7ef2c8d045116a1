package model

import (
	"slices"
	"testing"
	"time"

	"bellhop/scheduler/lock"
)

// Three jobs that want locks, and two instances that make passes: each reads the running and waiting jobs, lets
// lock.Policy.Choose decide, and starts what that has chosen. Jobs come at any time, wait for any time, and end at any
// time; one may come again.
//
// Wrong is that two jobs hold locks that conflict, or that a job with a reservation is overtaken: a job that comes
// later, and conflicts with it, starts first.

const wanting = 3

type stage uint8

const (
	absent stage = iota
	waiting
	aged // it has waited for the horizon: it may get a reservation
	holding
)

// passState is what the database says, and what an instance that is amid a pass has read. Stages are by job.
type passState struct {
	jobs     [wanting]stage
	read     [2][wanting]stage
	amid     [2]bool
	reserved [wanting]bool // a pass has left the job waiting, and it was aged

	overtaken bool // a job with a reservation was
}

// passGuards are what can be left out.
type passGuards struct {
	together       bool // two instances make passes at one time
	noReservations bool // an aged job is one of many
}

type passProtocol struct {
	passGuards
	wants [wanting]string
}

var passBegan = time.Unix(1_800_000_000, 0)

// choose asks the program which jobs start.
func (p passProtocol) choose(jobs [wanting]stage) (starts []lock.ID) {
	pass := lock.Pass{Now: passBegan, Total: wanting, Most: map[string]int{"t": wanting}}
	for j, at := range jobs {
		w := lock.Waiting{Job: lock.ID(j + 1), Type: "t", Locks: []string{p.wants[j]}, Since: passBegan.Add(-time.Second)}
		switch at {
		case holding:
			want, err := lock.Parse(p.wants[j])
			if err != nil {
				panic(err)
			}
			held := lock.Grant{Job: w.Job, Level: want.Level, Name: want.NameText(), Mode: want.Mode.String()}
			if want.Big {
				held.Level, held.Mode = lock.Big, lock.Exclusive.String()
			}
			pass.Held = append(pass.Held, held)
		case aged:
			w.Since = passBegan.Add(-time.Hour)
			pass.Waiting = append(pass.Waiting, w)
			if !p.noReservations {
				pass.Reserved = append(pass.Reserved, w)
			}
		case waiting:
			pass.Waiting = append(pass.Waiting, w)
		}
	}
	policy := lock.AnyLevel
	if p.noReservations {
		policy.Order = lock.Greedy
	}
	for _, s := range policy.Choose(pass).Start {
		starts = append(starts, s.Job)
	}
	return starts
}

func (p passProtocol) conflict(a, b int) bool {
	x, errX := lock.ParseAll([]string{p.wants[a]}, nil)
	y, errY := lock.ParseAll([]string{p.wants[b]}, nil)
	if errX != nil || errY != nil {
		panic("locks that cannot be read")
	}
	is, _ := lock.Conflicts(x, y)
	return is
}

func (p passProtocol) next(s passState) (moves []move[passState]) {
	can := func(to passState, what string, n int) { moves = append(moves, move[passState]{to, what, n}) }
	for j, at := range s.jobs {
		to := s
		switch at {
		case absent:
			to.jobs[j] = waiting
			can(to, "job %d comes", j+1)
		case waiting:
			to.jobs[j] = aged
			can(to, "job %d has waited for long", j+1)
		case holding:
			to.jobs[j] = absent
			can(to, "job %d ends", j+1)
		}
	}
	for i := range s.amid {
		to := s
		if s.amid[i] {
			to.read[i], to.amid[i] = [wanting]stage{}, false
			can(p.start(to, p.choose(s.read[i])), "instance %d starts what it has chosen", i+1)
		} else if p.together || !slices.Contains(s.amid[:], true) {
			to.read[i], to.amid[i] = s.jobs, true
			can(to, "instance %d reads", i+1)
		}
	}
	return moves
}

// start starts those of the chosen jobs that still wait, and notes which aged jobs wait on.
func (p passProtocol) start(s passState, chosen []lock.ID) passState {
	for _, id := range chosen {
		j := int(id) - 1
		if s.jobs[j] != waiting && s.jobs[j] != aged {
			continue
		}
		for other := range s.reserved {
			first := s.jobs[j] == aged && j < other // it has aged too, and came before
			if other != j && s.reserved[other] && s.jobs[other] == aged && !first && p.conflict(j, other) {
				s.overtaken = true
			}
		}
		s.jobs[j], s.reserved[j] = holding, false
	}
	for j, at := range s.jobs {
		s.reserved[j] = at == aged
	}
	return s
}

func (p passProtocol) wrong(s passState) string {
	for a := range s.jobs {
		for b := range a {
			if s.jobs[a] == holding && s.jobs[b] == holding && p.conflict(a, b) {
				return "two jobs hold locks that conflict"
			}
		}
	}
	if s.overtaken {
		return "a job with a reservation was overtaken"
	}
	return ""
}

// wantings are the locks of the three jobs.
var wantings = map[string][wanting]string{
	"sharers and one alone": {"disk:d=shared", "disk:d=exclusive", "disk:d=shared"},
	"all alone":             {"disk:d=exclusive", "disk:d=exclusive", "disk:d=exclusive"},
	"big among others":      {"disk:d=shared", "big", "disk:e=exclusive"},
	"all of a level":        {"disk:*=shared", "disk:d=exclusive", "disk:e=exclusive"},
	"not known yet":         {"disk:?=exclusive", "disk:d=shared", "disk:?=shared"},
}

func passesOf(p passProtocol) protocol[passState] {
	return protocol[passState]{next: p.next, wrong: p.wrong}
}

func TestPass_NoConflictAndNoOvertaking(t *testing.T) {
	t.Parallel()
	for name, wants := range wantings {
		t.Run(name, func(t *testing.T) { holds(t, passesOf(passProtocol{passGuards{}, wants})) })
	}
}

func TestPass_EachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	wants := wantings["sharers and one alone"]
	needed(t, map[string]protocol[passState]{
		"one pass at a time": passesOf(passProtocol{passGuards{together: true}, wants}),
		"reservations":       passesOf(passProtocol{passGuards{noReservations: true}, wants}),
	})
}
