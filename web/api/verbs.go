package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/verb"
)

// Changed is what an order did to a job.
type Changed struct {
	ID      scheduler.JobID    `json:"id"`
	State   scheduler.JobState `json:"state"`
	Changed bool               `json:"changed" doc:"false: it was so already, or its state does not allow the change"`
	Asked   bool               `json:"asked" doc:"Of cancel: the job is running, and was asked to stop; it is cancelled when its processes are dead"`
	Why     string             `json:"why,omitempty" doc:"The reason, if nothing changed"`
}

// unchanged says why a verb has left a job as it is.
func unchanged(verb string, c view.Change) string {
	rule := map[string]string{
		"cancel":  "a finished job cannot be cancelled",
		"hold":    "a job that has begun or ended cannot be held",
		"release": "only a held job can be released",
		"retry":   "only a finished job can be retried",
	}[verb]
	if verb == "hold" && c.State == scheduler.Held {
		rule = "it was held before"
	}
	return fmt.Sprintf("job %d %s: %s", c.ID, c.State.Predicate(), rule)
}

// words are how paths name a thing, and tags how openapi.json groups its verbs.
var words, tags = map[verb.Thing]string{verb.Workflow: "{name}", verb.Type: "{type}"}, map[verb.Thing]string{
	verb.Job: "jobs", verb.Type: "system", verb.Operation: "operations", verb.Filter: "locks",
}

// doing describes the route of a verb.
func doing(name string, errors ...int) huma.Operation {
	v := verb.Of(name)
	method, path, _ := v.Asked(cmp.Or(words[v.To], "{id}"), "{version}")
	least := operator
	if v.By == verb.Owner {
		least = owner
	}
	return operation(method, path, least, cmp.Or(tags[v.To], "workflows"), v.Summary, errors...)
}

// verbs are the routes that change one job.
func (a *API) verbs() {
	type retry struct {
		JobWord
		Behind bool   `query:"behind" doc:"Also the finished jobs that need it, directly or through others; only for operators"`
		From   string `query:"from" maxLength:"200" doc:"Forget this step of the job's own, and those that came after it"`
	}
	change(a, doing("retry", http.StatusNotFound, http.StatusConflict),
		func(ctx context.Context, l view.Look, in *retry) (*body[Changed], error) {
			switch {
			case in.Behind && in.From != "":
				return nil, huma.Error422UnprocessableEntity("behind and from do not go together: send one of them")
			case in.Behind:
				return in.order(ctx, l, "retry", "behind")
			case in.From != "":
				return in.orderWith(ctx, l, "retry", "retry_from", verb.In{From: in.From})
			}
			return in.order(ctx, l, "retry", "retry")
		})
	for _, name := range []string{"release", "hold"} {
		change(a, doing(name, http.StatusNotFound, http.StatusConflict),
			func(ctx context.Context, l view.Look, in *JobWord) (*body[Changed], error) {
				return in.order(ctx, l, name, name)
			})
	}
	type cancel struct {
		JobWord
		Now bool `query:"now" doc:"Kill running jobs at once"`
	}
	change(a, doing("cancel", http.StatusNotFound, http.StatusConflict),
		func(ctx context.Context, l view.Look, in *cancel) (*body[Changed], error) {
			if in.Now {
				return in.order(ctx, l, "cancel", "kill")
			}
			return in.order(ctx, l, "cancel", "cancel")
		})
	a.patch()
	a.pausing()
}

// order carries a verb out on the job that a word names, by a route of that name.
func (w JobWord) order(ctx context.Context, l view.Look, route, name string) (*body[Changed], error) {
	return w.orderWith(ctx, l, route, name, verb.In{})
}

// orderWith is order with something besides.
func (w JobWord) orderWith(
	ctx context.Context, l view.Look, route, name string, in verb.In,
) (*body[Changed], error) {
	id, err := w.find(ctx, l)
	if err != nil {
		return nil, err
	}
	in.Jobs = []scheduler.JobID{id}
	did, err := verb.Do(ctx, l, name, in)
	if err == nil && len(did.Jobs) == 0 {
		err = notFound("job " + w.ID)
	}
	if err != nil {
		return nil, err
	}
	c := did.Jobs[0]
	out := Changed{ID: c.ID, State: c.State, Asked: route == "cancel" && c.Asked()}
	if out.Changed = c.Was != c.State || out.Asked; !out.Changed {
		out.Why = unchanged(route, c)
	}
	return &body[Changed]{out}, nil
}

// TypeWord names a type.
type TypeWord struct {
	Type string `path:"type" minLength:"1" maxLength:"1000"`
}

// Pausing is whether a type is paused now.
type Pausing struct {
	Type   string `json:"type"`
	Paused bool   `json:"paused" doc:"true after resume: everything is paused, this type included"`
}

// pausing are the routes that pause types.
func (a *API) pausing() {
	for _, name := range []string{"pause", "resume"} {
		change(a, doing(name), func(ctx context.Context, l view.Look, in *TypeWord) (*body[Pausing], error) {
			out, err := verb.Do(ctx, l, name, verb.In{Name: in.Type})
			return &body[Pausing]{Pausing{in.Type, name == "pause" || out.Still}}, err
		})
	}
}
