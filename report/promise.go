package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

// Promise is the answer to whether a job that is to be submitted has ended by a time.
type Promise struct {
	By        time.Time  `json:"by"`
	Yes       bool       `json:"promised"`
	Starts    *time.Time `json:"starts"` // half of the forecasts are no later
	Ends      *time.Time `json:"ends"`
	Latest    *time.Time `json:"latest"`    // nine of ten end by then
	Certainty float64    `json:"certainty"` // the share of cases in which it ends by then
	Reasons   []string   `json:"reasons"`   // why not
	Notes     []string   `json:"notes"`     // what the forecast leaves out
	*PastError
}

// shares are the cases that are played: in each, all jobs take as long as that share of their type's jobs at most.
var shares = []float64{.5, .75, .9, .95, .99}

// enough is the certainty of a promise.
const enough = .9

// mine is the id of the job that is to be submitted: after those that wait, and before those to come.
const mine = lock.ID(math.MaxInt64/2 - 1)

// Promised plays what waits and what is to come forward, with the job among it.
func Promised(ctx context.Context, l view.Look, s view.Submission, by time.Time) (p Promise, err error) {
	p = Promise{By: by, Reasons: []string{}, Notes: []string{}}
	if why := unforeseeable(s); why != "" {
		p.Reasons = append(p.Reasons, why)
		return p, nil
	}
	bar, err := l.Bar(ctx, s)
	if err != nil {
		return p, err
	}
	if bar.Code != "" {
		p.Reasons = append(p.Reasons, bar.Code+": "+bar.Sentence)
		return p, nil
	}
	ahead, err := l.Ahead(ctx, by)
	if err != nil {
		return p, err
	}
	job, err := candidate(ctx, l, s, ahead.Now)
	if err != nil {
		return p, err
	}
	if job.gone != "" {
		p.Reasons = append(p.Reasons, job.gone)
		return p, nil
	}
	if ahead.Blind {
		p.Notes = append(p.Notes, "you may not see workflows, so the runs that the clock starts until then are left out")
	}
	if s.RunOn != nil {
		p.Notes = append(p.Notes, "run_on is not played: any slot counts as its own")
	}
	ahead.Coming = append(ahead.Coming, job.Coming)
	p.judge(ahead, s)
	return p, nil
}

// unforeseeable is why nothing can be said of such a job.
func unforeseeable(s view.Submission) string {
	switch {
	case s.Held:
		return "it is held, and nothing tells when it is released"
	case s.MSQ != nil:
		return "it is a query, and nothing tells how many items it has"
	}
	return ""
}

// wanted is the job that is to be submitted; gone is why it never starts.
type wanted struct {
	lock.Coming
	gone string
}

// candidate is the job as the forecast takes it.
func candidate(ctx context.Context, l view.Look, s view.Submission, now time.Time) (w wanted, err error) {
	templates, err := l.Templates(ctx)
	if err != nil {
		return w, err
	}
	r := templates.Resolved(lock.Waiting{Type: string(s.Type), Locks: s.Locks},
		lock.Columns{Args: s.Args, Key: s.Key, RunOn: s.RunOn, Vars: s.Vars})
	w.Job = lock.Job{ID: mine, Type: string(s.Type), Priority: s.Priority, Since: now}
	if w.Locks, err = lock.ParseAll(r.Locks, nil); err != nil {
		return w, err
	}
	if w.Share, err = l.ShareOf(ctx, s); err != nil {
		return w, err
	}
	w.At = now
	if s.RunAt != nil {
		w.At = *s.RunAt
	} else if s.RunIn != nil {
		w.At = now.Add(*s.RunIn)
	}
	if len(s.After)+len(s.AfterKeys) == 0 {
		return w, nil
	}
	rows, err := l.Find(ctx, s.After, s.AfterKeys)
	if err == nil && len(rows) < len(s.After)+len(s.AfterKeys) {
		w.gone = "a job that it needs is not there"
	}
	for _, r := range rows {
		job, ok, err := l.Job(ctx, r.ID)
		if err != nil {
			return w, err
		}
		switch {
		case !ok:
		case !job.State.Final():
			w.Needs = append(w.Needs, lock.ID(r.ID))
		case w.gone == "":
			w.gone = inVain(s, job)
		}
	}
	return w, err
}

// inVain tells that a job would need one that has ended otherwise, and so never start; empty: it would start.
func inVain(s view.Submission, needs view.JobRow) string {
	want := s.Wanted
	if len(want) == 0 {
		want = []string{string(scheduler.Succeeded)}
	}
	other := func(state string) bool { return state != string(scheduler.Succeeded) }
	skipped := needs.EndedAs != nil && *needs.EndedAs == scheduler.Skipped && !slices.ContainsFunc(want, other)
	switch {
	case s.OnFailure != nil && *s.OnFailure == "run":
		return ""
	case skipped:
		return fmt.Sprintf("it needs job %d, which was skipped", needs.ID)
	case !slices.Contains(want, string(needs.State)):
		return fmt.Sprintf("it needs job %d, which ended as %s", needs.ID, needs.State)
	}
	return ""
}

// judge plays the cases, and says why not.
func (p *Promise) judge(ahead view.Ahead, s view.Submission) {
	now := ahead.Now
	if !ahead.Knows(string(s.Type)) {
		p.no("no job of type %s has ended yet, so nothing tells how long one takes", s.Type)
		return
	}
	if ahead.Full {
		p.no("so many jobs wait that not all of them were looked at")
		return
	}
	var half map[lock.ID]lock.Span
	kept, last := true, expires(s, now)
	expired := 0. // the first case in which it would be
	for _, share := range shares {
		spans := ahead.Play(share)
		span, runs := spans[mine]
		if !runs {
			p.no("nothing tells when it starts: no host has a slot, or it needs a job of which that is not known")
			return
		}
		switch share {
		case .5:
			half, p.Starts, p.Ends = spans, &span.Start, &span.End
			p.PastError = errorOf(ahead.Sketches.Off, span.Start.Sub(now))
		case enough:
			latest := span.End
			if latest.Before(*p.Ends) { // longer jobs may let it in earlier
				latest = *p.Ends
			}
			p.Latest = &latest
		}
		if last != nil && expired == 0 && !span.Start.Before(*last) {
			expired = share
		}
		if kept = kept && expired == 0 && !span.End.After(p.By); kept {
			p.Certainty = share
		}
	}
	p.Yes = p.Certainty >= enough
	if p.Yes {
		return
	}
	switch {
	case expired == shares[0]:
		p.no("it starts about %s, and expires at %s: it would never run", clock(*p.Starts), clock(*last))
	case expired > 0 && expired <= enough:
		p.no("it may start too late, and expires at %s: then it would never run", clock(*last))
	}
	p.because(ahead, half, s)
}

// expires is when the job is cancelled if it has not begun; nil: it waits for as long as it takes.
func expires(s view.Submission, now time.Time) *time.Time {
	if s.NotAfterIn != nil {
		at := now.Add(*s.NotAfterIn)
		return &at
	}
	return s.NotAfter
}

func (p *Promise) no(format string, args ...any) {
	p.Reasons = append(p.Reasons, fmt.Sprintf(format, args...))
}

// because says what stands before the job.
func (p *Promise) because(ahead view.Ahead, half map[lock.ID]lock.Span, s view.Submission) {
	me, job := half[mine], ahead.Coming[len(ahead.Coming)-1]
	if takes := me.End.Sub(me.Start); takes > p.By.Sub(ahead.Now) {
		p.no("such a job takes about %s, and %s are left", span(takes.Seconds()), span(p.By.Sub(ahead.Now).Seconds()))
	} else if job.At.Add(takes).After(p.By) {
		p.no("it may begin at %s at the earliest, and takes about %s", clock(job.At), span(takes.Seconds()))
	}
	before := map[string]int{}
	for _, j := range ahead.Jobs {
		if j.Holds {
			locks, err := lock.ParseAll(j.Locks, nil)
			if conflict, what := lock.Conflicts(job.Locks, locks); err == nil && conflict {
				p.no("job %d (%s) holds %s until about %s", j.Job, j.Type, what.Holds.Text(), clock(half[j.Job].End))
			}
			continue
		}
		if span, runs := half[j.Job]; runs && span.Start.Before(me.Start) {
			before[j.Type]++
		}
	}
	for _, c := range ahead.Coming {
		if span, runs := half[c.ID]; runs && c.ID != mine && span.Start.Before(me.Start) {
			before[c.Type]++
		}
	}
	types := slices.SortedFunc(maps.Keys(before), func(x, y string) int {
		return cmp.Or(cmp.Compare(before[y], before[x]), cmp.Compare(x, y))
	})
	for _, typ := range types[:min(3, len(types))] {
		p.no("%d jobs of type %s start before it", before[typ], typ)
	}
	if n := ahead.Max[string(s.Type)]; n > 0 && before[string(s.Type)] > 0 {
		p.no("at most %d jobs of type %s run at once", n, s.Type)
	}
	if len(p.Reasons) == 0 {
		p.no("it starts about %s, and may end too late", clock(me.Start))
	}
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// Lines say it to people.
func (p Promise) Lines() string {
	var b strings.Builder
	if p.Starts != nil {
		fmt.Fprintf(&b, "starts about %s, ends about %s, very likely by %s\n", clock(*p.Starts), clock(*p.Ends), p.latest())
	}
	if p.Yes {
		fmt.Fprintf(&b, "certainty: %.0f %%, if jobs take as long as before and no job comes in between\n", 100*p.Certainty)
	}
	if e := p.PastError; e != nil {
		fmt.Fprintf(&b, "of %d earlier forecasts, half were off by at most %s, nine of ten by at most %s\n", e.Count, span(e.P50), span(e.P90))
	}
	for _, text := range slices.Concat(p.Reasons, p.Notes) {
		b.WriteString(text + "\n")
	}
	return b.String()
}

func (p Promise) latest() string {
	if p.Latest == nil {
		return "a time that is not known"
	}
	return clock(*p.Latest)
}
