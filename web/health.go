// Package web is what `serve` answers over HTTP. It decides nothing about jobs:
// it shows.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Health says in words what keeps the instance from working; empty: nothing does.
type Health func() string

// ErrNoToken: the address can be reached from other machines, and nothing
// would ask them who they are.
var ErrNoToken = errors.New("refusing to listen on an address that other machines can reach without a token")

// Server answers /healthz (the process lives), /readyz (it can work) and /metrics.
type Server struct {
	http *http.Server
	ln   net.Listener
}

// Counts answers /metrics; nil: nobody does just now.
type Counts func() http.Handler

// Listen opens the address. Without a token it must be a loopback one. With one,
// everything but health asks for it, on loopback too.
func Listen(addr, token string, ready Health, counts Counts) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %q: %w", addr, ErrNoToken)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := ready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok: registered, lease held, bell heard")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if h := counts(); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "no metrics: still starting, or switched off by OTEL_SDK_DISABLED or OTEL_METRICS_EXPORTER",
			http.StatusServiceUnavailable)
	})
	s := &Server{
		ln: ln,
		http: &http.Server{Handler: guarded(token, mux), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
			WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10},
	}
	go func() { _ = s.http.Serve(ln) }() // ends with Close, which waits for it
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Close stops answering; requests under way get a second.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.http.Shutdown(ctx) // whoever is still asking is cut off with the process
}
