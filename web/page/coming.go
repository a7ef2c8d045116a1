package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// comingMinutes is how far the overview looks ahead.
const comingMinutes = 60

// comingLane is a type, or a workflow, and when the clock starts something of it.
type comingLane struct {
	Type     scheduler.TypeName // empty: it is a workflow
	Workflow string
	N        int64
	First    time.Time
	Pieces   []timePiece
	Says     string // the same as text, for screen readers
}

// At is when the first of it starts.
func (l comingLane) At() string { return l.First.UTC().Format("15:04") }

// comingLanes are what starts in the minutes from a time on, the soonest first, and how many there are besides.
func comingLanes(rows []view.ComingRow, from time.Time) (lanes []comingLane, others int) {
	type lane struct {
		workflow bool
		name     string
	}
	at := map[lane][]view.ComingRow{}
	for _, r := range rows {
		if r.Minute.Before(from) { // it was said some seconds ago, or the clocks differ
			r.Minute = from
		}
		if r.Minute.Sub(from) < comingMinutes*time.Minute {
			k := lane{r.Workflow, r.Name}
			at[k] = append(at[k], r)
		}
	}
	const step = float64(chartWidth) / comingMinutes
	for k, list := range at {
		slices.SortFunc(list, func(a, b view.ComingRow) int { return a.Minute.Compare(b.Minute) })
		l := comingLane{Type: scheduler.TypeName(k.name), First: list[0].Minute}
		if k.workflow {
			l.Type, l.Workflow = "", k.name
		}
		most := slices.MaxFunc(list, func(a, b view.ComingRow) int { return cmp.Compare(a.N, b.N) }).N
		for _, r := range list {
			l.N += r.N
			l.Pieces = append(l.Pieces, timePiece{
				X:    float64(r.Minute.Sub(from)/time.Minute) * step,
				W:    step,
				Busy: int((r.N*4 + most - 1) / most),
				Says: r.Minute.UTC().Format("15:04") + ": " + starts(r.N, k.workflow),
			})
		}
		l.Says = fmt.Sprintf("%s: %s within the hour, the first at %s", clean(k.name), starts(l.N, k.workflow),
			l.At())
		lanes = append(lanes, l)
	}
	slices.SortFunc(lanes, func(a, b comingLane) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Workflow, b.Workflow))
	})
	others = max(0, len(lanes)-timeLanesMost)
	return lanes[:len(lanes)-others], others
}

// starts says how much begins.
func starts(n int64, workflow bool) string {
	if workflow {
		return words.Counted(n, "run")
	}
	return words.Counted(n, "job")
}
