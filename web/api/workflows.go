package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/config"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

// WorkflowWord names a workflow.
type WorkflowWord struct {
	Name string `path:"name" minLength:"1" maxLength:"100"`
}

func (w WorkflowWord) missing() error {
	return &verb.Missing{Thing: verb.Workflow, Name: w.Name}
}

// Seen is the version that the caller looked at before changing a workflow.
type Seen struct {
	Present int `query:"version" default:"-1" minimum:"-1" doc:"Change it only if it has this version (0: if there is none)"`
}

// seen is nil: whichever there is.
func (s *Seen) seen() *int {
	if s.Present < 0 {
		return nil
	}
	return &s.Present
}

// SeenWorkflow is a workflow with its last runs, and its definition where the caller may see that.
type SeenWorkflow struct {
	view.WorkflowRow
	Definition json.RawMessage `json:"definition"`
	Runs       []view.RunRow   `json:"runs"       nullable:"false"`
}

// Version is what a workflow is now.
type Version struct {
	Workflow string           `json:"workflow"`
	Version  int              `json:"version"`
	Warnings []view.ReasonRow `json:"warnings" nullable:"false" doc:"Steps of types for which no running instance has an agent"`
}

func workflowOp(method, path string, least role, summary string, errors ...int) huma.Operation {
	return operation(method, "/workflows"+path, least, "workflows", summary, append(errors, http.StatusNotFound)...)
}

// WorkflowWords say which workflows are listed.
type WorkflowWords struct {
	Name    []string `query:"name,explode" maxItems:"100" doc:"Only these, whatever the case; * stands for any letters, ? for one letter; repeatable"`
	Project string   `query:"project" maxLength:"1000"`
	Active  string   `query:"active" enum:"true,false" doc:"Only active ones, or only inactive ones"`
	Sensor  string   `query:"sensor" enum:"cron,every,workflow,table,notify,http,file,kafka,none" doc:"Only those with this kind of sensor"`
}

func (w *WorkflowWords) filter() view.WorkflowFilter {
	f := view.WorkflowFilter{Names: view.Like(w.Name), AnyCase: true}
	if w.Project != "" {
		f.Project = &w.Project
	}
	if w.Active != "" {
		active := w.Active == "true"
		f.Active = &active
	}
	if w.Sensor != "" {
		f.Sensor = &w.Sensor
	}
	return f
}

// workflows are the routes of definitions.
func (a *API) workflows() {
	read(a, workflowOp(http.MethodGet, "", reader, "List workflows, with their next slots and their last runs"),
		func(ctx context.Context, l view.Look, in *WorkflowWords) ([]view.WorkflowRow, error) {
			return l.Workflows(ctx, in.filter())
		})
	read(a, operation(http.MethodGet, "/projects", reader, "workflows", "List projects, with their workflows, open runs and failures"),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.ProjectRow, error) {
			return l.Projects(ctx)
		})
	read(
		a,
		workflowOp(http.MethodGet, "/{name}", reader, "Show a workflow and its last runs; its definition to operators"),
		showWorkflow,
	)
	read(a, workflowOp(http.MethodGet, "/{name}/explain", reader, "Say what starts a workflow, and why it does not start"),
		listOf(view.Look.ExplainWorkflow))
	a.versions()
	a.writeWorkflows()
	a.manyWorkflows()
	a.manager()
	a.runs()
	a.cron()
}

// listOf shows a list of a workflow; each has some.
func listOf[T any](
	list func(view.Look, context.Context, string) ([]T, error),
) func(context.Context, view.Look, *WorkflowWord) ([]T, error) {
	return func(ctx context.Context, l view.Look, in *WorkflowWord) ([]T, error) {
		rows, err := list(l, ctx, in.Name)
		if err == nil && len(rows) == 0 {
			err = in.missing()
		}
		return rows, err
	}
}

// versions are the routes of what workflows were.
func (a *API) versions() {
	type version struct {
		WorkflowWord
		Version int32 `path:"version" minimum:"1"`
	}
	type reverting struct {
		WorkflowWord
		Seen
		Version int32 `path:"version" minimum:"1"`
	}
	one := func(ctx context.Context, l view.Look, in *version) (view.DefinitionRow, error) {
		d, ok, err := l.Version(ctx, in.Name, int(in.Version))
		if err == nil && !ok {
			err = in.missing()
		}
		return d, err
	}
	read(a, workflowOp(http.MethodGet, "/{name}/versions", reader,
		"List the versions of a workflow, with author and time"), listOf(view.Look.Versions))
	read(a, workflowOp(http.MethodGet, "/{name}/versions/{version}", operator, "Show a version"), one)
	change(a, doing("revert", http.StatusConflict, http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *reverting) (*body[Version], error) {
			out, err := verb.Do(ctx, l, "revert", verb.In{Name: in.Name, Back: int(in.Version), Version: in.seen()})
			if err != nil {
				return nil, err
			}
			v, err := warned(ctx, l, Version{Workflow: in.Name, Version: out.N}, out.Definition)
			return &body[Version]{v}, err
		})
}

func showWorkflow(ctx context.Context, l view.Look, in *WorkflowWord) (w SeenWorkflow, err error) {
	rows, err := l.Workflows(ctx, view.WorkflowFilter{Names: view.Exactly(in.Name)})
	if err == nil && len(rows) == 0 {
		err = in.missing()
	}
	if err != nil {
		return w, err
	}
	w.WorkflowRow = rows[0]
	if w.Runs, err = l.Runs(ctx, &in.Name, nil, 10); err != nil {
		return w, err
	}
	// Last: a statement that is refused ends the transaction.
	list, err := l.Definitions(ctx, view.Exactly(in.Name))
	if isDenied(err) {
		return w, nil
	}
	if err == nil && len(list) > 0 {
		w.Definition = list[0].Definition
	}
	return w, err
}

func write(ctx context.Context, l view.Look, d workflow.Definition, version *int) (Version, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return Version{}, err
	}
	n, err := l.ApplyWorkflow(ctx, text, version)
	if err != nil {
		return Version{}, err
	}
	return warned(ctx, l, Version{Workflow: d.Name, Version: n}, text)
}

// warned adds which steps of a definition no instance would run.
func warned(ctx context.Context, l view.Look, v Version, definition []byte) (_ Version, err error) {
	v.Warnings, err = l.Unserved(ctx, definition)
	return v, err
}

// writeWorkflows are the routes that change definitions.
func (a *API) writeWorkflows() {
	type put struct {
		WorkflowWord
		Seen
		RawBody []byte `contentType:"application/yaml" doc:"A definition as bellhop workflow apply takes it: YAML, or JSON; at most 256 KiB"`
	}
	changeBy(a, workflowOp(http.MethodPut, "/{name}", operator, "Create or change a workflow", http.StatusConflict,
		http.StatusRequestEntityTooLarge),
		func(ctx context.Context, in *put) (d workflow.Definition, err error) {
			list, err := a.definitions(ctx, in.RawBody)
			if err != nil {
				return d, err
			}
			if len(list) != 1 || list[0].Name != in.Name {
				return d, unfit("the body is not the one workflow " + in.Name)
			}
			return list[0], nil
		},
		func(ctx context.Context, l view.Look, in *put, d workflow.Definition) (*body[Version], error) {
			v, err := write(ctx, l, d, in.seen())
			return &body[Version]{v}, err
		})
	a.imports()
	a.export()
	for _, name := range []string{"activate", "deactivate", "delete"} {
		change(a, doing(name, http.StatusConflict, http.StatusNotFound),
			func(ctx context.Context, l view.Look, in *turning) (*body[Turned], error) {
				out, err := verb.Do(ctx, l, name, verb.In{Name: in.Name, Version: in.seen()})
				return &body[Turned]{Turned{in.Name, out.Changed}}, err
			})
	}
}

// imports is the route that creates workflows which were exported elsewhere.
func (a *API) imports() {
	type importing struct {
		RawBody []byte `contentType:"application/yaml" doc:"Definitions, with lines of --- between them; at most 256 KiB"`
	}
	changeBy(a, workflowOp(http.MethodPost, "/import", operator,
		"Create workflows that were exported elsewhere: all, or none", http.StatusConflict,
		http.StatusRequestEntityTooLarge),
		func(ctx context.Context, in *importing) ([]workflow.Definition, error) {
			return a.definitions(ctx, in.RawBody)
		},
		func(ctx context.Context, l view.Look, _ *importing, list []workflow.Definition) (*body[[]Version], error) {
			out := &body[[]Version]{[]Version{}}
			for _, d := range list {
				none := 0
				v, err := write(ctx, l, d, &none)
				if err != nil {
					return nil, err
				}
				out.Body = append(out.Body, v)
			}
			return out, nil
		})
}

// Turned is what became of a workflow.
type Turned struct {
	Workflow string `json:"workflow"`
	Changed  bool   `json:"changed"  doc:"false: it was so already"`
}

type turning struct {
	WorkflowWord
	Seen
}

func (a *API) export() {
	type names struct {
		Name []string `query:"name,explode" maxItems:"100" doc:"Only these; * stands for any letters, ? for one letter; repeatable"`
	}
	type text struct {
		ContentType string `header:"Content-Type"`
		Body        []byte
	}
	op := workflowOp(http.MethodGet, "/export", operator, "Print workflows in the form that apply and import read")
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/yaml": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	change(a, op, func(ctx context.Context, l view.Look, in *names) (*text, error) {
		list, err := l.Definitions(ctx, view.Like(in.Name))
		if err != nil {
			return nil, err
		}
		var all [][]byte
		for _, row := range list {
			d, err := workflow.Read(row.Definition)
			if err != nil {
				return nil, err
			}
			one, err := config.WriteWorkflow(d)
			if err != nil {
				return nil, err
			}
			all = append(all, []byte(one))
		}
		return &text{"application/yaml", bytes.Join(all, []byte("---\n"))}, nil
	})
}
