package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// Waterfall is what happened to a job, in order.
type Waterfall struct {
	ID       scheduler.JobID    `json:"id"`
	Type     scheduler.TypeName `json:"type"`
	State    scheduler.JobState `json:"state"`
	TraceID  string             `json:"trace_id"`
	TraceURL string             `json:"trace_url,omitempty"`
	Steps    []Step             `json:"steps"`
	Row      view.JobRow        `json:"-"`
	now      time.Time          // on the database's clock
}

// Step is one bar. What is not over has no end.
type Step struct {
	Name    string             `json:"name"` // needs, wait, spawn, run, lost
	Job     scheduler.JobID    `json:"job"`
	Attempt int                `json:"attempt,omitempty"`
	From    time.Time          `json:"from"`
	To      *time.Time         `json:"to"`
	Seconds float64            `json:"seconds"`
	State   scheduler.JobState `json:"state,omitempty"` // of a job that is needed
	Host    *string            `json:"host,omitempty"`
	Child   *string            `json:"child,omitempty"`
	Exit    *int               `json:"exit_code,omitempty"`
	Error   *string            `json:"error,omitempty"`
	Why     *string            `json:"waiting_for,omitempty"`
	Items   *StepItems         `json:"items,omitempty"`
	What    string             `json:"-"` // the label
}

type StepItems struct {
	Total  *int64 `json:"items_total"`
	Done   *int64 `json:"items_done"`
	Failed *int64 `json:"items_failed"`
}

// NewWaterfall puts what is known of a job in order; url is where its trace is
// looked at, {trace_id} in it (empty: nowhere).
func NewWaterfall(
	job view.JobRow, attempts []view.AttemptRow, lost []view.LostRow, needs []view.NeedRow, url string,
) Waterfall {
	given := ""
	if job.Traceparent != nil {
		given = *job.Traceparent
	}
	c, _ := scheduler.JobTrace(given, job.ID, job.CreatedAt)
	w := Waterfall{ID: job.ID, Type: job.Type, State: job.State, TraceID: c.TraceID(), Steps: []Step{}, Row: job,
		now: job.CreatedAt.Add(time.Duration(job.Age * float64(time.Second)))}
	if url != "" {
		w.TraceURL = strings.ReplaceAll(url, "{trace_id}", w.TraceID)
	}
	w.needs(needs)
	at := job.CreatedAt // since when nothing happens
	for i := range attempts {
		r := &attempts[i]
		if r.StartedAt == nil { // it ended before an agent had it
			continue
		}
		at, lost = w.lost(at, lost, r.StartedAt)
		w.come(at, r.Attempt, r.SpawnedAt, *r.StartedAt, r.Host, r.Child)
		step := Step{
			Name:    "run",
			Job:     job.ID,
			Attempt: r.Attempt,
			From:    *r.StartedAt,
			To:      r.EndedAt,
			Host:    r.Host,
			Child:   r.Child,
			Exit:    r.ExitCode,
			Error:   r.Error,
			What:    "attempt " + strconv.Itoa(r.Attempt),
		}
		if job.IsMSQ && i == len(attempts)-1 {
			step.Items = &StepItems{job.ItemsTotal, job.ItemsDone, job.ItemsFailed}
		}
		w.add(step)
		if at = w.now; r.EndedAt != nil {
			at = *r.EndedAt
		}
	}
	at, _ = w.lost(at, lost, nil)
	if len(attempts) == 0 && job.EndedAt != nil { // cancelled, or failed with what it needed
		w.wait(at, job.EndedAt)
	} else if !job.State.Final() && job.State != scheduler.Running {
		w.wait(at, nil)
		w.Steps[len(w.Steps)-1].Why = job.WaitingFor
	}
	return w
}

func (w *Waterfall) needs(jobs []view.NeedRow) {
	for _, n := range jobs {
		from := n.CreatedAt
		if n.StartedAt != nil {
			from = *n.StartedAt
		}
		w.add(Step{Name: "needs", Job: n.ID, From: from, To: n.EndedAt, State: n.State,
			What: fmt.Sprintf("needs %d %s", n.ID, n.Type)})
	}
}

// lost adds the runs that were lost before a time (nil: all), and gives since when nothing happens, and the rest.
func (w *Waterfall) lost(at time.Time, runs []view.LostRow, before *time.Time) (time.Time, []view.LostRow) {
	for len(runs) > 0 && (before == nil || runs[0].StartedAt == nil || !runs[0].StartedAt.After(*before)) {
		r, told := &runs[0], runs[0].Told()
		runs = runs[1:]
		if r.StartedAt == nil {
			continue
		}
		w.come(at, r.Attempt, r.SpawnedAt, *r.StartedAt, r.Host, r.Child)
		at = r.LostAt
		w.add(
			Step{
				Name:    "lost",
				Job:     w.ID,
				Attempt: r.Attempt,
				From:    *r.StartedAt,
				To:      &r.LostAt,
				Host:    r.Host,
				Child:   r.Child,
				Error:   &told,
				What:    "lost run",
			},
		)
	}
	return at, runs
}

// come adds what was before a run: the wait, and the start of its child where it had to wait for that.
func (w *Waterfall) come(at time.Time, attempt int, up *time.Time, began time.Time, host, child *string) {
	if up == nil || !up.Before(began) {
		w.wait(at, &began)
		return
	}
	w.wait(at, up)
	w.add(
		Step{
			Name:    "spawn",
			Job:     w.ID,
			Attempt: attempt,
			From:    *up,
			To:      &began,
			Host:    host,
			Child:   child,
			What:    "spawn " + string(w.Type),
		},
	)
}

func (w *Waterfall) wait(from time.Time, to *time.Time) {
	if to == nil || to.After(from) {
		w.add(Step{Name: "wait", Job: w.ID, From: from, To: to, What: "wait"})
	}
}

func (w *Waterfall) add(s Step) {
	to := w.now
	if s.To != nil {
		to = *s.To
	}
	s.Seconds = max(0, to.Sub(s.From).Seconds())
	w.Steps = append(w.Steps, s)
}

// More is what else is known of a step; empty: nothing.
func (s Step) More() string {
	var parts []string
	tell := func(format string, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	tell("%s", string(s.State))
	tell("on %s", words.Text(s.Host))
	tell("by %s", words.Text(s.Child))
	if s.Exit != nil && *s.Exit != 0 {
		parts = append(parts, "exit code "+strconv.Itoa(*s.Exit))
	}
	if s.Items != nil {
		total := words.Number(s.Items.Total)
		if total == "" {
			total = "?"
		}
		parts = append(parts,
			fmt.Sprintf("items: %s done, %s failed, of %s", orZero(s.Items.Done), orZero(s.Items.Failed), total))
	}
	tell("for %s", words.Text(s.Why))
	tell("%s", words.Text(s.Error))
	return strings.Join(parts, ", ")
}

func orZero(n *int64) string {
	if n == nil {
		return "0"
	}
	return words.Number(n)
}
