package locks

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

// asItWas is the row of what really became of the jobs.
const asItWas lock.Order = "as it was"

// past gives the jobs of the database that have ended, as a workload, with the policy that is obeyed or asked for.
func (o *simulation) past(ctx context.Context, a *cli.App, s *cli.Session) ([]lock.Arrival, lock.Policy, error) {
	policy, err := o.pastPolicy(ctx, s)
	if err != nil {
		return nil, policy, err
	}
	since, err := cli.ParseAge(o.since)
	if err != nil {
		return nil, policy, cli.Usage("simulate", "--since "+o.since+": "+err.Error(), "bellhop simulate --from-history --since 7d")
	}
	past := view.Past{Since: since, Most: o.jobs, By: strings.TrimPrefix(o.by, "type"), Operator: true}
	h := newHistory(&policy)
	err = s.Ended(ctx, past, h.add)
	if cli.IsDenied(err) {
		past.Operator, h = false, newHistory(&policy)
		err = s.Ended(ctx, past, h.add)
	}
	if err != nil {
		return nil, policy, err
	}
	if len(h.jobs) == 0 {
		return nil, policy, cli.Failed(cli.ExitNotFound, "not found", "bellhop ls -s succeeded",
			"no job that was submitted in the last %s has ended in a slot", o.since)
	}
	if len(o.orders) == 0 {
		o.orders = []string{string(cmp.Or(policy.Order, lock.Predictive))}
	}
	h.finish()
	o.room.Rests = h.rests()
	was := lock.Was(h.jobs, h.starts, o.room.Slots)
	was.Order = asItWas
	o.was = &was
	counted, err := s.EndedCount(ctx, since)
	if err != nil && !cli.IsDenied(err) {
		return nil, policy, err
	}
	h.notes(a, o, counted, past.Operator)
	return h.jobs, policy, nil
}

// pastPolicy is the policy, and the room where it is not told: what live instances have, or what a file says.
func (o *simulation) pastPolicy(ctx context.Context, s *cli.Session) (lock.Policy, error) {
	policy, err := s.Policy(ctx)
	if err != nil {
		return policy, err
	}
	room, err := s.Room(ctx)
	if err != nil {
		return policy, err
	}
	if o.other != nil {
		policy = *o.other
	}
	o.room.Slots = cmp.Or(o.room.Slots, room.Slots, fileSlots)
	maps.Copy(room.Max, o.most)
	maps.DeleteFunc(room.Max, func(_ string, n int) bool { return n == 0 })
	o.room.Max = room.Max
	o.room.Shares.Weights, err = s.Weights(ctx)
	return policy, err
}

// history makes a workload of ended jobs, row by row. A policy without levels gets Ganeti's levels, and those of the
// jobs.
type history struct {
	policy *lock.Policy
	grow   bool // the policy names no levels
	zero   time.Time
	jobs   []lock.Arrival
	starts []time.Duration
	ids    map[int64]int // the last attempt of a job, in jobs
	needs  map[int][]int64
	sets   map[string]lock.Set  // what was read before
	runs   map[string][]stretch // by host

	rows, queries, elsewhere, unreadable, hidden int
}

func newHistory(policy *lock.Policy) *history {
	h := &history{policy: policy, grow: len(policy.Levels) == 0, ids: map[int64]int{}}
	h.needs, h.sets, h.runs = map[int][]int64{}, map[string]lock.Set{}, map[string][]stretch{}
	if h.grow {
		policy.Levels = slices.Clone(lock.GanetiLevels)
	}
	return h
}

func (h *history) add(r view.EndedRow) {
	if h.rows++; h.zero.IsZero() {
		h.zero = r.Created
	}
	if r.Elsewhere {
		h.elsewhere++
		return
	}
	if r.Query {
		h.queries++
	}
	if r.Unknown {
		h.hidden++
	}
	at := func(t time.Time) time.Duration { return t.Sub(h.zero) }
	set, err := h.set(r.Locks)
	if err != nil || r.Unreadable != nil { // it never got them: it was of before, or of another configuration
		h.unreadable++
	}
	j := lock.Arrival{At: at(r.Due), Waited: r.Due.Sub(r.Created), Type: r.Type, Group: r.Group, Share: r.Share,
		Priority: r.Priority, Locks: set}
	for i := 0; i+1 < len(r.Tries); i += 2 {
		j = h.attempt(r, j, at(r.Tries[i]), at(r.Tries[i+1]))
	}
	h.attempt(r, j, at(r.Began), at(r.Ended))
	h.ids[r.ID] = len(h.jobs) - 1
	if r.Host != "" {
		h.runs[r.Host] = append(h.runs[r.Host], stretch{at(r.Due), at(r.Began), at(r.Ended)})
	}
}

// attempt adds an attempt of a job, and gives what the next one, which needs it, has of it.
func (h *history) attempt(r view.EndedRow, j lock.Arrival, began, ended time.Duration) lock.Arrival {
	i := len(h.jobs)
	if j.Again {
		j.Pause = max(0, began-j.Pause) // as long after the end of the one before as it was
	} else if len(r.Needs) > 0 {
		h.needs[i] = r.Needs
	}
	j.Takes = max(0, ended-began)
	h.jobs, h.starts = append(h.jobs, j), append(h.starts, began)
	j.Again, j.Needs, j.Pause = true, []int{i}, ended
	return j
}

// set reads locks, those of the same text once.
func (h *history) set(texts []string) (lock.Set, error) {
	if len(texts) == 0 {
		return lock.Set{}, nil
	}
	text := strings.Join(texts, "\n")
	set, seen := h.sets[text]
	if seen {
		return set, nil
	}
	set, err := readTexts(texts, &h.policy.Levels, h.grow)
	if err != nil {
		return lock.Set{}, err
	}
	h.sets[text] = set
	return set, nil
}

// finish finds the jobs that others need. What is not in the workload ended before, or not at all.
func (h *history) finish() {
	for i, ids := range h.needs {
		for _, id := range ids {
			if n, there := h.ids[id]; there && n < i {
				h.jobs[i].Needs = append(h.jobs[i].Needs, n)
			}
		}
	}
	h.ids, h.needs, h.sets = nil, nil, nil
}

// stretch is a time in a slot.
type stretch struct{ due, began, ended time.Duration }

// rests is for how long a slot rests before the next job, on average. A job that had waited already takes the slot, or
// the lock, of the job that ended last.
func (h *history) rests() time.Duration {
	var gaps []time.Duration
	for _, runs := range h.runs {
		ends := make([]time.Duration, len(runs))
		for i, r := range runs {
			ends[i] = r.ended
		}
		slices.Sort(ends)
		slices.SortFunc(runs, func(x, y stretch) int { return cmp.Compare(x.began, y.began) })
		var free []time.Duration
		for _, r := range runs {
			for len(ends) > 0 && ends[0] <= r.began {
				free, ends = append(free, ends[0]), ends[1:]
			}
			if n := len(free); n > 0 {
				if r.due <= free[n-1] {
					gaps = append(gaps, r.began-free[n-1])
				}
				free = free[:n-1]
			}
		}
	}
	h.runs = nil
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	var sum time.Duration
	for i, gap := range gaps {
		if gap > 10*gaps[len(gaps)/2]+time.Millisecond { // these waited for something else
			gaps = gaps[:i]
			break
		}
		sum += gap
	}
	return sum / time.Duration(len(gaps))
}

// notes say what the replay leaves out.
func (h *history) notes(a *cli.App, o *simulation, counted int64, operator bool) {
	switch {
	case h.rows >= o.jobs:
		a.Note("only the newest %d jobs are replayed; --jobs N takes more", o.jobs)
	case counted > int64(h.rows+h.rows/100+10):
		a.Note("%d jobs ended in the last %s, and the rows of %d are left. The others were deleted (docs/retention.md), "+
			"so jobs of the replay wait too little", counted, o.since, h.rows)
	}
	if h.queries > 0 {
		a.Note("%d jobs are queries (MSQ): each is replayed as one job in one slot, since its items leave no times", h.queries)
	}
	if h.elsewhere > 0 {
		a.Note("%d jobs ran on an engine or were taken by workers: they used no slot, and are left out", h.elsewhere)
	}
	if h.unreadable > 0 {
		a.Note("the locks of %d jobs cannot be read by the policy; these are replayed without locks", h.unreadable)
	}
	if h.hidden > 0 && !operator {
		a.Note("you may not see arguments: locks that agents' templates make of them count as unknown, in %d jobs", h.hidden)
	}
}
