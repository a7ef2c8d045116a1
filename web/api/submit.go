package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// batchMost is how many jobs one request may submit.
const batchMost = 10_000

// Submitted is the job that there is now.
type Submitted struct {
	ID scheduler.JobID `json:"id"`
}

// submitted is an answer that says whether the job is new.
type submitted struct {
	Status   int
	Location string `header:"Location"`
	Body     Submitted
}

// submit are the routes that submit jobs.
func (a *API) submit() {
	op := operation(http.MethodPost, "/jobs", submitter, "jobs", "Submit a job", http.StatusConflict)
	op.DefaultStatus = http.StatusCreated
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The job was there already, with the same content",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: a.OpenAPI().Components.Schemas.Schema(typeOf[Submitted](), true, "")},
		},
	}}
	change(a, op, submitOne)

	type many struct {
		RawBody []byte `contentType:"application/x-ndjson" doc:"A job a line, as POST /jobs takes it; at most 10,000"`
	}
	type ids struct {
		IDs []scheduler.JobID `json:"ids" nullable:"false" doc:"In the order of the lines"`
	}
	op = operation(http.MethodPost, "/jobs/batch", submitter, "jobs", "Submit many jobs: all of them, or none",
		http.StatusConflict, http.StatusRequestEntityTooLarge)
	op.DefaultStatus = http.StatusCreated
	change(a, op, func(ctx context.Context, l view.Look, in *many) (*body[ids], error) {
		list, lines, err := readBatch(in.RawBody)
		if err != nil {
			return nil, err
		}
		out := &body[ids]{ids{[]scheduler.JobID{}}}
		var at *view.RefusedAt
		if out.Body.IDs, err = l.SubmitAll(ctx, list); errors.As(err, &at) {
			p := a.problem(ctx, err)
			return nil, atLine(p, lines[at.N])
		}
		return out, err
	})
}

type newJob struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"1000" doc:"The job's key: the same content again gives the same job (200), other content is refused (409)"`
	Traceparent    string `header:"Traceparent"                      doc:"Of W3C's trace context"`
	Body           NewJob
}

// submission is the job with what the headers say of it.
func (in *newJob) submission() (view.Submission, error) {
	s, err := in.Body.submission()
	if err != nil {
		return s, err
	}
	if in.IdempotencyKey != "" {
		if s.Key != nil && *s.Key != in.IdempotencyKey {
			return s, unfit("Idempotency-Key is the job's key, and the body has another one")
		}
		s.Key = &in.IdempotencyKey
	}
	if _, ok := scheduler.ParseTrace(in.Traceparent); ok && s.Traceparent == nil {
		s.Traceparent = &in.Traceparent
	}
	return s, nil
}

func submitOne(ctx context.Context, l view.Look, in *newJob) (*submitted, error) {
	s, err := in.submission()
	if err != nil {
		return nil, err
	}
	out := &submitted{Status: http.StatusCreated}
	if out.Body.ID, err = l.Submit(ctx, s); err != nil {
		return nil, err
	}
	if s.Key != nil { // which key that is, of a period, say, the database knows
		if is, err := l.IsNew(ctx, out.Body.ID); err != nil {
			return nil, err
		} else if !is {
			out.Status = http.StatusOK
		}
	}
	out.Location = Prefix + "/jobs/" + strconv.FormatInt(int64(out.Body.ID), 10)
	return out, nil
}

// readBatch reads a job a line.
func readBatch(text []byte) (list []view.Submission, lines []int, err error) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(list) == batchMost {
			return nil, nil, refused(http.StatusRequestEntityTooLarge, "too_many", "send the rest in another request",
				"there are more than %d jobs", batchMost)
		}
		var job NewJob
		if scheduler.TooNested(line) {
			return nil, nil, atLine(unfit(fmt.Sprintf("lists and objects more than %d levels deep", scheduler.NestedMost)), n)
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		err := d.Decode(&job)
		if err == nil && d.More() {
			err = errors.New("something follows the job")
		}
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) { // it knows fields by the structs that they stand in
			err = fmt.Errorf("%s cannot be a %s", strings.TrimPrefix(wrong.Field, "Submission."), wrong.Value)
		}
		if err != nil {
			return nil, nil, atLine(unfit(err.Error()), n)
		}
		s, err := job.submission()
		if err != nil {
			return nil, nil, atLine(err, n)
		}
		list, lines = append(list, s), append(lines, n)
	}
	if len(list) == 0 {
		return nil, nil, unfit("there is no job in it: one a line")
	}
	return list, lines, nil
}

// atLine says at which line of a batch a problem is.
func atLine(err error, n int) error {
	var p interface{ At(string) error }
	if errors.As(err, &p) {
		return p.At(fmt.Sprintf("line %d: ", n))
	}
	return err
}
