package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// Runs of a workflow, and of all: a page shows so many.
const runsMost = 50

type workflowsData struct {
	Workflows []workflowLine
	Runs      []view.RunRow
}

func workflows(r *request) (content, error) {
	var d workflowsData
	list, err := r.Look.Workflows(r, view.WorkflowFilter{})
	if err != nil {
		return content{}, err
	}
	if len(list) > 0 {
		last, err := r.Look.LastRuns(r)
		if err != nil {
			return content{}, err
		}
		d.Workflows = workflowLines(list, last)
		if d.Runs, err = r.Look.Runs(r, nil, nil, runsMost/2); err != nil {
			return content{}, err
		}
	}
	return content{Title: "Workflows", Template: "workflows", Data: d}, nil
}

// workflowLine is a workflow in the list, with its last runs, the oldest first.
type workflowLine struct {
	view.WorkflowRow
	Last []view.LastRunRow
}

// trouble ranks what needs a look first.
func (l workflowLine) trouble() int {
	state := words.Text(l.State)
	switch {
	case l.Problem != nil:
		return 0
	case l.Active && state == "failed":
		return 1
	case state == "running" || state == "queued":
		return 2
	case l.Active:
		return 3
	}
	return 4
}

// workflowLines puts the last runs to their workflows, those in trouble first.
func workflowLines(list []view.WorkflowRow, last []view.LastRunRow) []workflowLine {
	of := map[string][]view.LastRunRow{}
	for _, r := range last {
		of[r.Workflow] = append(of[r.Workflow], r)
	}
	lines := make([]workflowLine, len(list))
	for i, w := range list {
		lines[i] = workflowLine{w, of[w.Name]}
	}
	slices.SortStableFunc(lines, func(a, b workflowLine) int { return cmp.Compare(a.trouble(), b.trouble()) })
	return lines
}

type workflowData struct {
	view.WorkflowRow
	Runs       []view.RunRow
	Versions   []view.VersionRow
	Reasons    []view.ReasonRow // what starts it, and what keeps it from being started
	Definition string
	Address    string
	Shapes     shapes // of the newest run that has steps
	Drawn      bool
	Last       int64 // that run
	Grid       runGrid
}

// Starts says what starts it.
func (d workflowData) Starts() string { return startedBy(d.WorkflowRow) }

// draw draws the steps of the newest run that was not skipped.
func (d *workflowData) draw(r *request) error {
	i := slices.IndexFunc(d.Runs, func(run view.RunRow) bool { return run.State != "skipped" && run.State != "queued" })
	if i < 0 {
		return nil
	}
	steps, err := r.Look.Steps(r, d.Runs[i].ID)
	if err != nil {
		return err
	}
	of := runData{RunRow: d.Runs[i], ends: map[scheduler.JobID]bool{}}
	for _, s := range steps {
		if s.Step != nil {
			of.Steps = append(of.Steps, s)
		}
	}
	if len(of.Steps) == 0 {
		return nil
	}
	if err := of.draw(r); err != nil {
		return err
	}
	d.Shapes, d.Drawn, d.Last = of.Shapes, of.Drawn, of.ID
	return nil
}

func workflow(r *request) (content, error) {
	d := workflowData{Address: r.pages.Address}
	list, err := r.Look.Workflows(r, view.WorkflowFilter{Names: view.Exactly(r.arg)})
	if err != nil {
		return content{}, err
	}
	if len(list) == 0 {
		return content{}, errNotFound
	}
	d.WorkflowRow = list[0]
	if d.Runs, err = r.Look.Runs(r, &d.Name, nil, runsMost); err != nil {
		return content{}, err
	}
	if err := d.draw(r); err != nil {
		return content{}, err
	}
	grid, err := r.Look.Grid(r, d.Name)
	if err != nil {
		return content{}, err
	}
	d.Grid = drawGrid(grid, r.now)
	if d.Versions, err = r.Look.Versions(r, d.Name); err != nil {
		return content{}, err
	}
	slices.Reverse(d.Versions)
	if d.Reasons, err = r.Look.ExplainWorkflow(r, d.Name); err != nil {
		return content{}, err
	}
	d.Reasons = slices.DeleteFunc(d.Reasons, func(why view.ReasonRow) bool { // the line below the name says it
		return why.Code == "next_slot" && d.NextFire != nil
	})
	if r.may.Operates { // it has what its jobs are given
		version, ok, err := r.Look.Version(r, d.Name, d.Version)
		if err != nil {
			return content{}, err
		}
		if ok {
			d.Definition = indented(version.Definition)
		}
	}
	return content{Title: d.Name, Template: "workflow", Data: d}, nil
}

type runData struct {
	view.RunRow
	Steps   []view.StepRow
	Shapes  shapes
	Drawn   bool
	CanTry  bool
	Ended   int // of the steps
	Address string
	Rows    []stepRow
	Usual   string                   // how long a run takes as a rule; empty: not known
	Cause   *stepRow                 // the step that failed first; nil: none did
	Said    []view.LogRow            // its last words
	ends    map[scheduler.JobID]bool // jobs where the run begins and ends
	follow  map[scheduler.JobID]int64
	victims map[scheduler.JobID]bool // steps that failed since one that they need did
}

// FromHere is what stands on the button at a step.
func (d runData) FromHere(step scheduler.JobID) string { return fromHereButton(d.follow[step], false) }

func run(r *request) (content, error) {
	id, err := strconv.ParseInt(r.arg, 10, 64)
	if err != nil || id <= 0 {
		return content{}, errNotFound
	}
	runs, err := r.Look.Runs(r, nil, &id, 1)
	if err != nil {
		return content{}, err
	}
	if len(runs) == 0 {
		return content{}, errNotFound
	}
	d := runData{RunRow: runs[0], ends: map[scheduler.JobID]bool{}, Address: r.pages.Address}
	steps, err := r.Look.Steps(r, id)
	if err != nil {
		return content{}, err
	}
	for _, s := range steps {
		if s.Step == nil { // where a run begins and ends
			d.ends[s.Job] = true
			continue
		}
		d.Steps = append(d.Steps, s)
		if s.State.Final() {
			d.Ended++
		}
	}
	if len(d.Steps) > 0 {
		d.CanTry = d.State == "failed"
		if err := d.draw(r); err != nil {
			return content{}, err
		}
		if err := d.place(r); err != nil {
			return content{}, err
		}
	}
	return content{Title: "Run " + r.arg, Template: "run", Data: d}, nil
}

// place adds when each step ran, how long that takes as a rule, and what the step that failed said.
func (d *runData) place(r *request) error {
	key := fmt.Sprintf("usual of run %d", d.ID)
	usual, err := remembered(r.pages, r.who.Role, key, time.Minute, func() (map[string]float64, error) {
		return usually(r, d.RunRow)
	})
	if err != nil {
		return err
	}
	if u, ok := usual[""]; ok {
		d.Usual = words.Took(u)
	}
	d.Rows = stepRows(d.Steps, d.victims, usual, r.now)
	return d.failedFirst(r)
}

// draw draws the steps, under their names.
func (d *runData) draw(r *request) error {
	g, err := r.Look.Graph(r, d.Steps[0].Job, graphMost)
	if err != nil {
		return err
	}
	names := map[scheduler.JobID]*string{}
	for _, s := range d.Steps {
		names[s.Job] = s.Step
	}
	for _, n := range g.Nodes { // the last of a run is none of its steps
		if names[n.ID] == nil && n.Type == "dummy" {
			d.ends[n.ID] = true
		}
	}
	if len(g.Nodes) < graphMost { // else there are jobs behind these that are not among them
		d.follow = followers(g, d.ends)
	}
	d.victims = notRun(g)
	kept := g.Nodes[:0]
	for _, n := range g.Nodes {
		if name, ok := names[n.ID]; ok {
			n.Key = name
			kept = append(kept, n)
		}
	}
	g.Nodes = kept
	d.Shapes, d.Drawn = draw(g, 0, longestOpen(g)), len(kept) > 0
	return nil
}
