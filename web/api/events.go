package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"bellhop/client"
	"bellhop/sql/store"
	"bellhop/web"
)

// A stream ends after streamMost, and its client asks again: a client that has lost its rights since then is told
// nothing more. streamWrites bounds one write, streamBeat keeps proxies awake.
const (
	streamMost   = 10 * time.Minute
	streamWrites = 5 * time.Second
	streamBeat   = 15 * time.Second
)

// events is the route of what happens.
func (a *API) events() {
	op := operation(http.MethodGet, "/events", reader, "self", "Tell what happens, as it happens (server-sent events)")
	op.Description = "Events: queue (the rows of bellhop's queue at a glance, when they change), jobs ({jobs: [{id, type, state}], more}: what this " +
		"instance began and ended), database ({away: true}: it does not answer), reload (you read too slowly, or the stream ends: ask for what you show, and for " +
		"events again)."
	op.Middlewares = huma.Middlewares{unhurried}
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	huma.Register(a, op, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
		if a.Hub == nil {
			return nil, refused(http.StatusServiceUnavailable, "no_events", "bellhop serve", "there are no events here")
		}
		leave, err := a.watch(ctx)
		if err != nil {
			return nil, err
		}
		// Events are for readers: callers that may see the queue.
		err = a.Visitors.ReadAs(ctx, web.CallerOf(ctx).Role, func(l store.Look) error {
			is, err := l.Reads(ctx)
			if err == nil && !is {
				err = refused(http.StatusForbidden, "not_allowed", answers[client.ErrDenied].next, "events are for readers")
			}
			return err
		})
		if err != nil {
			leave()
			return nil, a.problem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			defer leave()
			ctx, cancel := until(ctx, streamMost)
			defer cancel()
			c.SetHeader("Content-Type", "text/event-stream")
			_, w := humago.Unwrap(c)
			a.stream(ctx, w)
		}}, nil
	})
}

func (a *API) stream(ctx context.Context, w http.ResponseWriter) {
	events := a.Hub.join()
	defer a.Hub.leave(events)
	control := http.NewResponseController(w)
	say := func(format string, args ...any) bool {
		_ = control.SetWriteDeadline(time.Now().Add(streamWrites)) // a connection always takes one
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for fine := say("retry: 2000\n\n"); fine; {
		select {
		case <-ctx.Done():
			say("event: reload\ndata: {}\n\n")
			return
		case <-beat.C:
			fine = say(": still here\n\n")
		case e, open := <-events:
			if !open {
				say("event: reload\ndata: {}\n\n")
				return
			}
			fine = say("event: %s\ndata: %s\n\n", e.name, e.data)
		}
	}
}
