package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"bellhop/sql/view"
	"bellhop/verb"
)

// Starting is how many instances start workflows now.
type Starting struct {
	Starts int `json:"starts"`
}

// manager are the routes that stop and start the scheduling of workflows, without ending instances.
func (a *API) manager() {
	read(a, operation(http.MethodGet, "/manager", reader, "workflows",
		"List instances, with their workflows, and whether they start them"),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.ManagerRow, error) {
			return l.Manager(ctx)
		})
	type which struct {
		Instance string `query:"instance" maxLength:"1000" doc:"Its name or id; none: all, future ones included"`
	}
	for _, name := range []string{"manager stop", "manager start"} {
		change(a, doing(name, http.StatusNotFound, http.StatusConflict),
			func(ctx context.Context, l view.Look, in *which) (*body[Starting], error) {
				out, err := verb.Do(ctx, l, name, verb.In{Name: in.Instance})
				return &body[Starting]{Starting{out.N}}, err
			})
	}
}

// WorkflowNames says which workflows something is done to.
type WorkflowNames struct {
	Names  []string `json:"names" minItems:"1" maxItems:"1000" nullable:"false" doc:"* stands for any letters, ? for one letter"`
	DryRun bool     `json:"dry_run,omitempty" doc:"Only list the changes, and make none"`
}

// chosen are the workflows that are meant, each once. Of a pattern those alone that fits lets through.
func (w WorkflowNames) chosen(ctx context.Context, l view.Look, fits func(view.WorkflowRow) bool) (
	list []view.WorkflowRow, err error) {
	seen := map[string]bool{}
	for _, name := range w.Names {
		some, err := l.Workflows(ctx, view.WorkflowFilter{Names: view.Like([]string{name})})
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			return nil, WorkflowWord{name}.missing()
		}
		for _, row := range some {
			if !seen[row.Name] && (fits(row) || !strings.ContainsAny(name, "*?")) {
				seen[row.Name], list = true, append(list, row)
			}
		}
	}
	// In one order, so that two callers that ask for the same do not wait for each other.
	slices.SortFunc(list, func(a, b view.WorkflowRow) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Started is a run of a workflow that was started.
type Started struct {
	Workflow string `json:"workflow"`
	Run      *int64 `json:"run" doc:"null: a dry run"`
}

// manyWorkflows are the routes that do to many workflows what others do to one: to all of them, or to none.
func (a *API) manyWorkflows() {
	type names struct{ Body WorkflowNames }
	for _, name := range []string{"activate", "deactivate"} {
		change(a, workflowOp(http.MethodPost, "/"+name, operator, verb.Of(name).Says+" workflows by name or pattern: all, or none"),
			func(ctx context.Context, l view.Look, in *names) (*body[[]Turned], error) {
				list, err := in.Body.chosen(ctx, l, func(view.WorkflowRow) bool { return true })
				if err != nil {
					return nil, err
				}
				out := &body[[]Turned]{[]Turned{}}
				for _, w := range list {
					turned := Turned{w.Name, w.Active != (name == "activate")}
					if !in.Body.DryRun {
						did, err := verb.Do(ctx, l, name, verb.In{Name: w.Name})
						if err != nil {
							return nil, err
						}
						turned.Changed = did.Changed
					}
					out.Body = append(out.Body, turned)
				}
				return out, nil
			})
	}
	type order struct {
		Body struct {
			WorkflowNames
			Parameters map[string]string `json:"parameters,omitempty" doc:"Of each run"`
		}
	}
	change(a, workflowOp(http.MethodPost, "/run", operator, "Start a run by hand of each workflow: of all, or of none; "+
		"of a pattern those that are active"),
		func(ctx context.Context, l view.Look, in *order) (*body[[]Started], error) {
			list, err := in.Body.chosen(ctx, l, func(w view.WorkflowRow) bool { return w.Active })
			if err != nil {
				return nil, err
			}
			out := &body[[]Started]{[]Started{}}
			for _, w := range list {
				started := Started{Workflow: w.Name}
				if !in.Body.DryRun {
					did, err := verb.Do(ctx, l, "run", verb.In{Name: w.Name, By: view.ByHand{Parameters: in.Body.Parameters}})
					if err != nil {
						return nil, err
					}
					started.Run = &did.ID
				}
				out.Body = append(out.Body, started)
			}
			return out, nil
		})
}
