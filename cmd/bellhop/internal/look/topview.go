package look

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// topView is one look at the whole system.
type topView struct {
	At        time.Time          `json:"at"`
	Instances []view.InstanceRow `json:"instances"`
	Hosts     []view.HostRow     `json:"hosts"`
	Children  []view.ChildRow    `json:"children"`
	Jobs      []view.JobRow      `json:"jobs"` // that run, or wait for their child
	Queue     []view.QueueRow    `json:"queue"`
	Locks     []view.LockHead    `json:"locks"`
	Shares    []view.ShareHead   `json:"shares"` // the keys of shares that matter now
	// Rates are lines finished a second, by type, in the last ten seconds; nil on the first look.
	Rates map[scheduler.TypeName]float64 `json:"rates"`
}

// topType is a type's line.
type topType struct {
	ready, assigned, running int64
	why                      string
}

// tally counts the jobs of the queue, by type and by state.
type tally struct {
	types  map[scheduler.TypeName]*topType
	states map[scheduler.JobState]int64
	rate   float64 // of all types; below 0: it is not known yet
}

func (v topView) tally() tally {
	n := tally{types: map[scheduler.TypeName]*topType{}, states: map[scheduler.JobState]int64{}, rate: -1}
	of := func(t scheduler.TypeName) *topType {
		if n.types[t] == nil {
			n.types[t] = &topType{}
		}
		return n.types[t]
	}
	for _, q := range v.Queue {
		n.states[q.State] += q.Jobs
		switch q.State {
		case "ready":
			of(q.Type).ready, of(q.Type).why = q.Jobs, q.Why
		case "assigned":
			of(q.Type).assigned = q.Jobs
		case "running":
			of(q.Type).running = q.Jobs
		}
	}
	if v.Rates != nil {
		n.rate = 0
		for t, rate := range v.Rates {
			n.rate += rate
			of(t)
		}
	}
	return n
}

// frame is the look as lines, none longer than width (0: as long as they are)
// and no more than height (0: all).
func (v topView) frame(width, height int) []string {
	n := v.tally()
	var lines []string
	add := func(text string) { lines = append(lines, cli.Cut(cli.Clean(text), width)) }
	add(v.head(n, width))
	counts := []string{cli.Counted(int64(len(v.Instances)), "instance")}
	for _, state := range []scheduler.JobState{ // what wants a look first
		scheduler.Failed, scheduler.Quarantined, scheduler.Held, scheduler.Blocked, scheduler.Scheduled,
		scheduler.Assigned,
	} {
		if jobs := n.states[state]; jobs > 0 {
			counts = append(counts, fmt.Sprintf("%s %d", state, jobs))
		}
	}
	add(strings.Join(counts, "  "))
	if len(v.Instances) == 0 {
		add(NoInstance)
	}
	barWidth := 20
	if width > 0 {
		barWidth = max(4, min(20, width/4))
	}
	for _, t := range []cli.Table{
		v.hostTable(barWidth), v.typeTable(n), v.shareTable(), v.lockTable(), v.jobTable(barWidth), v.childTable(),
	} {
		if len(t.Rows) == 0 {
			continue
		}
		lines = append(lines, "")
		for line := range strings.Lines(t.Fitted(width)) {
			add(strings.TrimRight(line, " \n"))
		}
	}
	if height > 0 && len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], cli.Cut(fmt.Sprintf("… %d lines more", more), width))
	}
	return lines
}

// head is the first line, or its short form if it does not fit.
func (v topView) head(n tally, width int) string {
	slots, live := 0, 0
	for _, h := range v.Hosts {
		slots, live = slots+h.Slots, live+h.Children
	}
	head := fmt.Sprintf("bellhop  %s  %s  running %d  ready %d  children %d/%d", v.At.Format(time.TimeOnly),
		rateWords(n.rate), n.states["running"], n.states["ready"], live, slots)
	if width > 0 && len(head) > width {
		head = fmt.Sprintf("bellhop %s  running %d  ready %d",
			v.At.Format("15:04"), n.states["running"], n.states["ready"])
	}
	return head
}

func (v topView) hostTable(barWidth int) cli.Table {
	t := cli.Table{Header: []string{"HOST", "SLOTS", "FULL", "RUNNING"}}
	for _, h := range v.Hosts {
		taken := max(h.Taken, h.Children)
		t.Add(h.Name, fmt.Sprintf("%d/%d", taken, h.Slots), bar(taken, h.Slots, barWidth), h.Running)
	}
	return t
}

func (v topView) typeTable(n tally) cli.Table {
	t := cli.Table{Header: []string{"TYPE", "READY", "ASSIGNED", "RUNNING", "PACE", "WAITS FOR"}}
	for _, name := range slices.Sorted(maps.Keys(n.types)) {
		rate, of := -1.0, n.types[name]
		if v.Rates != nil {
			rate = v.Rates[name]
		}
		t.Add(name, of.ready, of.assigned, of.running, rateWords(rate), of.why)
	}
	return t
}

func (v topView) lockTable() cli.Table {
	t := cli.Table{Header: []string{"LOCK", "HELD BY", "FOR", "WAIT", "OLDEST"}}
	for _, l := range v.Locks {
		t.Add(lockRow(l)...)
	}
	return t
}

// shareTable is the keys of shares that run and wait most, and behind those of a type how many others there are.
func (v topView) shareTable() cli.Table {
	t := cli.Table{Header: []string{"TYPE", "SHARE", "WEIGHT", "WAITING", "RUNNING"}}
	shown := int64(0)
	for i, s := range v.Shares {
		waiting := strconv.FormatInt(s.Waiting, 10)
		if s.Waiting >= 1000 {
			waiting = "1000 or more"
		}
		t.Add(s.Type, s.Name, s.Weight, waiting, s.Running)
		if shown++; i+1 < len(v.Shares) && v.Shares[i+1].Type == s.Type {
			continue
		}
		if more := s.Keys - shown; more > 0 {
			words := cli.Counted(more, "more key")
			if s.Keys >= view.ShareKeysMost { // there may be keys that were not looked at
				words += " or more"
			}
			t.Add(s.Type, "… "+words, "", "", "")
		}
		shown = 0
	}
	return t
}

func (v topView) childTable() cli.Table {
	t := cli.Table{Header: []string{"CHILD", "STATE", "FOR", "JOB", "DONE", "DEATHS", "HOST"}}
	for _, c := range v.Children {
		t.Add(c.Name, c.State, cli.Age(c.Age), c.Job, c.Done, c.Deaths, c.Host)
	}
	return t
}

// only leaves what has a text in its type, or its name.
func (v topView) only(text string) topView {
	if text == "" {
		return v
	}
	keep := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(n, text) {
				return true
			}
		}
		return false
	}
	shown := v
	shown.Queue, shown.Children, shown.Jobs, shown.Rates, shown.Shares = nil, nil, nil, nil, nil
	for _, q := range v.Queue {
		if keep(string(q.Type)) || q.Type == "" {
			shown.Queue = append(shown.Queue, q)
		}
	}
	for _, c := range v.Children {
		if keep(string(c.Type), string(c.Name), c.Host) {
			shown.Children = append(shown.Children, c)
		}
	}
	for _, j := range v.Jobs {
		if keep(string(j.Type), cli.Text(j.Key), fmt.Sprint(j.ID), cli.Text(j.Child)) {
			shown.Jobs = append(shown.Jobs, j)
		}
	}
	for _, s := range v.Shares {
		if keep(string(s.Type), s.Name) {
			shown.Shares = append(shown.Shares, s)
		}
	}
	if v.Rates != nil {
		shown.Rates = map[scheduler.TypeName]float64{}
		for t, rate := range v.Rates {
			if keep(string(t)) {
				shown.Rates[t] = rate
			}
		}
	}
	return shown
}

// lockRow is a lock's line: its holder, and how many jobs wait.
func lockRow(l view.LockHead) []any {
	by, span, oldest := "-", "-", "-"
	if l.Job != 0 {
		by, span = fmt.Sprintf("job %d, %s", l.Job, l.Mode), cli.Age(*l.Held)
	}
	if l.Holders > 1 {
		by = fmt.Sprintf("%d jobs, %s", l.Holders, l.Mode)
	}
	waiting := strconv.FormatInt(l.Waiting, 10)
	if l.Waiting >= 1000 {
		waiting = "1000 or more"
	}
	if l.Oldest != nil {
		oldest = cli.Age(*l.Oldest)
	}
	return []any{l.Level + ":" + l.Name, by, span, waiting, oldest}
}

// jobTable is the jobs that run, the longest first.
func (v topView) jobTable(barWidth int) cli.Table {
	t := cli.Table{Header: []string{"JOB", "OF", "STATE", "FOR", "PROGRESS", "CHILD", "SAYS"}}
	jobs := slices.Clone(v.Jobs)
	child := map[int64]string{} // the row of a job that runs does not name it yet
	for _, c := range v.Children {
		if c.Job != nil {
			child[*c.Job] = string(c.Name)
		}
	}
	slices.SortStableFunc(jobs, func(a, b view.JobRow) int { return began(a).Compare(began(b)) })
	for _, j := range jobs {
		far := progress(j)
		if j.Progress != nil && !j.IsMSQ {
			far = bar(int(*j.Progress*1000), 1000, barWidth/2)
			far += fmt.Sprintf(" %.0f %%", 100**j.Progress)
		}
		t.Add(j.ID, j.Type, strings.ToUpper(string(j.State)), cli.Age(max(0, v.At.Sub(began(j)).Seconds())), far,
			cmp.Or(cli.Text(j.Child), child[int64(j.ID)]), j.ProgressText)
	}
	return t
}

// began is when a job's run did, as far as its row tells.
func began(j view.JobRow) time.Time {
	if j.StartedAt != nil {
		return *j.StartedAt
	}
	return j.CreatedAt
}
