package api_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
	"bellhop/sql/view"
	"bellhop/web"
	"bellhop/web/api"
	"bellhop/web/operation"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// site is an API on a database of its own, with a token for each role.
type site struct {
	t        *testing.T
	at       string
	conn     *pgx.Conn
	visitors *view.Visitors
	worker   *operation.Worker
	hub      *api.Hub
	door     http.Handler
}

var tokens = map[string]string{
	"reader": "reader-reader-reader", "submitter": "submitter-submitter", "operator": "operator-operator-",
	"expired": "expired-expired-expired", "wrong": "nobody-knows-this-one",
}

func open(t *testing.T) *site {
	t.Helper()
	url := migrated.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	s := &site{t: t, conn: conn}
	if s.visitors, err = view.NewVisitors(url); err != nil {
		t.Fatal(err)
	}
	s.visitors.Actor = web.Actor
	t.Cleanup(s.visitors.Close)
	log := slog.New(slog.DiscardHandler)
	s.worker = operation.NewWorker(s.visitors, log)
	s.hub = api.NewHub(s.visitors, log)
	t.Cleanup(s.hub.Close)
	server, err := web.Listen(web.Config{
		Listen: "127.0.0.1:0", Ready: func() string { return "" }, Counts: func() http.Handler { return nil },
		Tokens: []web.Token{
			{Name: "r", Role: "bellhop_reader", Secret: tokens["reader"]},
			{Name: "s", Role: "bellhop_submitter", Secret: tokens["submitter"]},
			{Name: "o", Role: "bellhop_operator", Secret: tokens["operator"]},
			{Name: "e", Role: "bellhop_operator", Secret: tokens["expired"], Expires: time.Now().Add(-time.Hour)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Open(
		api.New(api.Config{Visitors: s.visitors, Version: "test", Log: log, Hub: s.hub, Operations: s.worker}),
		s.visitors, s.visitors,
	)
	s.door = server
	s.at = "http://" + server.Addr() + api.Prefix
	return s
}

// ask sends a request as a role (empty: without a token), and gives the status and the answer.
func (s *site) ask(role, method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	status, text, _ := s.answer(role, method, path, body, headers...)
	return status, text
}

func (s *site) answer(role, method, path, body string, headers ...string) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.at+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+tokens[role])
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") { // it goes on
		some := make([]byte, 512)
		n, _ := a.Body.Read(some)
		return a.StatusCode, string(some[:n]), a.Header
	}
	var text bytes.Buffer
	_, _ = io.Copy(&text, io.LimitReader(a.Body, 8<<20))
	return a.StatusCode, text.String(), a.Header
}

// must asks, and ends the test where the status is another.
func (s *site) must(status int, role, method, path, body string, headers ...string) string {
	s.t.Helper()
	got, text := s.ask(role, method, path, body, headers...)
	if got != status {
		s.t.Fatalf("%s %s as %q: %d, not %d: %s", method, path, role, got, status, text)
	}
	return text
}

func (s *site) exec(text string, args ...any) {
	s.t.Helper()
	if _, err := s.conn.Exec(context.Background(), text, args...); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

func value[T any](s *site, text string, args ...any) (v T) {
	s.t.Helper()
	if err := s.conn.QueryRow(context.Background(), text, args...).Scan(&v); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return v
}
