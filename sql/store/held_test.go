package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A heartbeat that finds its row locked does not wait for long, and names the process that holds it.
func TestBeat_NamesWhoHoldsItsRow(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	other, err := pgx.Connect(t.Context(), e.url+"&application_name=a%20careless%20one")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from bellhop.instance for update"); err != nil {
		t.Fatal(err)
	}
	var held *RowHeld
	_, err = e.registry.Beat(t.Context(), e.me, "bellhop_beat_test")
	if !errors.As(err, &held) || held.PID != int(other.PgConn().PID()) || held.Who != "a careless one" {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(held.Mend(), "pg_terminate_backend") {
		t.Error(held.Mend())
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.registry.Beat(t.Context(), e.me, "bellhop_beat_test"); err != nil {
		t.Error(err)
	}
}
