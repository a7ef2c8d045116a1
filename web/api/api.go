// Package api is REST under /api/v1: what the commands do and show, with the same names. It asks sql/store in the
// name of the caller (web.CallerOf), in one transaction a request; rights are PostgreSQL's, and nothing here asks for
// them. openapi.json is made of the handlers' types.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"bellhop/client"
	"bellhop/sql/view"
	"bellhop/web"
)

// Prefix is where the API lives. A second one would stand beside it: v1 only grows.
const Prefix = "/api/v1"

// Config is what the API is made of.
type Config struct {
	Visitors *view.Visitors
	Version  string // of the program
	// Operations carries out what is ordered for many jobs; nil: others do.
	Operations interface{ Wake() }
	Hub        *Hub   // tells what happens; nil: events are not available
	TraceURL   string // where people look at a trace; empty: nowhere
	Log        *slog.Logger
}

// API answers requests.
type API struct {
	huma.API
	Config
	waiter   *client.Client
	watching web.Places
	parsing  chan struct{} // the one definition that is parsed just now
}

// role is the least that a route is for: said in openapi.json, and asked by PostgreSQL.
type role string

const (
	reader    role = "reader"
	submitter role = "submitter"
	operator  role = "operator"
	// owner changes jobs: the submitter of a job may, and an operator any.
	owner role = "owner"
)

// right is what the door asks for before the body of a request is read.
func (r role) right(method string) web.Right {
	switch {
	case method == http.MethodGet:
		return web.Known
	case r == submitter, r == owner:
		return web.Submits
	}
	return web.Operates
}

// documented is the role as openapi.json says it.
func (r role) documented() string {
	if r == owner {
		return string(operator)
	}
	return string(r)
}

// leastKey is where an operation keeps its role.
const leastKey = "least"

// adapter registers huma's routes on a mux of ours, with the right that each of them names.
type adapter struct {
	huma.Adapter
	to *web.Mux
}

func (a adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	least, _ := op.Metadata[leastKey].(role) // none: operators'
	a.to.Route(op.Method+" "+Prefix+op.Path, least.right(op.Method), func(w http.ResponseWriter, r *http.Request) {
		handler(humago.NewContext(op, r, w))
	})
}

func init() { huma.NewError = invalid } // before any API is made: it is huma's only way

// New makes the handler of everything under Prefix. The routes are made for the first request: the types of their
// document are a megabyte, which an instance without requests does not need.
func New(c Config) web.Room {
	return lazy(sync.OnceValue(func() *web.Mux { return newRoutes(c) }))
}

// lazy makes its routes for the first request.
type lazy func() *web.Mux

func (l lazy) Right(r *http.Request) web.Right { return l().Right(r) }

func (l lazy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// What curl -d says of a body that it knows nothing of. A request with a token cannot come from a foreign page.
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" && web.CallerOf(r.Context()).Via == "token" {
		r.Header.Set("Content-Type", "application/json")
	}
	l().ServeHTTP(w, r)
}

func newRoutes(c Config) *web.Mux {
	mux := web.NewMux()
	Make(mux, c)
	mux.Route(Prefix+"/", web.Known, func(w http.ResponseWriter, r *http.Request) {
		web.Refuse(
			w,
			r,
			web.Problem{Status: http.StatusNotFound, Code: "no_route", Detail: "there is no such route, or not for this method",
				Next: "curl " + Prefix + "/openapi.json   lists them"},
		)
	})
	return mux
}

// Make puts every route on a mux.
func Make(mux *web.Mux, c Config) *API {
	config := huma.DefaultConfig("bellhop", "v1")
	config.Info.Description = "Jobs, and the hosts and agents that run them. A request has the rights of its token's role."
	config.CreateHooks = nil // no $schema in answers
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {
			Type:        "http",
			Scheme:      "bearer",
			Description: "a token of bellhop.yaml; none on a loopback address: a reader",
		},
		"session": {Type: "apiKey", In: "cookie", Name: "bellhop_session", Description: "made by bellhop ui"},
	}
	config.Security = []map[string][]string{{"token": {}}, {"session": {}}, {}}
	nameTypes(config.Components.Schemas)
	config.Formats = map[string]huma.Format{"application/json": boundedJSON, "json": boundedJSON}
	config.Transformers = append(config.Transformers, func(c huma.Context, _ string, v any) (any, error) {
		if p, is := v.(*web.Problem); is {
			at := p.Under(c.Context())
			return &at, nil
		}
		return v, nil
	})
	routes := adapter{humago.NewAdapter(http.NewServeMux(), Prefix), mux}
	a := &API{API: huma.NewAPI(config, routes), Config: c,
		parsing: make(chan struct{}, 1), watching: web.Places{All: watchers, Each: watchesEach}}
	if c.Visitors != nil { // the document alone needs none
		a.waiter = client.New(c.Visitors.Pool())
	}
	a.self(mux)
	a.jobs()
	a.system()
	a.submit()
	a.verbs()
	a.waiting()
	a.logs()
	a.workflows()
	a.notificationRules()
	a.filters()
	a.operations()
	a.changes()
	a.events()
	return a
}

// operation describes a route.
func operation(method, path string, least role, tag, summary string, errors ...int) huma.Operation {
	return huma.Operation{
		OperationID: operationID(method, path),
		Method:      method,
		Path:        path,
		Summary:     summary,
		Tags:        []string{tag},
		Extensions:  map[string]any{"x-role": least.documented()},
		Metadata:    map[string]any{leastKey: least},
		Errors: append([]int{
			http.StatusUnauthorized,
			http.StatusForbidden,
			http.StatusUnprocessableEntity,
			http.StatusServiceUnavailable,
		}, errors...),
		RejectUnknownQueryParameters: true, // a filter that is misspelt lets everything through
		// The door bounds bodies.
		MaxBodyBytes: -1,
	}
}

// opOf is a route before it is described.
type opOf struct {
	method, path string
	least        role
	tag, summary string
}

func (o opOf) op() huma.Operation { return operation(o.method, o.path, o.least, o.tag, o.summary) }

// one is a route of one job that shows something.
func one(what string, least role, summary string) huma.Operation {
	return operation(http.MethodGet, "/jobs/{id}"+what, least, "jobs", summary, http.StatusNotFound)
}

// body is an answer that is its body.
type body[T any] struct{ Body T }

// read registers a route that only looks.
func read[I, O any](a *API, op huma.Operation, fn func(context.Context, view.Look, *I) (O, error)) {
	huma.Register(a, op, func(ctx context.Context, in *I) (*body[O], error) {
		var out body[O]
		err := a.Visitors.ReadAs(ctx, web.CallerOf(ctx).Role, func(l view.Look) (err error) {
			out.Body, err = fn(ctx, l, in)
			return err
		})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &out, nil
	})
}

// change registers a route that changes something, in one transaction.
func change[I, O any](a *API, op huma.Operation, fn func(context.Context, view.Look, *I) (*O, error)) {
	huma.Register(a, op, func(ctx context.Context, in *I) (out *O, err error) {
		err = a.Visitors.As(ctx, web.CallerOf(ctx).Role, func(l view.Look) (err error) {
			out, err = fn(ctx, l, in)
			return err
		})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return out, nil
	})
}
