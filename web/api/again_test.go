package api_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A database that is away is nobody's fault who asks: he is told when to ask again, by the API and by its door; whoever
// asks what cannot be is not.
func TestRefused_SaysWhenToAskAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	config := s.conn.Config().Copy()
	name := pgx.Identifier{config.Database}.Sanitize()
	config.Database = "postgres"
	server, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	if status, _, header := s.answer("operator", "GET", "/jobs/99", ""); status != 404 || header.Get("Retry-After") != "" {
		t.Errorf("%d, again after %q", status, header.Get("Retry-After"))
	}
	for _, text := range []string{
		"alter database " + name + " with allow_connections false",
		"select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + s.conn.Config().Database + "'",
	} {
		if _, err := server.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/jobs", "/jobs/1", "/events"} {
		status, text, header := s.answer("operator", "GET", path, "")
		if status != 503 || header.Get("Retry-After") != "5" {
			t.Errorf("%s: %d, again after %q: %s", path, status, header.Get("Retry-After"), text)
		}
	}
	status, text, header := s.answer("", "GET", "/jobs", "", "Cookie", "bellhop_session=x")
	if status != 503 || header.Get("Retry-After") != "5" {
		t.Errorf("the door: %d, again after %q: %s", status, header.Get("Retry-After"), text)
	}
}
