package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/scheduler"
)

// Right is what the role of a caller needs before its request is looked at any further: without it, no byte of the
// body is read. What a statement may then do, PostgreSQL decides under the role.
type Right string

// The rights that a route can name.
const (
	Known    Right = "known"    // to be let in: it is a look, which has no body
	Submits  Right = "submits"  // to submit jobs, and so to change those of one's own
	Operates Right = "operates" // to be an operator
)

// Room is what stands behind the door: it answers requests, and names the right that each needs.
type Room interface {
	http.Handler
	Right(r *http.Request) Right
}

// Rights tells what a role may do.
type Rights interface {
	Rights(ctx context.Context, role string) (submits, operates bool, err error)
}

// Mux is a room made of routes. There is one way to add a route, and it takes the route's right: the door asks for
// that before the body is read.
type Mux struct {
	mux    http.ServeMux
	rights map[string]func(*http.Request) Right // by pattern
}

// NewMux gives one without routes.
func NewMux() *Mux { return &Mux{rights: map[string]func(*http.Request) Right{}} }

// Route adds a route of http.ServeMux's kind.
func (m *Mux) Route(pattern string, right Right, h http.HandlerFunc) {
	m.mux.HandleFunc(pattern, h)
	m.rights[pattern] = func(*http.Request) Right { return right }
}

// Mount adds another room under a pattern, which keeps the rights that it names itself.
func (m *Mux) Mount(pattern string, room Room) {
	m.mux.Handle(pattern, room)
	m.rights[pattern] = room.Right
}

// Right is the right of the route that a request would take; where there is none, nothing is done that needs another.
func (m *Mux) Right(r *http.Request) Right {
	_, pattern := m.mux.Handler(r)
	if right := m.rights[pattern]; right != nil {
		return right(r)
	}
	return Known
}

// Patterns lists the routes.
func (m *Mux) Patterns() []string { return slices.Sorted(maps.Keys(m.rights)) }

func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// granted remembers for a moment what roles may do.
type granted struct {
	mu    sync.Mutex
	roles map[string]grant
}

type grant struct {
	submits, operates bool
	at                time.Time
}

func (g *granted) of(ctx context.Context, rights Rights, role string, now time.Time) (grant, error) {
	g.mu.Lock()
	one, ok := g.roles[role]
	g.mu.Unlock()
	if ok && now.Sub(one.at) < believed {
		return one, nil
	}
	submits, operates, err := rights.Rights(ctx, role)
	if err != nil {
		return grant{}, err
	}
	one = grant{submits, operates, now}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.roles == nil || len(g.roles) >= knownMost {
		g.roles = map[string]grant{}
	}
	g.roles[role] = one
	return one, nil
}

// may refuses a caller whose role lacks the right of its route.
func (s *Server) may(r *http.Request, who Identity) *Problem {
	in := s.rooms.Load()
	if in == nil {
		return nil // nothing but the words that it is starting
	}
	right := in.room.Right(r)
	if right == Known {
		return nil
	}
	has, err := s.granted.of(r.Context(), in.rights, who.Role, time.Now())
	var gone *scheduler.Unreachable
	switch {
	case errors.As(err, &gone), r.Context().Err() != nil:
		return &noDatabase
	case err != nil:
		return &Problem{Status: http.StatusServiceUnavailable, Code: "no_role", Detail: err.Error(),
			Next: "grant " + who.Role + " to the scheduler's login: bellhop doctor"}
	case right == Submits && !has.submits, right == Operates && !has.operates:
		if who.Via == unnamed && strings.HasPrefix(r.URL.Path, "/api/") {
			return s.noToken()
		}
		return &Problem{Status: http.StatusForbidden, Code: "not_allowed",
			Detail: "the role " + who.Role + " may not do this",
			Next:   "send the token of a role with the right: tokens: in bellhop.yaml; or bellhop ui"}
	}
	return nil
}
