package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// typesMost is how many types with work or trouble the page lists; idleMost how many without.
const (
	typesMost = 100
	idleMost  = 500
)

type typesData struct {
	Busy    []typeRow
	Idle    []typeRow
	Find    string
	More    int // with work or trouble, and not listed
	MoreIdl int
}

// typeRow is a type at a glance: what waits, what runs, and what the last hour was like.
type typeRow struct {
	Type             scheduler.TypeName
	Ready, Running   int64
	Assigned         int64
	Age              float64 // of the job that is ready for longest, in seconds
	Done, Failed     int64   // within the hour
	Share            string  // of those that ended within the hour, as many failed
	WaitP50, WaitP99 time.Duration
	Measured         bool
	Served, Paused   bool
	Trouble          string // why no child of it comes up, on some host
	waits            sketch.Sketch
}

// ranks of a type in the list: what needs a look comes first.
func (t typeRow) rank() int {
	switch {
	case t.Trouble != "" || t.Paused || t.Ready > 0 && !t.Served:
		return 0
	case t.Ready > 0 || t.Assigned > 0 || t.Running > 0 || t.Failed > 0:
		return 1
	case t.Done > 0:
		return 2
	}
	return 3
}

// typeRows puts together what is known of each type, those in trouble first.
func typeRows(waits []view.WaitRow, history []view.HistoryRow, f fleet) []typeRow {
	at := map[scheduler.TypeName]*typeRow{}
	of := func(name scheduler.TypeName) *typeRow {
		if at[name] == nil {
			at[name] = &typeRow{Type: name}
		}
		return at[name]
	}
	for _, w := range waits {
		switch w.State {
		case scheduler.Ready:
			t := of(w.Type)
			t.Ready, t.Age = t.Ready+w.Jobs, max(t.Age, w.Age)
		case scheduler.Assigned:
			of(w.Type).Assigned += w.Jobs
		case scheduler.Running:
			of(w.Type).Running += w.Jobs
		}
	}
	for _, h := range history {
		t := of(h.Type)
		t.Done, t.Failed = t.Done+h.Succeeded, t.Failed+h.Failed
		t.waits.AddPairs(h.Wait)
	}
	for _, a := range f.Agents {
		t := of(a.Type)
		t.Served = true
		for _, trouble := range troubles(a, nil) {
			t.Trouble = trouble.Host + ": " + trouble.Reason
		}
	}
	for _, p := range f.Paused {
		if p.Type != "" {
			of(scheduler.TypeName(p.Type)).Paused = true
		}
	}
	rows := make([]typeRow, 0, len(at))
	for _, t := range at {
		t.WaitP50, t.Measured = t.waits.Quantile(0.5)
		t.WaitP99, _ = t.waits.Quantile(0.99)
		t.Share = share(t.Failed, t.Done+t.Failed)
		rows = append(rows, *t)
	}
	slices.SortFunc(rows, func(a, b typeRow) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Age, a.Age), cmp.Compare(b.Failed, a.Failed),
			cmp.Compare(b.Running+b.Assigned, a.Running+a.Assigned), cmp.Compare(b.Done, a.Done), cmp.Compare(a.Type, b.Type))
	})
	return rows
}

func types(r *request) (content, error) {
	rows, err := r.Look.Waits(r)
	if err != nil {
		return content{}, err
	}
	history, err := r.past(overviewMinutes)
	if err != nil {
		return content{}, err
	}
	f, err := r.fleet()
	if err != nil {
		return content{}, err
	}
	d := typesData{Find: strings.TrimSpace(r.query.Get("type"))}
	for _, t := range typeRows(rows, history, f) {
		switch {
		case !strings.Contains(strings.ToLower(string(t.Type)), strings.ToLower(d.Find)):
		case t.rank() == 3:
			d.Idle = append(d.Idle, t)
		default:
			d.Busy = append(d.Busy, t)
		}
	}
	d.More, d.MoreIdl = max(0, len(d.Busy)-typesMost), max(0, len(d.Idle)-idleMost)
	d.Busy, d.Idle = d.Busy[:len(d.Busy)-d.More], d.Idle[:len(d.Idle)-d.MoreIdl]
	return content{Title: "Types", Template: "types", Data: d}, nil
}
