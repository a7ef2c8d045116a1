package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler"
	"bellhop/sql/store"
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
func unchanged(verb string, c store.Change) string {
	rule := map[string]string{
		"cancel":  "a finished job cannot be cancelled",
		"hold":    "a job that has begun or ended cannot be held",
		"release": "only a held job can be released",
		"retry":   "only a finished job can be retried",
	}[verb]
	if verb == "hold" && c.State == scheduler.Held {
		rule = "it was held before"
	}
	return fmt.Sprintf("job %d is %s: %s", c.ID, c.State, rule)
}

type verb func(context.Context, store.Look, scheduler.JobID) (store.Change, bool, error)

// verbs are the routes that change one job.
func (a *API) verbs() {
	type retry struct {
		JobWord
		Behind bool `query:"behind" doc:"Also the finished jobs that need it, directly or through others; only for operators"`
	}
	change(a, verbOf("retry", "Open a new attempt at a finished job"),
		func(ctx context.Context, l store.Look, in *retry) (*body[Changed], error) {
			retry := store.Look.Retry
			if in.Behind {
				retry = store.Look.RetryFrom
			}
			return in.order(ctx, l, "retry",
				func(ctx context.Context, l store.Look, id scheduler.JobID) (store.Change, bool, error) {
					return retry(l, ctx, id)
				})
		})
	a.verb(
		"release",
		"Let a held job run",
		func(ctx context.Context, l store.Look, id scheduler.JobID) (store.Change, bool, error) {
			return l.Release(ctx, id)
		},
	)
	yes := true
	a.verb(
		"hold",
		"Hold a waiting job",
		func(ctx context.Context, l store.Look, id scheduler.JobID) (store.Change, bool, error) {
			return edited(l.Edit(ctx, []scheduler.JobID{id}, store.Edit{Hold: &yes}))
		},
	)
	type cancel struct {
		JobWord
		Now bool `query:"now" doc:"Kill running jobs at once"`
	}
	change(a, verbOf("cancel", "Cancel a waiting job; ask a running one to stop"),
		func(ctx context.Context, l store.Look, in *cancel) (*body[Changed], error) {
			return in.order(ctx, l, "cancel",
				func(ctx context.Context, l store.Look, id scheduler.JobID) (store.Change, bool, error) {
					return l.Cancel(ctx, id, in.Now)
				})
		})
	a.patch()
	a.pausing()
}

func verbOf(name, summary string) huma.Operation {
	return operation(
		http.MethodPost,
		"/jobs/{id}/"+name,
		owner,
		"jobs",
		summary,
		http.StatusNotFound,
		http.StatusConflict,
	)
}

func (a *API) verb(name, summary string, do verb) {
	change(a, verbOf(name, summary), func(ctx context.Context, l store.Look, in *JobWord) (*body[Changed], error) {
		return in.order(ctx, l, name, do)
	})
}

// order carries an order out on the job that a word names.
func (w JobWord) order(ctx context.Context, l store.Look, name string, do verb) (*body[Changed], error) {
	id, err := w.find(ctx, l)
	if err != nil {
		return nil, err
	}
	c, ok, err := do(ctx, l, id)
	if err == nil && !ok {
		err = notFound("job " + w.ID)
	}
	if err != nil {
		return nil, err
	}
	out := Changed{ID: c.ID, State: c.State, Asked: name == "cancel" && c.Asked()}
	if out.Changed = c.Was != c.State || out.Asked; !out.Changed {
		out.Why = unchanged(name, c)
	}
	return &body[Changed]{out}, nil
}

func edited(changes []store.Change, err error) (store.Change, bool, error) {
	if err != nil || len(changes) == 0 {
		return store.Change{}, false, err
	}
	return changes[0], true, nil
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
	change(a, operation(http.MethodPost, "/types/{type}/pause", operator, "system", "Stop starting jobs of a type"),
		func(ctx context.Context, l store.Look, in *TypeWord) (*body[Pausing], error) {
			t := scheduler.TypeName(in.Type)
			return &body[Pausing]{Pausing{in.Type, true}}, l.Pause(ctx, &t)
		})
	change(a, operation(http.MethodPost, "/types/{type}/resume", operator, "system", "Start paused jobs of a type again"),
		func(ctx context.Context, l store.Look, in *TypeWord) (*body[Pausing], error) {
			t := scheduler.TypeName(in.Type)
			_, still, err := l.Resume(ctx, &t)
			return &body[Pausing]{Pausing{in.Type, still}}, err
		})
}
