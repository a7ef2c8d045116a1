package page

import (
	"fmt"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// runGrid is the last runs of a workflow: a column each, the newest at the right, with a square for each step.
type runGrid struct {
	Width, Height float64 // of the columns
	Names         float64 // the width of the names beside them
	Steps         []gridStep
	Runs          []gridRun
	Cells         []gridCell
}

type gridStep struct {
	Y    float64
	Name string
}

type gridRun struct {
	X, Y, H float64 // its bar: how long it took
	ID      int64
	State   string
	Says    string
}

type gridCell struct {
	X, Y  float64
	State string
	Job   scheduler.JobID
	Says  string
}

// The sizes of a grid.
const (
	gridCellSize = 18.0
	gridNames    = 130.0
	gridBars     = 44.0
)

// drawGrid draws the steps of runs, those of one name in one row. Values in, a picture out.
func drawGrid(rows []view.GridRow, now time.Time) runGrid {
	var g runGrid
	step, run := map[string]int{}, map[int64]int{}
	longest := time.Second
	lasted := func(r view.GridRow) time.Duration {
		if r.StartedAt == nil {
			return 0
		}
		if r.EndedAt == nil {
			return now.Sub(*r.StartedAt)
		}
		return r.EndedAt.Sub(*r.StartedAt)
	}
	for i := len(rows) - 1; i >= 0; i-- { // the newest run says in which order steps stand
		longest = max(longest, lasted(rows[i]))
	}
	for first := len(rows) - 1; first >= 0; {
		last := first
		for first >= 0 && rows[first].Run == rows[last].Run {
			first--
		}
		for _, r := range rows[first+1 : last+1] {
			if _, ok := step[r.Step]; !ok {
				step[r.Step] = len(g.Steps)
				g.Steps = append(g.Steps, gridStep{Y: gridBars + float64(len(g.Steps))*gridCellSize, Name: short(r.Step, 20)})
			}
		}
	}
	for _, r := range rows {
		x, ok := run[r.Run]
		if !ok {
			x = len(g.Runs)
			run[r.Run] = x
			took := lasted(r)
			h := 4 + (gridBars-10)*took.Seconds()/longest.Seconds()
			g.Runs = append(g.Runs, gridRun{X: gridNames + float64(x)*gridCellSize, Y: gridBars - 4 - h, H: h, ID: r.Run,
				State: r.Ended, Says: fmt.Sprintf("run %d %s, %s", r.Run, r.Ended, words.Took(took.Seconds()))})
		}
		state := string(r.State)
		if r.State == scheduler.Failed && r.Attempt == 0 {
			state = "not-run"
		}
		g.Cells = append(g.Cells, gridCell{X: gridNames + float64(x)*gridCellSize, Y: g.Steps[step[r.Step]].Y,
			State: state, Job: r.Job, Says: fmt.Sprintf("run %d: %s %s", r.Run, short(r.Step, 40), state)})
	}
	g.Names, g.Width = gridNames, float64(len(g.Runs))*gridCellSize
	g.Height = gridBars + float64(len(g.Steps))*gridCellSize
	return g
}
