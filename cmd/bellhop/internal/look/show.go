package look

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/sql/view"
)

// shownItems is how many failed items are shown.
const shownItems = 1000

func ShowCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show everything about one job",
		Long:    "Show everything about one job, named by id or key: its columns, its attempts, its steps, and its failed items.",
		Example: "  bellhop show 42\n  bellhop show nightly -o json",
		Args:    a.JobArgs(1, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			job, err := readJob(ctx, s, args[0])
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(job)
			}
			return printJob(a, job)
		}),
	}
}

// shownJob is all that there is to know of a job. Payload and Items are nil
// where the account may not see them.
type shownJob struct {
	view.JobRow
	*view.PayloadRow
	Result   json.RawMessage    `json:"result"` // null too where the account may not see it
	Attempts []view.AttemptRow  `json:"attempts"`
	Lost     []view.LostRow     `json:"lost"`
	Remote   []view.RemoteRow   `json:"remote"`
	Steps    []view.KeptStepRow `json:"steps"`
	Items    []view.SeenItemRow `json:"items"`
	Promise  *view.PromiseRow   `json:"promise"` // null too where the account may not see it
}

func readJob(ctx context.Context, s *cli.Session, word string) (shownJob, error) {
	var job shownJob
	row, err := cli.ReadJob(ctx, s.Look, word)
	if err != nil {
		return job, err
	}
	job.JobRow = row
	id := row.ID
	payloads, err := s.Payloads(ctx, []scheduler.JobID{id}, 0)
	if err != nil && !cli.IsDenied(err) {
		return job, err
	}
	if p, ok := payloads[id]; ok {
		p = p.Shown()
		job.PayloadRow = &p
	}
	if job.Result, err = s.Look.Result(ctx, id); err != nil {
		return job, err
	}
	if job.Attempts, err = s.Look.Attempts(ctx, id); err != nil {
		return job, err
	}
	if job.Lost, err = s.Look.Lost(ctx, id); err != nil {
		return job, err
	}
	if job.Remote, err = s.Look.Remote(ctx, id); err != nil {
		return job, err
	}
	if job.Steps, err = s.Look.KeptSteps(ctx, id); err != nil {
		return job, err
	}
	if job.Promise, err = s.Look.Promise(ctx, id); err != nil && !cli.IsDenied(err) {
		return job, err
	}
	if job.Items, err = s.FailedItems(ctx, id, shownItems); err != nil && !cli.IsDenied(err) {
		return job, err
	}
	return job, nil
}

// columns are the printed lines of a job, one for each value that is set; names are those that have a line if they are.
type columns struct{ lines, names []string }

func (c *columns) line(name, value string) {
	c.names = append(c.names, name)
	if value != "" {
		c.lines = append(c.lines, fmt.Sprintf("%-17s %s", name, cli.Clean(value)))
	}
}

// printJob prints the columns, then attempts and failed items.
func printJob(a *cli.App, j shownJob) error {
	var c columns
	c.order(j)
	c.course(j)
	c.line("on_failure", j.OnFailure)
	c.line("traceparent", cli.Text(j.Traceparent))
	c.others(grammar.Submission, j.JobRow)
	if err := a.Printf("%s\n", strings.Join(c.lines, "\n")); err != nil {
		return err
	}
	if err := printAttempts(a, j.Attempts, j.Lost); err != nil {
		return err
	}
	if err := printRemote(a, j.Remote); err != nil {
		return err
	}
	if err := printSteps(a, j.Steps); err != nil {
		return err
	}
	return printItems(a, j.Items)
}

// others prints what else was submitted. The lines of attempt and priority have two values each.
func (c *columns) others(o grammar.Object, row any) {
	for _, f := range o.Others(row, append(c.names, "max_attempts", "priority_name")...) {
		c.line(f.Name, f.Text)
	}
}

// order prints the job as it was submitted, and its state.
func (c *columns) order(j shownJob) {
	c.line("id", strconv.FormatInt(int64(j.ID), 10))
	c.line("state", string(j.State))
	if j.EndedAs != nil {
		c.line("ended_as", j.EndedAs.Words())
	}
	c.line("type", string(j.Type))
	c.line("key", cli.Text(j.Key))
	if p := j.PayloadRow; p != nil {
		c.line("args", cli.Text(p.Args))
		c.line("msq", cli.Text(p.MSQ))
		c.line("repeat", cli.Text(p.Repeat))
		for _, name := range slices.Sorted(maps.Keys(p.Vars)) {
			c.line("vars", name+"="+p.Vars[name])
		}
		c.line("timeout", cli.Text(p.Timeout))
	} else {
		c.line("args", "(not shown: this account may not read them)")
	}
	c.line("priority", priority(j.JobRow))
	c.line("run_on", cli.Text(j.RunOn))
	c.line("share", cli.Text(j.Share))
	c.line("locks", strings.Join(j.Locks, " "))
	c.line("reasons", strings.Join(j.Reasons, " "))
	c.line("waiting_for", cli.Text(j.WaitingFor))
	if j.CancelRequested {
		c.line("cancel_requested", "yes")
	}
}

// course prints its host, its times and its outcome.
func (c *columns) course(j shownJob) {
	now := time.Now()
	c.line("host", cli.Text(j.Host))
	c.line("child", cli.Text(j.Child))
	if j.Instance != nil && *j.Instance == 0 { // its host is the worker's login
		c.line("instance", "none: "+cli.Text(j.Host))
	} else {
		c.line("instance", cli.Number(j.Instance))
	}
	c.line("attempt", fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts))
	c.line("fence", strconv.FormatInt(j.Fence, 10))
	c.line("run", cli.Number(j.Run))
	c.line("step", cli.Text(j.Step))
	c.line("submitted_by", cli.Text(j.SubmittedBy))
	c.line("created_at", cli.When(&j.CreatedAt, now))
	c.line("run_at", instant(j.RunAt, now))
	c.line("not_after", instant(j.NotAfter, now))
	if p := j.Promise; p != nil {
		c.line("promised by", cli.When(&p.By, now)+promised(*p))
	}
	c.line("started_at", cli.When(j.StartedAt, now))
	c.line("ended_at", cli.When(j.EndedAt, now))
	c.line("exit_code", cli.Number(j.ExitCode))
	c.line("error", cli.Text(j.Error))
	c.line("result", string(j.Result))
	c.line("progress", howFar(j.JobRow))
	c.line("items_total", cli.Number(j.ItemsTotal))
	c.line("items_done", cli.Number(j.ItemsDone))
	c.line("items_failed", cli.Number(j.ItemsFailed))
	if p := j.PayloadRow; p != nil {
		c.line("successes", cli.Number(p.Successes))
		if p.Deaths > 0 {
			c.line("deaths", strconv.Itoa(p.Deaths))
		}
	}
}

// promised is what is known of a promise beside its time.
func promised(p view.PromiseRow) string {
	switch {
	case p.Outcome != nil:
		return ", " + *p.Outcome + ": " + cli.Text(p.Why)
	case p.DangerAt != nil:
		return ", in danger: " + cli.Text(p.Why)
	}
	return ""
}

// howFar is how far a job is, by what its agent says.
func howFar(j view.JobRow) string {
	var words []string
	if j.Progress != nil {
		words = append(words, fmt.Sprintf("%.0f %%", *j.Progress*100))
	}
	if j.ProgressText != nil {
		words = append(words, *j.ProgressText)
	}
	return strings.Join(words, ", ")
}

func instant(t *view.Moment, now time.Time) string {
	if t == nil {
		return ""
	}
	return cmp.Or(t.Infinite(), cli.When(&t.Time, now))
}

// printAttempts prints every run, those that were lost among them, in the order in which they began.
func printAttempts(a *cli.App, attempts []view.AttemptRow, lost []view.LostRow) error {
	if len(attempts)+len(lost) == 0 {
		return nil
	}
	t := cli.Table{
		Header: []string{"ATTEMPT", "HOST", "CHILD", "STARTED_AT", "TOOK", "EXIT_CODE", "SUCCESSES", "ERROR"},
	}
	before := func(at *time.Time) {
		for len(lost) > 0 && (at == nil || lost[0].StartedAt == nil || !lost[0].StartedAt.After(*at)) {
			l := &lost[0]
			t.Add("-", l.Host, l.Child, l.StartedAt, took(l.StartedAt, &l.LostAt), "", "", l.Told())
			lost = lost[1:]
		}
	}
	for _, at := range attempts {
		if at.StartedAt != nil {
			before(at.StartedAt)
		}
		t.Add(at.Attempt, at.Host, at.Child, at.StartedAt, took(at.StartedAt, at.EndedAt),
			at.ExitCode, at.Successes, at.Error)
	}
	before(nil)
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(t)
}

// took is how long an attempt that has ended took.
func took(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return cli.Took(to.Sub(*from).Seconds())
}

func printItems(a *cli.App, items []view.SeenItemRow) error {
	if len(items) == 0 {
		return nil
	}
	if len(items) == shownItems {
		a.Note("at most %d failed items are shown; all of them are in bellhop.item", shownItems)
	}
	t := cli.Table{Header: []string{"ITEM", "TRIES", "EXIT_CODE", "ERROR", "LINE"}}
	for _, it := range items {
		t.Add(it.Item, it.Tries, it.ExitCode, it.Error, it.Line)
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(t)
}
