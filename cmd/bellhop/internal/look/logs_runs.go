package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// runs are what stands between the lines of a job's log: where an attempt begins,
// and where a run was lost.
type runs struct {
	from int  // no attempt before this one
	only int  // this attempt alone; 0: all
	all  bool // each attempt has a heading; else only what was lost is told
	told int
	list []heading
}

type heading struct {
	at   time.Time
	text string
}

// read reads what there is now; what was told stays so.
func (r *runs) read(ctx context.Context, s *cli.Session, job scheduler.JobID) error {
	attempts, err := s.Attempts(ctx, job)
	if err != nil && !cli.IsDenied(err) { // lines are also shown to users that may see nothing else
		return err
	}
	lost, err := s.Lost(ctx, job)
	if err != nil && !cli.IsDenied(err) {
		return err
	}
	r.list = r.list[:0]
	for _, t := range attempts {
		if r.all && t.StartedAt != nil {
			r.list = append(r.list, heading{*t.StartedAt, attemptHeading(t)})
		}
	}
	for _, l := range lost {
		if l.Attempt >= r.from && (r.only == 0 || l.Attempt == r.only) {
			text := fmt.Sprintf("%s (%s), %s", l.Told(), whereabouts(l.Host, l.Child), cli.When(&l.LostAt, time.Now()))
			r.list = append(r.list, heading{l.LostAt, text})
		}
	}
	slices.SortStableFunc(r.list, func(a, b heading) int { return a.at.Compare(b.at) })
	return nil
}

// until gives the headings that stand before a line of that time.
func (r *runs) until(at time.Time) (texts []string) {
	for r.told < len(r.list) && !r.list[r.told].at.After(at) {
		texts = append(texts, r.list[r.told].text)
		r.told++
	}
	return texts
}

func whereabouts(host, child *string) string {
	return strings.Trim(cli.Text(child)+" on "+cli.Text(host), " ")
}

func attemptHeading(t view.AttemptRow) string {
	text := fmt.Sprintf("attempt %d, %s", t.Attempt, whereabouts(t.Host, t.Child))
	switch {
	case t.EndedAt == nil:
	case t.Error != nil:
		text += ": " + cli.Cut(cli.Flat(*t.Error), 200)
	default:
		text += ": succeeded"
	}
	return text + "; started " + cli.When(t.StartedAt, time.Now())
}

// whyWaiting tells once what a job that is followed waits for, and again when
// that changes.
type whyWaiting struct {
	said string
	next time.Time
}

func (w *whyWaiting) tell(ctx context.Context, a *cli.App, s *cli.Session, o view.OutcomeRow) error {
	waiting := []scheduler.JobState{scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready}
	if !slices.Contains(waiting, o.State) || time.Now().Before(w.next) {
		return nil
	}
	w.next = time.Now().Add(time.Second)
	reasons, err := s.Explain(ctx, o.ID)
	if err != nil || len(reasons) == 0 {
		return err
	}
	if why := reasons[0]; why.Code != w.said {
		w.said = why.Code
		a.Note("job %d waits: %s: %s; see: bellhop explain %d", o.ID, why.Code, cli.Flat(why.Sentence), o.ID)
	}
	return nil
}

// since reads --since: a time, or so long ago. Zero: from the begin.
func since(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := cli.ParseMoment(text); err == nil {
		return at, nil
	}
	return time.Time{}, cli.Usage("logs", fmt.Sprintf("--since %q is neither a time nor a time span", text),
		"bellhop logs ID --since 10m, or --since '2026-01-02 15:04' (UTC)")
}
