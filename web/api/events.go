package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"bellhop/client"
	"bellhop/sql/view"
	"bellhop/web"
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
		err = a.Visitors.ReadAs(ctx, web.CallerOf(ctx).Role, func(l view.Look) error {
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
			events := a.Hub.join()
			defer a.Hub.leave(events)
			_, w := humago.Unwrap(c)
			web.Stream{Begin: "retry: 2000\n\n", Beat: ": still here\n\n", End: reload.String()}.Serve(ctx, w, events)
		}}, nil
	})
}

// reload tells a client to ask for what it shows, and for events, once more.
var reload = web.Event{Name: "reload", Data: []byte("{}")}
