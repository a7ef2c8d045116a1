package view

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/scheduler/workflow"
	"bellhop/sql"
)

// lookPromisedSQL goes around the statement that submits a job.
const lookPromisedSQL = `select bellhop.promise((%s), $%d::timestamptz,
	starts => $%d::timestamptz, ends => $%d::timestamptz, latest => $%d::timestamptz, certainty => $%d::real)`

var (
	lookPromiseSQL = sql.Query("look_promise")
	lookComingSQL  = sql.Query("look_coming")
	lookLockedSQL  = sql.Query("look_locked")
	lookBarSQL     = sql.Query("look_bar")
)

// PromiseRow is a promise that a job has ended by a time, and what became of it.
type PromiseRow struct {
	By        time.Time  `json:"by"`
	AskedAt   time.Time  `json:"asked_at"`
	Starts    *time.Time `json:"starts"`
	Ends      *time.Time `json:"ends"`
	Latest    *time.Time `json:"latest"`
	Certainty *float32   `json:"certainty"`
	DangerAt  *time.Time `json:"danger_at"`
	Why       *string    `json:"why"`
	Outcome   *string    `json:"outcome"`
	DecidedAt *time.Time `json:"decided_at"`
}

// Promise is that of a job; nil: it has none.
func (l Look) Promise(ctx context.Context, id scheduler.JobID) (*PromiseRow, error) {
	row, ok, err := first(collect[PromiseRow](ctx, l.db, "read a promise", lookPromiseSQL, int64(id)))
	if err != nil || !ok {
		return nil, err
	}
	return &row, nil
}

// Foretold is what was foretold of a job that is promised by a time.
type Foretold struct {
	By, Starts, Ends, Latest *time.Time
	Certainty                *float64
}

// SubmitPromised submits a job, and promises it by a time, or neither.
func (l Look) SubmitPromised(ctx context.Context, s Submission, f Foretold) (scheduler.JobID, error) {
	text, args, err := s.call()
	if err != nil {
		return 0, err
	}
	n := len(args)
	args = append(args, f.By, f.Starts, f.Ends, f.Latest, f.Certainty)
	text = fmt.Sprintf(lookPromisedSQL, strings.TrimSpace(text), n+1, n+2, n+3, n+4, n+5)
	return value[scheduler.JobID](ctx, l.db, "submit", text, args...)
}

// Bar is what keeps every new job of a submission's kind from starting; empty: nothing that the instances know.
func (l Look) Bar(ctx context.Context, s Submission) (ReasonRow, error) {
	row, _, err := first(collect[ReasonRow](ctx, l.db, "ask what keeps jobs from starting", lookBarSQL,
		string(s.Type), s.RunOn, s.Priority, s.MSQ != nil))
	return row, err
}

// What a look ahead takes in at most.
const (
	aheadLocked   = 10_000
	aheadBeside   = 100_000
	aheadComing   = 20_000
	aheadCalendar = 10_000
	// aheadStarted is how many jobs with locks may start between the count and the look.
	aheadStarted = 16
)

// firstCalendar is the id of the first job of a calendar: those that are submitted later have higher ones.
const firstCalendar = lock.ID(math.MaxInt64 / 2)

// Ahead is what jobs will run until a time, as far as it is known.
type Ahead struct {
	lock.Scene
	Sketches Sketches
	Blind    bool // the caller may not see what workflows start
	Full     bool // more wait than were looked at
}

// Ahead reads what waits, what is to come, and what the clock starts until a time.
func (l Look) Ahead(ctx context.Context, until time.Time) (a Ahead, err error) {
	if a.Sketches, err = l.Sketches(ctx); err != nil {
		return a, err
	}
	locked, err := value[int](ctx, l.db, "count jobs that wait with locks", lookLockedSQL, aheadLocked+aheadStarted+1)
	if err != nil {
		return a, err
	}
	if a.Scene, err = l.scene(ctx, aheadLocked, aheadBeside, 0); err != nil {
		return a, err
	}
	for _, j := range a.Jobs {
		if !j.Holds && !j.Beside {
			locked--
		}
	}
	a.Full = len(a.Jobs) >= aheadBeside || locked > aheadStarted
	rows, err := collect[struct {
		Job      int64
		Type     string
		Priority int
		Share    string
		Locks    []string
		Due, Age float64
		Needs    []int64
	}](ctx, l.db, "read jobs that are to come", lookComingSQL, max(0, until.Sub(a.Now).Seconds()), aheadComing)
	if err != nil {
		return a, err
	}
	a.Full = a.Full || len(rows) == aheadComing
	in := func(sec float64) time.Time { return a.Now.Add(time.Duration(sec * float64(time.Second))) }
	for _, r := range rows {
		c := lock.Coming{At: in(r.Due)}
		c.Job = lock.Job{ID: lock.ID(r.Job), Type: r.Type, Priority: r.Priority, Share: r.Share, Since: in(-r.Age)}
		c.Locks, _ = lock.ParseAll(r.Locks, nil) // of a lock that cannot be read the job itself tells
		for _, need := range r.Needs {
			c.Needs = append(c.Needs, lock.ID(need))
		}
		a.Coming = append(a.Coming, c)
	}
	list, err := l.Definitions(ctx, nil)
	if err != nil {
		a.Blind = true // for operators
		return a, nil
	}
	a.calendar(list, until)
	return a, nil
}

// calendar adds what the clock starts.
func (a *Ahead) calendar(list []DefinitionRow, until time.Time) {
	var all []workflow.Definition
	for _, row := range list {
		if d, err := workflow.Read(row.Definition); err == nil {
			all = append(all, d)
		}
	}
	for i, load := range workflow.Calendar(all, a.Now, until, aheadCalendar) {
		c := lock.Coming{At: load.At}
		c.ID, c.Type, c.Priority, c.Since = firstCalendar+lock.ID(i), load.Step.Type, load.Step.Priority, load.At
		c.Share = load.Step.Share
		c.Locks, _ = lock.ParseAll(slices.Clone(load.Step.Locks), nil) // a name that a run fills in is a name here, too
		for _, n := range load.Needs {
			c.Needs = append(c.Needs, firstCalendar+lock.ID(n))
		}
		a.Coming = append(a.Coming, c)
	}
}

// Knows reports whether jobs of a type have ended, so that it is known how long they take.
func (a Ahead) Knows(typ string) bool {
	took := a.Sketches.Took[typ]
	return took.N() > 0
}

// Play is when jobs run, if each takes as long as that share of its type's jobs at most. A type of which nothing is
// known takes the average of the others.
func (a Ahead) Play(share float64) map[lock.ID]lock.Span {
	took, sum := map[string]time.Duration{}, time.Duration(0)
	for typ, s := range a.Sketches.Took {
		if d, known := s.Quantile(share); known {
			took[typ] = d
			sum += d
		}
	}
	if len(took) == 0 {
		return nil
	}
	return a.Scene.Play(func(typ string) time.Duration {
		if d, known := took[typ]; known {
			return d
		}
		return sum / time.Duration(len(took))
	})
}
