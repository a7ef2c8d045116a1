package page

import (
	"cmp"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// overviewMinutes is how far back the overview's chart goes.
const overviewMinutes = 60

type overviewData struct {
	Ready, Running, Failing int64 // Failing: failed within the hour
	Slots, Children         int
	Oldest                  float64
	States                  []stateCount
	Served                  int64   // of those that are ready, as many as have an agent
	Rate                    float64 // jobs and items a second, lately
	EmptyIn                 float64 // seconds; 0: not known
	WaitP50, WaitP99        time.Duration
	Measured                bool
	In                      view.Arrivals
	Share                   string // of those that ended within the hour, as many failed
	Waits                   []waiting
	Reasons                 []wait
	ReasonsOthers           int // reasons that are left out
	Mend                    []mending
	MendOthers              int
	Failures                []failureGroup
	FailingMost             bool // there are more failures than were read
	Lanes                   []lane
	Chart                   chart
	Times                   []timeLane
	Others                  int // types that Times leaves out
	Coming                  []comingLane
	ComingOthers            int
	Instances               []view.InstanceRow
	Paused                  []view.PausedRow
}

type stateCount struct {
	State scheduler.JobState
	N     int64
}

// lane is a host, and what runs there.
type lane struct {
	view.HostRow
	Children []view.ChildRow
	Free     int
}

func overview(r *request) (content, error) {
	if !r.may.Reads { // of a submitter's jobs there is no more to be seen at a glance than the list of them
		return jobs(r)
	}
	d := overviewData{}
	rows, err := r.Look.Waits(r)
	if err != nil {
		return content{}, err
	}
	d.count(rows)
	if err := d.why(r); err != nil {
		return content{}, err
	}
	f, err := r.fleet()
	if err != nil {
		return content{}, err
	}
	d.Slots, d.Instances, d.Paused = f.Slots(), f.Instances, f.Paused
	children, err := r.Look.Children(r)
	if err != nil {
		return content{}, err
	}
	d.lanes(f, children)
	d.served(f)
	history, err := r.past(overviewMinutes)
	if err != nil {
		return content{}, err
	}
	d.measure(history, r.now)
	d.In, err = remembered(r.pages, r.who.Role, "arrivals", 5*time.Second, func() (view.Arrivals, error) {
		return r.Look.Arrivals(r, "")
	})
	if err != nil {
		return content{}, err
	}
	coming, err := remembered(r.pages, r.who.Role, "coming", 5*time.Second, func() ([]view.ComingRow, error) {
		return r.Look.Coming(r)
	})
	if err != nil {
		return content{}, err
	}
	d.Coming, d.ComingOthers = comingLanes(coming, r.now.Truncate(time.Minute))
	if err := d.fails(r); err != nil {
		return content{}, err
	}
	d.Share = failedShare(history, d.Failing)
	d.ReasonsOthers = max(0, len(d.Reasons)-waitsMost)
	d.Reasons = d.Reasons[:len(d.Reasons)-d.ReasonsOthers]
	found, err := r.found(foundGlance)
	d.Mend = slices.DeleteFunc(mendings(found.Findings), func(m mending) bool {
		return m.Code == "no_instance" && len(d.Instances) == 0 // the line above says it
	})
	d.MendOthers = max(0, len(d.Mend)-mendMost)
	d.Mend = d.Mend[:len(d.Mend)-d.MendOthers]
	return content{Title: "Overview", Template: "overview", Data: d}, err
}

// fails adds the failures of the last hour, those of one cause together.
func (d *overviewData) fails(r *request) error {
	rows, err := r.failedLately()
	n := int64(failedJobs(rows))
	d.Failing = max(d.Failing, n) // a minute is history when it is over
	d.FailingMost = n >= failuresMost && d.Failing <= n
	d.Failures = groupFailures(rows)
	d.Failures = d.Failures[:min(len(d.Failures), 5)]
	return err
}

// count takes the queue: how many jobs are in each state, and the types that wait, the longest first.
func (d *overviewData) count(rows []view.WaitRow) {
	states := map[scheduler.JobState]int64{}
	for _, w := range rows {
		states[w.State] += w.Jobs
		if w.State == scheduler.Ready {
			d.Waits = append(d.Waits, waiting{WaitRow: w})
			d.Oldest = max(d.Oldest, w.Age)
		}
	}
	d.Ready, d.Running = states[scheduler.Ready], states[scheduler.Running]
	for _, s := range []scheduler.JobState{scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Assigned,
		scheduler.Failed, scheduler.Quarantined} {
		d.States = append(d.States, stateCount{s, states[s]})
	}
	slices.SortStableFunc(d.Waits, func(a, b waiting) int { return cmp.Compare(b.Age, a.Age) })
}

// served counts the ready jobs of types that an agent has and no operator has paused. It leaves out a
// type whose first job is stuck: when that one starts, and so the pace of the others, nothing tells.
func (d *overviewData) served(f fleet) {
	types := map[string]bool{}
	for _, a := range f.Agents {
		types[string(a.Type)] = true
	}
	for _, p := range f.Paused {
		if p.Type == "" {
			return
		}
		delete(types, p.Type)
	}
	for _, w := range d.Waits {
		if types[string(w.Type)] && (w.Reason == nil || !w.Reason.Stuck) {
			d.Served += w.Jobs
		}
	}
}

// lanesMost is how many children of a host the overview shows.
const lanesMost = 24

func (d *overviewData) lanes(f fleet, children []view.ChildRow) {
	for _, h := range f.Hosts {
		l := lane{HostRow: h}
		live := 0
		for _, c := range children {
			if c.Host == h.Name && c.Instance == h.Instance && c.State != "FREE" {
				if c.State != "FAIL" { // a type that rests has no process, and takes no slot
					live++
				}
				if len(l.Children) < lanesMost {
					l.Children = append(l.Children, c)
				}
			}
		}
		more := max(0, h.Taken-h.Children) // of children that take several slots
		l.HostRow.Children = live
		l.Free = max(0, h.Slots-live-more)
		d.Children += live
		d.Lanes = append(d.Lanes, l)
	}
}

// measure makes the chart, and the pace of late.
func (d *overviewData) measure(history []view.HistoryRow, now time.Time) {
	var waits sketch.Sketch
	this := now.Truncate(time.Minute)
	var done int64
	late := time.Time{}
	for _, h := range history {
		d.Failing += h.Failed
		waits.AddPairs(h.Wait)
		if h.Minute.Equal(this) { // it is not over: it tells nothing of the pace yet
			continue
		}
		if h.Minute.After(late) {
			late, done = h.Minute, 0
		}
		if h.Minute.Equal(late) {
			done += h.Succeeded + h.Failed
		}
	}
	if now.Sub(late) < 3*time.Minute {
		d.Rate = float64(done) / 60
		if d.Served > 0 && d.Served < view.CountMost && d.Rate > 0 {
			d.EmptyIn = float64(d.Served) / d.Rate
		}
	}
	d.WaitP50, d.Measured = waits.Quantile(0.5)
	d.WaitP99, _ = waits.Quantile(0.99)
	from := this.Add(-(overviewMinutes - 1) * time.Minute)
	d.Chart = barChart(history, from, overviewMinutes, time.Minute)
	d.Times, d.Others = timeLanes(history, from, overviewMinutes)
}
