package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/sql/view"
	"bellhop/verb"
	"bellhop/web"
)

// JobChange is what is to change about a job that waits. What is left out stays.
type JobChange struct {
	view.Edit
	Args    json.RawMessage `json:"args,omitempty"`
	Timeout string          `json:"timeout,omitempty"`
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
func tagOf(ctx context.Context, l view.Look, j view.JobRow) (string, error) {
	inside, err := l.VersionOf(ctx, j.ID)
	if err != nil {
		return "", err
	}
	j.Age, j.Progress, j.ProgressText, j.WaitingFor = 0, nil, nil, nil
	j.ItemsDone, j.ItemsFailed, j.ItemsTotal = nil, nil, nil
	text, _ := json.Marshal(struct { // words and times
		view.JobRow
		Inside *string
	}{j, inside})
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`, nil
}

func (c JobChange) edit() (e view.Edit, err error) {
	e = c.Edit
	if e.Args, err = line(c.Args); err != nil {
		return e, err
	}
	e.Timeout, err = span("timeout", c.Timeout)
	return e, err
}

// tag reads what else a job is shown with.
func tag(ctx context.Context, l view.Look, row view.JobRow) (t tagged, err error) {
	t.Body.JobRow = row
	if t.Body.Result, err = l.Result(ctx, row.ID); err == nil {
		t.ETag, err = tagOf(ctx, l, row)
	}
	return t, err
}

type editing struct {
	JobWord
	IfMatch string `header:"If-Match" doc:"The ETag of the job as it was read: if the job has changed since, nothing is done (412)"`
	Body    JobChange
}

func (in *editing) stale() error {
	return refused(http.StatusPreconditionFailed, "changed_meanwhile", "read it again: GET "+Prefix+"/jobs/"+in.ID,
		"the job has changed since it was read")
}

// apply edits the job, if it waits and is the one that was read.
func (in *editing) apply(ctx context.Context, l view.Look, e view.Edit) (t tagged, err error) {
	row, err := in.row(ctx, l)
	if err != nil {
		return t, err
	}
	// A proxy that compresses marks the tag as weak (nginx does), and it is the same job all the same.
	if want := strings.TrimPrefix(in.IfMatch, "W/"); want != "" && want != "*" {
		if tag, err := tagOf(ctx, l, row); err != nil || want != tag {
			return t, cmp.Or(err, in.stale())
		}
	}
	switch row.State {
	case scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready:
	default:
		return t, refused(http.StatusConflict, "refused", "bellhop explain "+in.ID,
			"job %d is %s: a job that has begun or ended cannot be changed", row.ID, row.State)
	}
	if _, err = verb.Do(ctx, l, "priority", verb.In{Jobs: []scheduler.JobID{row.ID}, Edit: e}); err != nil {
		return t, err
	}
	if row, _, err = l.Job(ctx, row.ID); err != nil {
		return t, err
	}
	return tag(ctx, l, row)
}

// patch are the routes that show and edit a job, each with its tag.
func (a *API) patch() {
	op := doing("priority", http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed)
	huma.Register(a, op, func(ctx context.Context, in *editing) (*tagged, error) {
		e, err := in.Body.edit()
		if err != nil {
			return nil, err
		}
		var out tagged
		var said *pgconn.PgError
		changed := true // the job, while it was being edited: nothing for a caller that has not said which state it read
		for try := 0; changed && try < 5; try++ {
			err = a.Visitors.AsOfNow(ctx, web.CallerOf(ctx).Role, func(l view.Look) (err error) {
				out, err = in.apply(ctx, l, e)
				return err
			})
			if changed = errors.As(err, &said) && said.Code == "40001"; in.IfMatch != "" {
				break
			}
		}
		if changed {
			err = in.stale()
		}
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &out, nil
	})
	huma.Register(a, one("", reader, "Show a job"), func(ctx context.Context, in *JobWord) (*tagged, error) {
		var out tagged
		err := a.Visitors.ReadAs(ctx, web.CallerOf(ctx).Role, func(l view.Look) error {
			row, err := in.row(ctx, l)
			if err == nil {
				out, err = tag(ctx, l, row)
			}
			return err
		})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &out, nil
	})
}
