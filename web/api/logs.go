package api

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"bellhop/client"
	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/web"
)

var everyLevel = []string{
	string(client.LevelOut), string(client.LevelErr), string(client.LevelDebug), string(client.LevelInfo),
	string(client.LevelError), string(client.LevelNote),
}

// LogWords say which lines of a job's log are printed.
type LogWords struct {
	JobWord
	Follow  bool     `query:"follow"        doc:"Go on with further lines, until the job has ended"`
	Attempt int      `query:"attempt"       doc:"Of this attempt only"                            minimum:"0"`
	Level   []string `query:"level,explode" doc:"Of these levels only; repeatable"                            maxItems:"10" enum:"out,err,debug,info,error,note"`
}

// logs is the route of what was said about a job.
func (a *API) logs() {
	op := one("/logs", operator, "Print the log of a job, one line of JSON each")
	op.Middlewares = huma.Middlewares{unhurried}
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/x-ndjson": {Schema: a.OpenAPI().Components.Schemas.Schema(typeOf[view.LogRow](), true, "")}}}}
	huma.Register(a, op, func(ctx context.Context, in *LogWords) (*huma.StreamResponse, error) {
		leave, err := a.watch(ctx)
		if err != nil {
			return nil, err
		}
		log := &readLog{LogWords: in, visitors: a.Visitors, role: web.CallerOf(ctx).Role}
		if err := log.read(ctx); err != nil {
			leave()
			return nil, a.problem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			defer leave()
			c.SetHeader("Content-Type", "application/x-ndjson")
			log.send(ctx, c)
		}}, nil
	})
}

// readLog is a log as far as it was read.
type readLog struct {
	*LogWords
	visitors   *view.Visitors
	role       string
	from       *view.LogReader
	lines      []view.LogRow // read and not sent
	more, over bool          // there are more lines; the job has ended
}

// read reads the next lines.
func (r *readLog) read(ctx context.Context) error {
	return r.visitors.ReadAs(ctx, r.role, func(l view.Look) error {
		if r.from == nil {
			id, err := r.find(ctx, l)
			if err != nil {
				return err
			}
			levels := r.Level
			if len(levels) == 0 {
				levels = everyLevel
			}
			r.from = l.Logs(id)
			for _, level := range levels {
				r.from.Levels = append(r.from.Levels, scheduler.Level(level))
			}
			r.from.Attempt, r.from.Follow = r.Attempt, r.Follow
		}
		r.from.Through(l)
		// Looked at first: a job's last lines are committed with its outcome or before.
		outcomes, err := l.Outcomes(ctx, []scheduler.JobID{r.from.Job})
		if err != nil {
			return err
		}
		r.over = len(outcomes) == 0 || outcomes[0].State.Final()
		r.lines, r.more, err = r.from.Next(ctx)
		return err
	})
}

// send sends the lines, and goes on to read for as long as there are more, or follow is given.
func (r *readLog) send(ctx context.Context, c huma.Context) {
	ctx, cancel := web.Until(ctx, time.Hour)
	defer cancel()
	_, w := humago.Unwrap(c)
	for {
		var text bytes.Buffer
		to := json.NewEncoder(&text)
		for _, line := range r.lines {
			_ = to.Encode(line) // words and numbers
		}
		if web.Send(w, web.Patience, text.Bytes()) != nil || !r.more && (r.over || !r.Follow) {
			return
		}
		if !r.more {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followEvery):
			}
		}
		if r.read(ctx) != nil {
			return
		}
	}
}
