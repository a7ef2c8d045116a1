package lock

import (
	"cmp"
	"slices"
	"time"
)

// line is what takes turns together: the jobs of one type and priority. Jobs without locks, which filters hold or
// limit, have a line of their own: when they have waited for long, nothing is reserved for them.
type line struct {
	typ      string
	priority int
	locks    bool
}

// takeTurns lets the jobs of a line exchange what orders them, so that they stand in the order of their keys' turns
// (Waiting.Turn) and not of their ids. An aged job with locks keeps its place: it may have a reservation.
func takeTurns(list []*waiting, c Constants, now time.Time) {
	if !slices.ContainsFunc(list, func(w *waiting) bool { return w.job.Turn > 0 }) {
		return
	}
	lines := map[line][]*waiting{}
	for _, w := range list {
		l := line{w.job.Type, w.priority, len(w.set.Levels) > 0 || w.set.Big}
		if !l.locks || !c.Aged(now.Sub(w.since)) {
			lines[l] = append(lines[l], w)
		}
	}
	for _, jobs := range lines {
		type place struct {
			id    ID
			since time.Time
		}
		places := make([]place, len(jobs))
		for i, w := range jobs {
			places[i] = place{w.id, w.since}
		}
		slices.SortFunc(places, func(a, b place) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
		slices.SortFunc(jobs, func(a, b *waiting) int {
			return cmp.Or(cmp.Compare(turnOf(a), turnOf(b)), cmp.Compare(a.id, b.id))
		})
		for i, w := range jobs {
			w.place, w.since = places[i].id, places[i].since
		}
	}
}

// turnOf is a job's turn; one that has none comes after all others.
func turnOf(w *waiting) int {
	if w.job.Turn == 0 {
		return int(^uint(0) >> 1)
	}
	return w.job.Turn
}

// Taken is how many jobs of a key a pass has started; Rest: other jobs of that type and priority wait.
type Taken struct {
	Type     string
	Priority int
	Share    string
	Starts   int
	Rest     bool
}

// TurnsTaken are the keys whose jobs a choice starts, of the types and priorities at which keys take turns.
func (pass Pass) TurnsTaken(c Choice) (list []Taken) {
	starts := map[ID]bool{}
	for _, s := range c.Start {
		starts[s.Job] = true
	}
	type at struct {
		typ      string
		priority int
	}
	turns, rest, key := map[at]bool{}, map[at]bool{}, map[Taken]int{}
	for _, w := range pass.Waiting {
		l := at{w.Type, w.Priority}
		turns[l] = turns[l] || w.Turn > 0
		rest[l] = rest[l] || !starts[w.Job]
	}
	for _, w := range pass.Waiting {
		if l := (at{w.Type, w.Priority}); starts[w.Job] && turns[l] {
			key[Taken{Type: w.Type, Priority: w.Priority, Share: w.Share, Rest: rest[l]}]++
		}
	}
	for k, n := range key {
		k.Starts = n
		list = append(list, k)
	}
	return list
}
