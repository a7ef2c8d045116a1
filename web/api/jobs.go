package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// JobWord names a job.
type JobWord struct {
	ID string `path:"id" maxLength:"1100" doc:"Its id, or key:KEY" example:"42"`
}

// find gives the id of the job that a word names.
func (w JobWord) find(ctx context.Context, l view.Look) (scheduler.JobID, error) {
	var ids []scheduler.JobID
	var keys []string
	if key, is := strings.CutPrefix(w.ID, "key:"); is {
		keys = []string{key}
	} else if id, err := strconv.ParseInt(w.ID, 10, 64); err == nil {
		ids = []scheduler.JobID{scheduler.JobID(id)}
	} else {
		return 0, notFound("job " + strconv.Quote(w.ID) + ": a key is written key:…")
	}
	if strings.ContainsRune(w.ID, 0) {
		return 0, notFound("job with such a key")
	}
	found, err := l.Find(ctx, ids, keys)
	if err == nil && len(found) == 0 {
		err = notFound("job " + w.ID)
	}
	if err != nil {
		return 0, err
	}
	return found[0].ID, nil
}

// row reads the job that a word names.
func (w JobWord) row(ctx context.Context, l view.Look) (view.JobRow, error) {
	id, err := w.find(ctx, l)
	if err != nil {
		return view.JobRow{}, err
	}
	row, ok, err := l.Job(ctx, id)
	if err == nil && !ok {
		err = notFound("job " + w.ID)
	}
	return row, err
}

// JobWords is a filter for jobs, as it stands in a query.
type JobWords struct {
	State         []string  `query:"state,explode"  json:"state,omitempty"         maxItems:"10"  doc:"In one of these states; repeatable"                     enum:"held,blocked,scheduled,ready,assigned,running,succeeded,failed,cancelled,quarantined"`
	Type          []string  `query:"type,explode"   json:"type,omitempty"          maxItems:"100" doc:"Of one of these types; repeatable"`
	Key           string    `query:"key"            json:"key,omitempty"                          doc:"With a key that begins with this"                                                                                                                         maxLength:"1000"`
	Error         string    `query:"error"          json:"error,omitempty"                        doc:"With this in the error, as far as the caller sees that"                                                                                             maxLength:"1000"`
	Run           int64     `query:"run"            json:"run,omitempty"                          doc:"Of this run of a workflow"                                                                                                                                           minimum:"0"`
	Host          string    `query:"host"           json:"host,omitempty"                         doc:"That run there, or ran there last"                                                                                                                maxLength:"1000"`
	CreatedAfter  time.Time `query:"created_after"  json:"created_after,omitzero"                 doc:"Submitted then, or later"`
	CreatedBefore time.Time `query:"created_before" json:"created_before,omitzero"`
}

func (w JobWords) filter() (view.JobFilter, error) {
	f := view.JobFilter{Key: w.Key, Error: w.Error, Host: w.Host}
	for _, s := range w.State {
		f.States = append(f.States, scheduler.JobState(s))
	}
	for _, t := range w.Type {
		f.Types = append(f.Types, scheduler.TypeName(t))
	}
	if w.Run != 0 {
		f.Run = &w.Run
	}
	if !w.CreatedAfter.IsZero() {
		f.CreatedAfter = &w.CreatedAfter
	}
	if !w.CreatedBefore.IsZero() {
		f.CreatedBefore = &w.CreatedBefore
	}
	return f, nil
}

// JobPage is a page of jobs, the newest first.
type JobPage struct {
	Jobs   []view.JobRow `json:"jobs"   nullable:"false"`
	Cursor *string       `json:"cursor"                  doc:"Of the next page; null: this was the last. A page may be short, or empty, and have a next one: 50,000 jobs are searched for each"`
}

// SeenJob is a job with what it gave back.
type SeenJob struct {
	view.JobRow
	Result json.RawMessage `json:"result" doc:"Its result; null also if the caller may not see it"`
}

// Payload is what a job was submitted with.
type Payload view.PayloadRow

// Tries are all runs of a job.
type Tries struct {
	Attempts []view.AttemptRow `json:"attempts" nullable:"false"`
	Lost     []view.LostRow    `json:"lost"     nullable:"false" doc:"Runs that were lost and given back; they do not count as attempts"`
}

// shownNeeds, graphMost and itemsMost bound what hangs on a job.
const (
	shownNeeds = 100
	graphMost  = 1000
	itemsMost  = 1000
)

// jobs are the routes that show jobs.
func (a *API) jobs() {
	type list struct {
		JobWords
		Limit  int    `query:"limit"  json:"-" minimum:"1" maximum:"200" default:"50"`
		Cursor string `query:"cursor" json:"-"                                        maxLength:"100"`
	}
	read(a, operation(http.MethodGet, "/jobs", reader, "jobs", "List jobs, the newest first"),
		func(ctx context.Context, l view.Look, in *list) (page JobPage, err error) {
			before, err := readCursor(in.JobWords, in.Cursor)
			if err != nil {
				return page, err
			}
			f, err := in.filter()
			if err != nil {
				return page, err
			}
			var next *int64
			page.Jobs, next, err = l.Page(ctx, f, before, in.Limit)
			page.Cursor = writeCursor(in.JobWords, next)
			return page, err
		})
	read(a, one("/explain", reader, "Say why a job does not run, or why it ended so"), explain)
	ofJob(a, one("/attempts", reader, "List every run of a job"), tries)
	read(a, one("/trace", reader, "Show the timeline of a job"), a.trace)
	type graph struct {
		JobWord
		Limit int `query:"limit" minimum:"1" maximum:"1000" default:"500"`
	}
	read(a, one("/graph", reader, "Show the jobs that a job needs, and the jobs that need it"),
		func(ctx context.Context, l view.Look, in *graph) (g view.Graph, err error) {
			id, err := in.find(ctx, l)
			if err == nil {
				g, err = l.Graph(ctx, id, min(in.Limit, graphMost))
			}
			return g, err
		})
	ofJob(a, one("/behind", reader, "Say how many jobs a retry with behind=true would try again"),
		func(ctx context.Context, l view.Look, id scheduler.JobID) (view.Behind, error) {
			b, ok, err := l.Behind(ctx, id)
			if err == nil && !ok {
				err = notFound(fmt.Sprintf("job %d", id))
			}
			return b, err
		})
	ofJob(a, one("/batch", reader, "Count the jobs of a batch by state"),
		func(ctx context.Context, l view.Look, id scheduler.JobID) (view.BatchCount, error) {
			count, _, err := l.BatchCount(ctx, id)
			return count, err
		})
	ofJob(a, one("/items", reader, "List the failed items of a job's query; their lines for operators"),
		func(ctx context.Context, l view.Look, id scheduler.JobID) ([]view.SeenItemRow, error) {
			return l.SeenItems(ctx, id, itemsMost)
		})
	ofJob(a, one("/payload", operator, "Show the content of a job's submission"), payload)
}

// ofJob registers a route that shows something of one job.
func ofJob[T any](
	a *API, op huma.Operation, show func(context.Context, view.Look, scheduler.JobID) (T, error),
) {
	read(a, op, func(ctx context.Context, l view.Look, in *JobWord) (v T, err error) {
		id, err := in.find(ctx, l)
		if err == nil {
			v, err = show(ctx, l, id)
		}
		return v, err
	})
}

func explain(ctx context.Context, l view.Look, in *JobWord) (e report.Explained, err error) {
	row, err := in.row(ctx, l)
	if err != nil {
		return e, err
	}
	e, err = report.Explain(ctx, l, row)
	if isDenied(err) && e.Reasons != nil { // a caller that may not see other jobs is told of its own
		err = nil
	}
	return e, err
}

func tries(ctx context.Context, l view.Look, id scheduler.JobID) (t Tries, err error) {
	if t.Attempts, err = l.Attempts(ctx, id); err == nil {
		t.Lost, err = l.Lost(ctx, id)
	}
	return t, err
}

func payload(ctx context.Context, l view.Look, id scheduler.JobID) (Payload, error) {
	all, err := l.Payloads(ctx, []scheduler.JobID{id}, 0)
	p, there := all[id]
	if err == nil && !there {
		err = notFound(fmt.Sprintf("job %d", id))
	}
	return Payload(p.Shown()), err
}

func (a *API) trace(ctx context.Context, l view.Look, in *JobWord) (w report.Waterfall, err error) {
	row, err := in.row(ctx, l)
	if err != nil {
		return w, err
	}
	attempts, err := l.Attempts(ctx, row.ID)
	if err != nil {
		return w, err
	}
	lost, err := l.Lost(ctx, row.ID)
	if err != nil {
		return w, err
	}
	needs, err := l.Needs(ctx, row.ID, shownNeeds)
	if isDenied(err) { // dependencies are for readers
		needs, err = nil, nil
	}
	return report.NewWaterfall(row, attempts, lost, needs, a.TraceURL), err
}

func isDenied(err error) bool {
	var as interface{ SQLState() string }
	return errors.As(err, &as) && as.SQLState() == "42501"
}
