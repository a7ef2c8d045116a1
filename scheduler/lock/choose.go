package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Code says why a job was not chosen, as explain tells it.
type Code string

const (
	LockHeld       Code = "lock_held"       // By has what it wants
	LockReserved   Code = "lock_reserved"   // By has aged, wants the same, and comes first
	FilterPaused   Code = "filter_paused"   // Rule says PAUSE
	FilterRejected Code = "filter_rejected" // Rule says REJECT: it is to be cancelled
	RateLimited    Code = "rate_limited"    // Rule's limit, or Bucket, is used up
	NoRoom         Code = "no_room"         // others came first
)

// Reason is why a job was not chosen.
type Reason struct {
	Code     Code
	By       ID       // of lock_held, lock_reserved
	Conflict Conflict // the same: what the job wants, and what By has
	Rule     RuleID   // of filter_paused, filter_rejected, rate_limited; empty: Bucket
	Bucket   Bucket
	Place    RuleID    // of a limit of Rule: what is full
	Each     string    // of such a limit: with what other jobs this one counts; empty: with all
	Until    time.Time // of a limit per time: until then at least
}

func (r Reason) String() string {
	switch r.Code {
	case LockHeld:
		return fmt.Sprintf("%s, and job %d has %s", r.Conflict.Wants.Text(), r.By, r.Conflict.Holds.Text())
	case LockReserved:
		return fmt.Sprintf("%s, and job %d, which has waited longer, comes first with %s", r.Conflict.Wants.Text(), r.By, r.Conflict.Holds.Text())
	case FilterPaused:
		return fmt.Sprintf("filter %s pauses it", r.Rule)
	case FilterRejected:
		return fmt.Sprintf("filter %s rejects it", r.Rule)
	case RateLimited:
		switch {
		case r.Rule == "":
			return fmt.Sprintf("as many run as %s allows", r.Bucket)
		case r.Until.IsZero():
			return fmt.Sprintf("as many run as filter %s allows%s", r.Rule, r.Each)
		}
		until := r.Until.Format(time.RFC3339)
		return fmt.Sprintf("as many have started as filter %s allows%s until %s", r.Rule, r.Each, until)
	}
	return "other jobs come first"
}

// Input is what a choice is made of.
type Input struct {
	Pending []Job                  // that could start but for locks, filters, limits and slots
	Running []Job                  // with what they hold; those count for limits too
	Free    int                    // slots
	ByType  map[string]int         // of these, how many a type can take; nil: any
	Rules   []Rule                 // filters, in any order
	Starts  map[RuleID][]time.Time // when jobs under a limit per time have started, by place, as far back as it reaches
	Policy  Policy
	Now     time.Time
}

// Pick is a job to start.
type Pick struct {
	ID     ID
	SPV    float64 // beside what ran when it was picked
	Weight float64
}

// Decision is the jobs that start, in this order, and why others do not.
type Decision struct {
	Picks []Pick
	Waits map[ID]Reason
}

// Select chooses the jobs to start: by (priority, weight, id). Weights count all running jobs and all jobs picked
// before (greedy; Ganeti design-predictive-queue weighs once a pass, so that two picks may want the same).
// Priorities are those that waiting has bettered. A job that is paused, rejected or limited is passed by and keeps
// no other job back. Filters are asked before limits, and only a job that starts uses up a limit. A job whose known
// locks conflict with a job that runs, or was picked, is passed by. The result depends on the values alone, and not
// on their order.
//
// No starvation. An aged job (it waited for Horizon, and weighs nothing) gets a reservation: while it waits, no job
// that conflicts with it may start, except the jobs before it in the order. Those have a better priority, or have
// the same, are aged and have a lower id.
//
// Theorem. Let job J begin to wait at t₀. Assume that (1) both ageings are on, H is
// the Horizon and T the PriorityTick; (2) lower ids began to wait earlier, priorities
// are −20 … 19; (3) no job has its slot and locks longer than D, every slot can run every job, and there
// is at least one; (4) a pass is made whenever a job ends or comes to wait and when an age matters; (5) neither
// filter nor limit holds J or a job before it; (6) jobs ask for no further lock at
// run time. Let t₁ = t₀ + max(H, 39·T), and A the number of jobs with lower ids that
// still wait at t₁. Then J starts no later than t₁ + (A+1)·D, whatever else is
// submitted.
//
// Proof. At t₁ J, and every job with a lower id, has priority −20 and is aged; so only those A are ever before J in
// the order, and they stay in the order of their ids. Let F be the first of them, and J itself the last. Nothing
// that conflicts with F starts while F waits: all others are behind it, and F has a reservation. What conflicts
// with F and runs has ended within D. When the last of it ends, its slot is free; where nothing conflicts, some
// slot is free within D. The pass made then looks at F first, and F starts. So each F waits at most D for its turn,
// and there are A+1 of them. ∎
//
// With PriorityTick off it holds for J from t₀+H on with A as the number of jobs that
// are ever before J, if those are aged too: without it, a stream of more urgent jobs
// starves J, as priorities are meant to.
func Select(in Input) Decision {
	d := Decision{Waits: map[ID]Reason{}}
	if in.Policy.Order.waitsInSlot() {
		return plain(in, d)
	}
	b, g, list := prepare(in, d.Waits)
	b.pass(in.Now, in.Free, func(w *waiting, spv float64) {
		d.Picks = append(d.Picks, Pick{w.id, spv, spv * in.Policy.Constants.Factor(in.Now.Sub(w.since))})
		g.take(*w.job)
	})
	for _, w := range list {
		if w.in != nil {
			d.Waits[w.id] = b.reason(w)
		}
	}
	return d
}

// plain is Ganeti's own rule: in the order of the beginning of the pass, and no
// lock forbids a start.
func plain(in Input, d Decision) Decision {
	g, jobs := newGates(in), map[ID]Job{}
	for _, j := range in.Pending {
		jobs[j.ID] = j
	}
	for _, r := range Rank(in.Pending, in.Running, in.Policy, in.Now) {
		why, held := g.holds(jobs[r.ID])
		switch {
		case held:
			d.Waits[r.ID] = why
		case len(d.Picks) >= in.Free:
			d.Waits[r.ID] = Reason{Code: NoRoom}
		default:
			d.Picks = append(d.Picks, Pick{r.ID, r.Weight.SPV, r.Weight.Weight})
			g.take(jobs[r.ID])
		}
	}
	return d
}

// prepare fills a backlog; jobs that a filter or a full limit holds from the beginning go to waits.
func prepare(in Input, waits map[ID]Reason) (*backlog, *gates, []*waiting) {
	b, g := newBacklog(in.Policy, in.Now), newGates(in)
	if in.ByType != nil {
		b.byType = map[string]int{}
		for typ, n := range in.ByType {
			b.byType[typ] = n
		}
	}
	b.holds = func(w *waiting) bool {
		why, held := g.holds(*w.job)
		if held {
			waits[w.id] = why
		}
		return held
	}
	for _, j := range in.Running {
		b.runs(j.ID, j.Locks)
	}
	pending := slices.Clone(in.Pending)
	slices.SortFunc(pending, func(x, y Job) int { return cmp.Compare(x.ID, y.ID) })
	list := make([]*waiting, 0, len(pending))
	for i := range pending {
		list = append(list, newWaiting(&pending[i]))
	}
	takeTurns(list, in.Policy.Constants, in.Now)
	list = slices.DeleteFunc(list, b.holds)
	for _, w := range list {
		b.add(w)
	}
	return b, g, list
}

// elsewhere is the type of jobs that do not start here: there is never room for it. No job's own, since
// PostgreSQL keeps no zero byte.
const elsewhere = "\x00"

func newWaiting(j *Job) *waiting {
	typ := cmp.Or(j.Agent, j.Type)
	if j.Elsewhere {
		typ = elsewhere
	}
	return &waiting{id: j.ID, place: j.ID, set: j.Locks, setKey: j.Locks.key(), typ: typ,
		priority: j.Priority, since: j.Since, job: j}
}

// key is the same for equal sets, and for no others.
func (s Set) key() string {
	var text []byte
	add := func(t string, m Mode) {
		text = append(strconv.AppendInt(text, int64(len(t)), 10), ':')
		text = append(append(text, t...), '0'+byte(m))
	}
	if s.Big {
		text = append(text, '!')
	}
	for _, v := range s.Levels {
		add(v.Level, v.All)
		text = append(text, '0'+byte(v.Unknown), '0'+byte(min(len(v.Names), 1)))
		for _, n := range v.Names {
			add(n.Name, n.Mode)
		}
		text = append(text, ';')
	}
	return string(text)
}

// reason is why a job that is still there was not chosen.
func (b *backlog) reason(w *waiting) Reason {
	id, why, reserved, is := b.blocker(w)
	switch {
	case !is:
		return Reason{Code: NoRoom}
	case reserved:
		return Reason{Code: LockReserved, By: id, Conflict: why}
	}
	return Reason{Code: LockHeld, By: id, Conflict: why}
}

// Ranked is a job in the order in which it would be looked at.
type Ranked struct {
	ID       ID
	Priority int // aged
	Aged     bool
	Weight   Weight
}

// Rank puts jobs in order beside what runs now, and works their weights out. A
// job's place in it is what explain tells. Nothing is picked, so that later picks
// may change it.
func Rank(pending, running []Job, p Policy, now time.Time) []Ranked {
	sets := make([]Set, len(running))
	for i, r := range running {
		sets[i] = r.Locks
	}
	list := make([]Ranked, len(pending))
	for i, j := range pending {
		waited := now.Sub(j.Since)
		list[i] = Ranked{j.ID, p.Constants.Priority(j.Priority, waited), p.Constants.Aged(waited),
			p.Constants.Weigh(j.Locks, sets, p.Levels, waited)}
	}
	weighs := p.Order == Predictive || p.Order == Ganeti || p.Order == ""
	slices.SortFunc(list, func(x, y Ranked) int {
		c := cmp.Compare(x.Priority, y.Priority)
		if c == 0 && weighs {
			c = cmp.Compare(x.Weight.Weight, y.Weight.Weight)
		}
		return cmp.Or(c, cmp.Compare(x.ID, y.ID))
	})
	return list
}
