package page

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// A list of jobs looks at so many rows, and has so many lines: jobs with one error are one line.
const (
	jobsMost   = 50
	jobsLooked = 200
	sortedMost = 1000 // of jobs in another order than the newest first
)

// The orders of a list. The newest first goes from page to page; the others are of the newest sortedMost jobs.
var jobOrders = []jobOrder{
	{"", "newest first", nil},
	{"oldest", "oldest first", func(a, b *view.JobRow) int { return cmp.Compare(a.ID, b.ID) }},
	{"longest", "longest first", func(a, b *view.JobRow) int { return cmp.Compare(lasted(b), lasted(a)) }},
	{"priority", "by priority", func(a, b *view.JobRow) int { return cmp.Compare(a.Priority, b.Priority) }},
	{"type", "by type", func(a, b *view.JobRow) int { return cmp.Compare(a.Type, b.Type) }},
}

type jobOrder struct {
	Name, Says string
	by         func(a, b *view.JobRow) int
}

// lasted is how long a job has run, or ran; negative: it has not begun.
func lasted(j *view.JobRow) time.Duration {
	switch {
	case j.StartedAt == nil:
		return -1
	case j.EndedAt == nil:
		return time.Since(*j.StartedAt)
	}
	return j.EndedAt.Sub(*j.StartedAt)
}

// jobLine is a line of the list: a job, or several that failed with one error, of which it shows the newest.
type jobLine struct {
	view.JobRow
	Also  []scheduler.JobID // the others
	Given string            // its arguments, where the list has nothing else to say
}

// neverRan reports whether a job failed since one that it needs did.
func neverRan(j *view.JobRow) bool {
	return j.State == scheduler.Failed && j.Attempt == 0 && j.Error != nil && strings.Contains(*j.Error, ", which it needs, ")
}

// NotRun is neverRan, for templates.
func (l jobLine) NotRun() bool { return neverRan(&l.JobRow) }

// WaitsFor is what it waits for: the words of a code (bellhop.causes).
func (l jobLine) WaitsFor() string {
	code, detail, more := strings.Cut(clean(words.Text(l.WaitingFor)), ":")
	if code = strings.ReplaceAll(code, "_", " "); more {
		return code + ":" + detail
	}
	return code
}

// Took is how long it took, or has taken so far.
func (l jobLine) Took() string {
	if l.State == scheduler.Running || l.State.Final() {
		return took(l.StartedAt, l.EndedAt)
	}
	return ""
}

// Attempts tells of more than one; empty: there was one, and no more may be.
func (l jobLine) Attempts() string {
	if l.Attempt > 1 || l.MaxAttempts > 1 {
		return words.Number(&l.Attempt) + "/" + words.Number(&l.MaxAttempts)
	}
	return ""
}

// columns are those of a list in which something stands.
type columns struct{ Key, Priority, Took, Attempts, Where bool }

func columnsOf(lines []jobLine) (c columns) {
	for i := range lines {
		l := &lines[i]
		c.Key = c.Key || l.Key != nil
		c.Priority = c.Priority || l.Priority != 0
		c.Took = c.Took || l.Took() != ""
		c.Attempts = c.Attempts || l.Attempts() != ""
		c.Where = c.Where || l.Host != nil
	}
	return c
}

// number is what differs between errors that are one.
var number = regexp.MustCompile(`[0-9]+`)

// foldJobs makes lines of jobs, at most so many: those of one type that failed with one error, numbers aside, are one
// line from the third on. It tells how many of the rows are in the lines; each: none are put together.
func foldJobs(rows []view.JobRow, most int, each bool) (lines []jobLine, taken int) {
	type cause struct {
		typ   scheduler.TypeName
		state scheduler.JobState
		error string
	}
	of := func(j *view.JobRow) (c cause, ok bool) {
		if each || j.Error == nil || j.State != scheduler.Failed && j.State != scheduler.Quarantined {
			return c, false
		}
		if neverRan(j) { // the cause is a line of its own
			return cause{j.Type, j.State, ""}, true
		}
		return cause{j.Type, j.State, number.ReplaceAllString(*j.Error, "#")}, true
	}
	count := map[cause]int{}
	for i := range rows {
		if c, ok := of(&rows[i]); ok {
			count[c]++
		}
	}
	at := map[cause]int{}
	for i := range rows {
		c, ok := of(&rows[i])
		if line, has := at[c]; ok && has {
			lines[line].Also = append(lines[line].Also, rows[i].ID)
			continue
		}
		if len(lines) == most {
			return lines, i
		}
		if ok && count[c] > 2 {
			at[c] = len(lines)
		}
		lines = append(lines, jobLine{JobRow: rows[i]})
	}
	return lines, len(rows)
}

// list fills in the lines of a filter's jobs: page by page, or in another order those of the newest.
func (d *jobsData) list(r *request, s view.JobFilter, below *int64) (next *int64, err error) {
	look := r.Look.UnfinishedOwn
	if r.may.Reads {
		look = r.Look.Unfinished
	}
	limit := jobsLooked
	i := slices.IndexFunc(jobOrders, func(o jobOrder) bool { return o.Name == d.Order })
	by := jobOrders[max(i, 0)].by
	if by != nil {
		limit, below = sortedMost, nil
	}
	rows, next, err := look(r, s, below, limit)
	if err != nil {
		return nil, err
	}
	lines, _ := foldJobs(rows, jobsMost, d.Each)
	if by == nil && next != nil && len(rows) == limit && len(lines) < jobsMost {
		more, after, err := look(r, s, next, sortedMost-limit) // most of these are a few lines: there is room for more
		if err != nil {
			return nil, err
		}
		rows, next, limit = append(rows, more...), after, sortedMost
	}
	d.Looked = next != nil && len(rows) < limit
	whole := below == nil && next == nil
	if by != nil {
		d.Among = len(rows)
		d.Some = next != nil
		slices.SortStableFunc(rows, func(a, b view.JobRow) int { return by(&a, &b) })
		next = nil
	}
	lines, taken := foldJobs(rows, jobsMost, d.Each)
	if by == nil && taken < len(rows) {
		last := int64(rows[taken-1].ID)
		next, d.Looked = &last, false
	}
	d.Lines, d.Has, d.Folded = lines, columnsOf(lines), taken > len(lines)
	listed := taken
	if whole {
		listed = len(rows)
	}
	return next, d.count(r, s, listed, whole, next != nil)
}

// count says how many jobs there are. Where more are left than the page has, only those of states are counted: by the
// indexes that hold these.
func (d *jobsData) count(r *request, s view.JobFilter, listed int, whole, more bool) error {
	if whole {
		d.Count = words.Counted(int64(listed), "job")
		return nil
	}
	finished := slices.Contains(s.States, scheduler.Succeeded) || slices.Contains(s.States, scheduler.Cancelled)
	if !r.may.Reads || finished || len(s.Types) > 0 || s.Key != "" || s.Error != "" || s.Run != nil ||
		s.CreatedAfter != nil || s.CreatedBefore != nil {
		switch {
		case !more:
			d.Count = words.Counted(int64(listed), "job") + " on this page"
		case listed > 0:
			d.Count = "more than " + words.Counted(int64(listed), "job")
		}
		return nil
	}
	waits, err := r.counts()
	if err != nil {
		return err
	}
	var n int64
	most := false
	for _, w := range waits {
		if len(s.States) == 0 || slices.Contains(s.States, w.State) {
			n, most = n+w.Jobs, most || w.Jobs >= view.CountMost
		}
	}
	d.Count = words.Counted(n, "job")
	if most {
		d.Count = words.Grouped(n) + "+ jobs"
	}
	return nil
}

// counts are the numbers of jobs in each state.
func (r *request) counts() ([]view.WaitRow, error) {
	return remembered(r.pages, r.who.Role, "counts", 3*time.Second, func() ([]view.WaitRow, error) {
		return r.Look.Waits(r)
	})
}

// countStates puts numbers to the states of the filter.
func (d *jobsData) countStates(r *request) error {
	waits, err := r.counts()
	if err != nil {
		return err
	}
	n, most := map[scheduler.JobState]int64{}, map[scheduler.JobState]bool{}
	for _, w := range waits {
		n[w.State] += w.Jobs
		most[w.State] = most[w.State] || w.Jobs >= view.CountMost
	}
	for i := range d.States {
		c := &d.States[i]
		switch c.State {
		case scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready, scheduler.Assigned,
			scheduler.Running, scheduler.Failed, scheduler.Quarantined:
			c.N = words.Grouped(n[c.State])
			if most[c.State] {
				c.N += "+"
			}
		}
	}
	return nil
}

// givenMost is how many characters of arguments a line shows.
const givenMost = 120

// given adds the arguments of the jobs of which the list has nothing else to say.
func (d *jobsData) given(r *request) error {
	if !r.may.Operates {
		return nil
	}
	var ids []scheduler.JobID
	bare := func(l *jobLine) bool { return l.Error == nil && l.WaitsFor() == "" && howFar(l.JobRow) == "" }
	for i := range d.Lines {
		if l := &d.Lines[i]; bare(l) {
			ids = append(ids, l.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	payloads, err := r.Look.Payloads(r, ids, givenMost)
	if err != nil {
		return err
	}
	for i := range d.Lines {
		if l := &d.Lines[i]; bare(l) {
			p := payloads[l.ID].Shown()
			l.Given = short(cmp.Or(words.Text(p.Args), words.Text(p.MSQ)), givenMost)
		}
	}
	return nil
}
