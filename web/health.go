package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// Health says in words what keeps the instance from working; empty: nothing does.
type Health func() string

// ErrNoToken: the address can be reached from other machines, and nothing would ask for their identity.
var ErrNoToken = errors.New("refusing to listen on an address that other machines can reach without a token")

// Counts answers /metrics; nil: not available now.
type Counts func() http.Handler

// Config is what a site is opened with.
type Config struct {
	Listen string   // host:port
	Hosts  []string // names under which it may be asked, besides localhost, addresses and this machine's own
	Tokens []Token
	Behind Behind
	Ready  Health
	Counts Counts
	People People // nil: people sign in by bellhop ui alone
}

// Server answers /healthz (the process lives), /readyz (it can work), /metrics, and the rooms.
type Server struct {
	http *http.Server
	ln   net.Listener
	// prefix is that of the configuration.
	prefix string
	// closing ends what streams: Shutdown waits for requests that would never end.
	closing context.Context
	rooms   atomic.Pointer[rooms]
	known   known
	granted granted
	people  People
	// answering bounds how many answers of the provider are looked at at once: each asks it again.
	answering Places
}

// rooms are what is there once there is a database.
type rooms struct {
	room     Room
	sessions Sessions
	rights   Rights
}

// Listen opens the address. Without a token it must be a loopback one. With the
// one of BELLHOP_TOKEN or token_file, or with people that sign in, everything but health asks for the caller's
// identity, on loopback too.
func Listen(c Config) (*Server, error) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", c.Listen, err)
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if len(c.Tokens) == 0 && c.People == nil && !loopback {
		return nil, fmt.Errorf("listen on %q: %w", c.Listen, ErrNoToken)
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	closing, closes := context.WithCancel(context.Background())
	s := &Server{ln: ln, prefix: c.Behind.Prefix, closing: closing, people: c.People,
		answering: Places{All: 16, Each: 16}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := c.Ready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok: registered, lease held, bell heard")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if h := c.Counts(); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "no metrics: still starting, or switched off by OTEL_SDK_DISABLED or OTEL_METRICS_EXPORTER",
			http.StatusServiceUnavailable)
	})
	mux.HandleFunc("GET /login/{secret}", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	if c.People != nil {
		mux.HandleFunc(loginPath, s.signIn)
		mux.HandleFunc(callbackPath, s.signedInBy)
		c.Hosts = append(slices.Clone(c.Hosts), c.People.Site().Hostname())
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if in := s.rooms.Load(); in != nil {
			in.room.ServeHTTP(w, r)
			return
		}
		Refuse(w, r, starting)
	})
	d := &door{hosts: hostList(host, c.Hosts), behind: c.Behind, tokens: newTokens(c.Tokens), next: mux, site: s}
	d.anonymous = loopback && !d.tokens.main && c.People == nil
	s.http = &http.Server{Handler: d, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: Patience,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	s.http.RegisterOnShutdown(closes)
	go func() { _ = s.http.Serve(ln) }() // ends with Close, which waits for it
	return s, nil
}

// Open enables a room's routes; sessions stores logins, rights tells what roles may do.
func (s *Server) Open(room Room, sessions Sessions, rights Rights) {
	s.rooms.Store(&rooms{room, sessions, rights})
}

// ServeHTTP answers as the listener does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Addr is where it listens.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Reached is host:port as a client on this machine names it or, if every address answers, a client on another.
func (s *Server) Reached() string {
	host, port, err := net.SplitHostPort(s.Addr())
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return s.Addr()
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return net.JoinHostPort(name, port)
}

// At is where a client on this machine asks for a path of the site.
func (s *Server) At(path string) string { return "http://" + s.Reached() + s.prefix + path }

// Close stops answering; requests under way get a second, and streams end.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.http.Shutdown(ctx) // the process cuts off requests that still run
}
