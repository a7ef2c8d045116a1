package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/sql/view"
	"bellhop/verb"
)

// SeenRun is a run and what became of its steps.
type SeenRun struct {
	view.RunRow
	Steps []view.StepRow `json:"steps" nullable:"false"`
}

// Run is a run that was started.
type Run struct {
	Run int64 `json:"run"`
}

// RunOrder is how a run is started by hand.
type RunOrder struct {
	Parameters map[string]string `json:"parameters,omitempty"`
	Steps      []string          `json:"steps,omitempty"      doc:"Only these steps; none: all"`
	From       string            `json:"from,omitempty"       doc:"This step, and all steps that need it"`
	Event      *string           `json:"event,omitempty"      doc:"A skipped event: its parameters become the run's, except for those given here" maxLength:"200"`
}

// RunWords say which runs are listed.
type RunWords struct {
	Workflow      string    `query:"workflow" maxLength:"100" doc:"Only of this workflow"`
	Name          []string  `query:"name,explode" maxItems:"100" doc:"Only of workflows with these names, whatever the case; * stands for any letters, ? for one letter; repeatable"`
	Project       string    `query:"project" maxLength:"1000" doc:"Of workflows of this project"`
	State         []string  `query:"state,explode" maxItems:"5" enum:"queued,running,succeeded,failed,skipped" doc:"Repeatable"`
	By            []string  `query:"by,explode" maxItems:"100" doc:"Triggered by this login, or this sensor, such as sensor*; repeatable"`
	CreatedAfter  time.Time `query:"created_after" doc:"Created then, or later"`
	CreatedBefore time.Time `query:"created_before"`
	Below         int64     `query:"below" minimum:"0" doc:"Older than this run: the last of a page leads to the next"`
	Limit         int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (w *RunWords) filter() view.RunFilter {
	f := view.RunFilter{Names: view.Like(w.Name), States: w.State, By: view.Like(w.By)}
	if w.Workflow != "" {
		f.Workflow = &w.Workflow
	}
	if w.Project != "" {
		f.Project = &w.Project
	}
	if !w.CreatedAfter.IsZero() {
		f.Since = &w.CreatedAfter
	}
	if !w.CreatedBefore.IsZero() {
		f.Until = &w.CreatedBefore
	}
	if w.Below > 0 {
		f.Below = &w.Below
	}
	return f
}

// Event is something that has happened, and starts a run, once.
type Event struct {
	_ struct{} `additionalProperties:"true"`

	Event      string            `json:"event,omitempty"      minLength:"1" maxLength:"200" doc:"Its name: the same name again is the same event. If the workflow's sensor is http and a header of the request is the name, the body is any object; its fields are the workflow's parameters"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Posted is an event as it comes in.
type Posted struct {
	WorkflowWord
	Key     string `header:"Idempotency-Key" maxLength:"1000" doc:"The name of the event, if the workflow's sensor is http and its event names no other header"`
	Body    Event
	RawBody []byte
	header  func(string) string
}

// Resolve keeps the headers: which of them names the event is the workflow's to say.
func (p *Posted) Resolve(c huma.Context) []error {
	p.header = c.Header
	return nil
}

// tell is whether the event is new; nil: there is no such workflow, or it is not active.
func (p *Posted) tell(ctx context.Context, l view.Look) (*bool, error) {
	header, err := l.EventHeader(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	event := ""
	if header != nil {
		event = p.header(*header)
	}
	if event != "" || p.Body.Event == "" {
		return l.Posted(ctx, p.Name, event, p.RawBody)
	}
	text, err := json.Marshal(p.Body.Parameters)
	if err != nil {
		return nil, err
	}
	if p.Body.Parameters == nil {
		text = []byte("{}")
	}
	return l.Happened(ctx, p.Name, p.Body.Event, text)
}

// Fresh is whether an event is new.
type Fresh struct {
	New bool `json:"new"`
}

// pastEvents is the route that lists what has happened to a workflow.
func (a *API) pastEvents() {
	type words struct {
		WorkflowWord
		State string `query:"state" enum:"waiting,queued,running,succeeded,failed,skipped" doc:"Events whose run is in this state; waiting: events without a run yet"`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
	}
	read(a, workflowOp(http.MethodGet, "/{name}/events", reader, "List the events of a workflow, the newest first, and their runs"),
		func(ctx context.Context, l view.Look, in *words) ([]view.EventRow, error) {
			var state *string
			if in.State != "" {
				state = &in.State
			}
			rows, err := l.Workflows(ctx, view.WorkflowFilter{Names: view.Exactly(in.Name)})
			if err == nil && len(rows) == 0 {
				err = in.missing()
			}
			if err != nil {
				return nil, err
			}
			return l.Events(ctx, in.Name, state, in.Limit)
		})
}

// runs are the routes of runs, and what starts them.
func (a *API) runs() {
	op := doing("run", http.StatusConflict, http.StatusNotFound)
	op.DefaultStatus = http.StatusCreated
	change(a, op, startRun)
	change(a, workflowOp(http.MethodPost, "/{name}/events", submitter, "Report an event that starts a workflow, once",
		http.StatusConflict),
		func(ctx context.Context, l view.Look, in *Posted) (*body[Fresh], error) {
			fresh, err := in.tell(ctx, l)
			if err == nil && fresh == nil {
				err = in.missing()
			}
			if err != nil {
				return nil, err
			}
			return &body[Fresh]{Fresh{*fresh}}, nil
		})
	a.pastEvents()
	read(a, operation(http.MethodGet, "/runs", reader, "workflows", "List runs, the newest first, that match all filters"),
		func(ctx context.Context, l view.Look, in *RunWords) ([]view.RunRow, error) {
			f := in.filter()
			if f.Workflow != nil && reflect.DeepEqual(f, view.RunFilter{Workflow: f.Workflow}) { // an index has these
				return l.Runs(ctx, f.Workflow, nil, in.Limit)
			}
			return l.FindRuns(ctx, f, in.Limit)
		})
	read(a, operation(http.MethodGet, "/runs/{id}", reader, "workflows", "Show a run and its steps", http.StatusNotFound),
		showRun)
	change(a, doing("rerun", http.StatusNotFound, http.StatusConflict), retryRun)
}

type starting struct {
	WorkflowWord
	Body RunOrder
}

func startRun(ctx context.Context, l view.Look, in *starting) (*body[Run], error) {
	by := view.ByHand{Parameters: in.Body.Parameters, Steps: in.Body.Steps, Event: in.Body.Event}
	out, err := verb.Do(ctx, l, "run", verb.In{Name: in.Name, From: in.Body.From, By: by})
	return &body[Run]{Run{out.ID}}, err
}

// runWord names a run.
type runWord struct {
	ID int64 `path:"id"`
}

func (w runWord) missing() error {
	return &verb.Missing{Thing: verb.Run, Name: strconv.FormatInt(w.ID, 10)}
}

func showRun(ctx context.Context, l view.Look, in *runWord) (r SeenRun, err error) {
	runs, err := l.Runs(ctx, nil, &in.ID, 1)
	if err == nil && len(runs) == 0 {
		err = in.missing()
	}
	if err != nil {
		return r, err
	}
	r.RunRow = runs[0]
	r.Steps, err = l.Steps(ctx, in.ID)
	return r, err
}

type again struct {
	Run   int64 `json:"run"`
	Steps int   `json:"steps" doc:"Number of steps to run again"`
}

func retryRun(ctx context.Context, l view.Look, in *runWord) (*body[again], error) {
	out, err := verb.Do(ctx, l, "rerun", verb.In{ID: in.ID})
	return &body[again]{again{in.ID, out.N}}, err
}
