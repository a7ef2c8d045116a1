package store

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
)

// turnsOf asks for the jobs whose keys are next, where keys take turns: of the types and priorities of waiting jobs of
// which one has a share. A pass that has read as many jobs of a type as it looks at may have missed all with a share:
// it asks about the last priority that it saw, unless it has found no share there within the last second.
func (p *pass) turnsOf(batch *pgx.Batch, host []any, known *lock.Pass) {
	type line struct {
		typ, agent string
		priority   int
	}
	now := time.Now()
	shares, seen, last := map[string]bool{}, map[string]int{}, map[string]int{}
	for _, w := range known.Waiting {
		shares[w.Type] = shares[w.Type] || w.Share != ""
		seen[w.Type]++
		last[w.Type] = max(last[w.Type], w.Priority)
	}
	var lines []line
	for _, w := range known.Waiting {
		full := seen[w.Type] >= p.look && w.Priority == last[w.Type] && now.After(p.claimer.turnless[w.Type])
		if l := (line{w.Type, w.Agent, w.Priority}); (shares[w.Type] || full) && !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return
	}
	var types, agents []string
	var priorities []int16
	for _, l := range lines {
		types, agents, priorities = append(types, l.typ), append(agents, l.agent), append(priorities, int16(l.priority))
	}
	batch.Queue(locksTurnsSQL, append(slices.Clone(host), types, priorities, agents, p.look)...).
		Query(func(rows pgx.Rows) error {
			var next []lock.Waiting
			err := scanJobs(rows, &next, p.claimer.Templates, true)
			known.Waiting = withTurns(known.Waiting, next)
			for _, typ := range types {
				p.claimer.noteTurns(typ, now, slices.ContainsFunc(next, func(w lock.Waiting) bool { return w.Type == typ }))
			}
			return err
		})
}

// noteTurns records whether keys of a type take turns.
func (c *Claimer) noteTurns(typ string, now time.Time, turns bool) {
	switch {
	case turns:
		delete(c.turnless, typ)
	case c.turnless == nil:
		c.turnless = map[string]time.Time{typ: now.Add(sharesLast)}
	default:
		c.turnless[typ] = now.Add(sharesLast)
	}
}

// withTurns adds the jobs whose turn is near to those that wait, and their turns to those that are among them.
func withTurns(waiting, next []lock.Waiting) []lock.Waiting {
	at := map[lock.ID]int{}
	for i, w := range waiting {
		at[w.Job] = i
	}
	for _, w := range next {
		if i, there := at[w.Job]; there {
			waiting[i].Turn = w.Turn
		} else {
			waiting = append(waiting, w)
		}
	}
	return waiting
}

// taken moves the keys whose jobs start.
func (p *pass) taken(batch *pgx.Batch, choice lock.Choice) {
	list := p.known.TurnsTaken(choice)
	if len(list) == 0 {
		return
	}
	var types, shares []string
	var priorities []int16
	var starts []int32
	var rest []bool
	for _, t := range list {
		types, shares, priorities = append(types, t.Type), append(shares, t.Share), append(priorities, int16(t.Priority))
		starts, rest = append(starts, int32(t.Starts)), append(rest, t.Rest)
	}
	batch.Queue(locksTakenSQL, types, priorities, shares, starts, rest)
}
