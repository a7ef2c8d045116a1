package look

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// shownNeeds is how many of the jobs that a job needs are shown.
const shownNeeds = 100

func TraceCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "trace ID",
		Short: "Show when what happened to one job",
		Long: `Show when what happened to one job, named by id or key, from bellhop's own
records: what it needed, how long it waited, what had to start for it, every attempt,
and every run that was lost. Nothing else has to
run for that. Where observability.trace_url is configured there is the link to
the same trace as a collector has it.`,
		Example: "  bellhop trace 42\n  bellhop trace nightly -o json",
		Args:    a.JobArgs(1, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			id, err := cli.FindJob(ctx, s.Look, args[0])
			if err != nil {
				return err
			}
			job, ok, err := s.Job(ctx, id)
			if err != nil {
				return err
			}
			if !ok { // deleted since we looked
				return cli.Failed(cli.ExitNotFound, "not found", "bellhop ls", "there is no %s", cli.Describe(args[0]))
			}
			attempts, err := s.Look.Attempts(ctx, id)
			if err != nil {
				return err
			}
			lost, err := s.Look.Lost(ctx, id)
			if err != nil {
				return err
			}
			needs, err := s.Needs(ctx, id, shownNeeds)
			if err != nil {
				return err
			}
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			w := newWaterfall(job, attempts, lost, needs, c.Observability.TraceURL)
			if a.JSON() {
				return a.PrintJSON(w)
			}
			return printWaterfall(a, w)
		}),
	}
}

// Waterfall is what happened to a job, in order.
type Waterfall struct {
	ID       scheduler.JobID    `json:"id"`
	Type     scheduler.TypeName `json:"type"`
	State    scheduler.JobState `json:"state"`
	TraceID  string             `json:"trace_id"`
	TraceURL string             `json:"trace_url,omitempty"`
	Steps    []traceStep        `json:"steps"`
	job      store.JobRow
	now      time.Time // on the database's clock
}

// traceStep is one bar. What is not over has no end.
type traceStep struct {
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
	Items   *traceItems        `json:"items,omitempty"`
	what    string             // the label
}

type traceItems struct {
	Total  *int64 `json:"items_total"`
	Done   *int64 `json:"items_done"`
	Failed *int64 `json:"items_failed"`
}

func newWaterfall(
	job store.JobRow, attempts []store.AttemptRow, lost []store.LostRow, needs []store.NeedRow, url string,
) Waterfall {
	given := ""
	if job.Traceparent != nil {
		given = *job.Traceparent
	}
	c, _ := scheduler.JobTrace(given, job.ID, job.CreatedAt)
	w := Waterfall{ID: job.ID, Type: job.Type, State: job.State, TraceID: c.TraceID(), Steps: []traceStep{}, job: job,
		now: job.CreatedAt.Add(time.Duration(job.Age * float64(time.Second)))}
	if url != "" {
		w.TraceURL = strings.ReplaceAll(url, "{trace_id}", w.TraceID)
	}
	for _, n := range needs {
		from := n.CreatedAt
		if n.StartedAt != nil {
			from = *n.StartedAt
		}
		w.add(
			traceStep{
				Name:  "needs",
				Job:   n.ID,
				From:  from,
				To:    n.EndedAt,
				State: n.State,
				what:  fmt.Sprintf("needs %d %s", n.ID, n.Type),
			},
		)
	}
	at := job.CreatedAt // since when nothing happens
	for i := range attempts {
		r := &attempts[i]
		if r.StartedAt == nil { // it ended before an agent had it
			continue
		}
		at, lost = w.lost(at, lost, r.StartedAt)
		w.come(at, r.Attempt, r.SpawnedAt, *r.StartedAt, r.Host, r.Child)
		step := traceStep{
			Name:    "run",
			Job:     job.ID,
			Attempt: r.Attempt,
			From:    *r.StartedAt,
			To:      r.EndedAt,
			Host:    r.Host,
			Child:   r.Child,
			Exit:    r.ExitCode,
			Error:   r.Error,
			what:    "attempt " + strconv.Itoa(r.Attempt),
		}
		if job.IsMSQ && i == len(attempts)-1 {
			step.Items = &traceItems{job.ItemsTotal, job.ItemsDone, job.ItemsFailed}
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

// lost adds the runs that were lost before a time (nil: all), and gives since when nothing happens, and the rest.
func (w *Waterfall) lost(at time.Time, runs []store.LostRow, before *time.Time) (time.Time, []store.LostRow) {
	for len(runs) > 0 && (before == nil || runs[0].StartedAt == nil || !runs[0].StartedAt.After(*before)) {
		r, told := &runs[0], runs[0].Told()
		runs = runs[1:]
		if r.StartedAt == nil {
			continue
		}
		w.come(at, r.Attempt, r.SpawnedAt, *r.StartedAt, r.Host, r.Child)
		at = r.LostAt
		w.add(
			traceStep{
				Name:    "lost",
				Job:     w.ID,
				Attempt: r.Attempt,
				From:    *r.StartedAt,
				To:      &r.LostAt,
				Host:    r.Host,
				Child:   r.Child,
				Error:   &told,
				what:    "lost run",
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
	w.add(traceStep{Name: "spawn", Job: w.ID, Attempt: attempt, From: *up, To: &began, Host: host, Child: child, what: "spawn " + string(w.Type)})
}

func (w *Waterfall) wait(from time.Time, to *time.Time) {
	if to == nil || to.After(from) {
		w.add(traceStep{Name: "wait", Job: w.ID, From: from, To: to, what: "wait"})
	}
}

func (w *Waterfall) add(s traceStep) {
	to := w.now
	if s.To != nil {
		to = *s.To
	}
	s.Seconds = max(0, to.Sub(s.From).Seconds())
	w.Steps = append(w.Steps, s)
}

// traceNarrow is the width below which there is no room for bars, and
// traceWide that of what is no terminal.
const (
	traceNarrow = 60
	traceWide   = 100
)

// printWaterfall prints a line a step: what, when after the submission, for how
// long, and the same as a bar where there is room.
func printWaterfall(a *cli.App, w Waterfall) error {
	width, terminal := cli.TerminalWidth(a.Stdout)
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 && terminal {
		width = n
	}
	if width <= 0 {
		width = traceWide
	}
	title := fmt.Sprintf("job %d %s: %s", w.ID, w.Type, w.State)
	if w.job.Key != nil {
		title += ", key " + *w.job.Key
	}
	lines := []string{title, "submitted " + cli.Moment(&w.job.CreatedAt), "trace " + w.TraceID}
	lines = append(lines, w.lines(width)...)
	for i, line := range lines {
		if line = cli.Clean(line); terminal {
			line = cli.Cut(line, width)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	if w.TraceURL != "" { // whole, so that it can be followed
		lines = append(lines[:3], append([]string{cli.Clean(w.TraceURL)}, lines[3:]...)...)
	}
	return a.Printf("%s\n", strings.Join(lines, "\n"))
}

func (w *Waterfall) lines(width int) (lines []string) {
	if len(w.Steps) == 0 {
		return nil
	}
	from, to, names := w.job.CreatedAt, w.job.CreatedAt, 0
	for _, s := range w.Steps {
		if end := s.From.Add(time.Duration(s.Seconds * float64(time.Second))); end.After(to) {
			to = end
		}
		if s.From.Before(from) {
			from = s.From
		}
		names = max(names, len([]rune(s.what)))
	}
	names = min(names, max(8, width/3))
	room := width - names - 2*11 - 1
	for _, s := range w.Steps {
		after := s.From.Sub(w.job.CreatedAt).Seconds()
		sign := "+"
		if after < 0 {
			sign, after = "-", -after
		}
		took := cli.Span(&s.Seconds)
		if s.To == nil {
			took += "…"
		}
		line := fmt.Sprintf("%s %10s %10s", pad(cli.Cut(s.what, names), names), sign+cli.Span(&after), took)
		if width >= traceNarrow {
			line += " " + stripe(s, from, to, room)
		}
		lines = append(lines, strings.TrimRight(line, " "))
		if more := s.more(); more != "" {
			lines = append(lines, strings.Repeat(" ", 2)+more)
		}
	}
	return lines
}

// stripe is a step as a part of the whole time; what waits is drawn lightly.
func stripe(s traceStep, from, to time.Time, room int) string {
	whole := max(to.Sub(from).Seconds(), 1e-9)
	begin := min(int(s.From.Sub(from).Seconds()/whole*float64(room)), room-1)
	n := max(1, int(s.Seconds/whole*float64(room)+0.5))
	mark := "█"
	if s.Name == "wait" {
		mark = "░"
	}
	return strings.Repeat(" ", begin) + strings.Repeat(mark, min(n, room-begin))
}

// more is what else is known of a step; empty: nothing.
func (s traceStep) more() string {
	var parts []string
	tell := func(format string, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	tell("%s", string(s.State))
	tell("on %s", cli.Text(s.Host))
	tell("by %s", cli.Text(s.Child))
	if s.Exit != nil && *s.Exit != 0 {
		parts = append(parts, "exit code "+strconv.Itoa(*s.Exit))
	}
	if s.Items != nil {
		total := cli.Number(s.Items.Total)
		if total == "" {
			total = "?"
		}
		parts = append(parts,
			fmt.Sprintf("items: %s done, %s failed, of %s", orZero(s.Items.Done), orZero(s.Items.Failed), total))
	}
	tell("for %s", cli.Text(s.Why))
	tell("%s", cli.Text(s.Error))
	return strings.Join(parts, ", ")
}

func orZero(n *int64) string {
	if n == nil {
		return "0"
	}
	return cli.Number(n)
}

// pad fills a text up to a width in characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-len([]rune(s))))
}
