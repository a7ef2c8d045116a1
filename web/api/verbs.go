package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/sql/store"
	"bellhop/web"
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

// JobChange is what is to change about a job that waits. What is left out stays.
type JobChange struct {
	Priority     *int              `json:"priority,omitempty"`
	PriorityName *string           `json:"priority_name,omitempty"`
	RunAt        *time.Time        `json:"run_at,omitempty"`
	Args         json.RawMessage   `json:"args,omitempty"`
	MaxAttempts  *int              `json:"max_attempts,omitempty"`
	Timeout      string            `json:"timeout,omitempty"`
	Held         *bool             `json:"held,omitempty"`
	NotAfter     *time.Time        `json:"not_after,omitempty"`
	RunOn        *string           `json:"run_on,omitempty"`
	Vars         map[string]string `json:"vars,omitempty"`
	MSQ          *string           `json:"msq,omitempty"`
	OnFailure    *string           `json:"on_failure,omitempty"`
}

// TransformSchema gives the fields the words and bounds of the grammar.
func (JobChange) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return described(grammar.Edit, s)
}

// tagged is a job and what it is told by, for If-Match.
type tagged struct {
	ETag string `header:"ETag"`
	Body SeenJob
}

// tagOf changes whenever a job does, except for its progress. What only some callers may see leaves a trace only in
// the tags of those that may change it.
func tagOf(ctx context.Context, l store.Look, j store.JobRow) (string, error) {
	inside, err := l.VersionOf(ctx, j.ID)
	if err != nil {
		return "", err
	}
	j.Age, j.Progress, j.ProgressText, j.WaitingFor = 0, nil, nil, nil
	j.ItemsDone, j.ItemsFailed, j.ItemsTotal = nil, nil, nil
	text, _ := json.Marshal(struct { // words and times
		store.JobRow
		Inside *string
	}{j, inside})
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`, nil
}

// patch is the route that edits a job.
func (a *API) patch() {
	type in struct {
		JobWord
		IfMatch string `header:"If-Match" doc:"The ETag of the job as it was read: if the job has changed since, nothing is done (412)"`
		Body    JobChange
	}
	op := operation(
		http.MethodPatch,
		"/jobs/{id}",
		owner,
		"jobs",
		"Change a waiting job",
		http.StatusNotFound,
		http.StatusConflict,
		http.StatusPreconditionFailed,
	)
	huma.Register(a, op, func(ctx context.Context, in *in) (*tagged, error) {
		var out tagged
		stale := refused(
			http.StatusPreconditionFailed,
			"changed_meanwhile",
			"read it again: GET "+Prefix+"/jobs/"+in.ID,
			"the job has changed since it was read",
		)
		e := store.Edit{
			Priority:     in.Body.Priority,
			PriorityName: in.Body.PriorityName,
			RunAt:        in.Body.RunAt,
			MaxAttempts:  in.Body.MaxAttempts,
			Hold:         in.Body.Held,
			RunOn:        in.Body.RunOn,
			Vars:         in.Body.Vars,
			MSQ:          in.Body.MSQ,
			OnFailure:    in.Body.OnFailure,
			NotAfter:     in.Body.NotAfter,
		}
		var err error
		if e.Args, err = line(in.Body.Args); err != nil {
			return nil, err
		}
		if e.Timeout, err = span("timeout", in.Body.Timeout); err != nil {
			return nil, err
		}
		err = a.Visitors.AsOfNow(ctx, web.CallerOf(ctx).Role, func(l store.Look) error {
			row, err := in.row(ctx, l)
			if err != nil {
				return err
			}
			// A proxy that compresses marks the tag as weak (nginx does), and it is the same job all the same.
			if want := strings.TrimPrefix(in.IfMatch, "W/"); want != "" && want != "*" {
				if tag, err := tagOf(ctx, l, row); err != nil || want != tag {
					return cmp.Or(err, error(stale))
				}
			}
			switch row.State {
			case scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready:
			default:
				return refused(
					http.StatusConflict,
					"refused",
					"bellhop explain "+in.ID,
					"job %d is %s: a job that has begun or ended cannot be changed",
					row.ID,
					row.State,
				)
			}
			if _, err = l.Edit(ctx, []scheduler.JobID{row.ID}, e); err != nil {
				return err
			}
			out.Body.JobRow, _, err = l.Job(ctx, row.ID)
			if err == nil {
				out.Body.Result, err = l.Result(ctx, row.ID)
			}
			if err == nil {
				out.ETag, err = tagOf(ctx, l, out.Body.JobRow)
			}
			return err
		})
		var said *pgconn.PgError
		if errors.As(err, &said) && said.Code == "40001" {
			err = stale
		}
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &out, nil
	})
	huma.Register(a, one("", reader, "Show a job"), func(ctx context.Context, in *JobWord) (*tagged, error) {
		var out tagged
		err := a.Visitors.ReadAs(ctx, web.CallerOf(ctx).Role, func(l store.Look) (err error) {
			if out.Body.JobRow, err = in.row(ctx, l); err == nil {
				out.Body.Result, err = l.Result(ctx, out.Body.ID)
			}
			if err == nil {
				out.ETag, err = tagOf(ctx, l, out.Body.JobRow)
			}
			return err
		})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &out, nil
	})
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
