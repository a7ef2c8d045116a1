package pgtest_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/pgdev/pgtest"
)

// A standby shows what its primary has written and takes no writes; promoted, it
// takes them, and lacks what it did not receive.
func TestStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Cluster(t)
	first := connect(t, primary.URL())
	for _, statement := range []string{"CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)"} {
		if _, err := first.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	standby := pgtest.Standby(t, primary)
	if _, err := first.Exec(t.Context(), "INSERT INTO kept VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	pgtest.CaughtUp(t, primary, standby)
	pgtest.StopReceiving(t, standby)
	if _, err := first.Exec(t.Context(), "INSERT INTO kept VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	second := connect(t, standby.URL())
	var refused *pgconn.PgError
	if _, err := second.Exec(t.Context(), "INSERT INTO kept VALUES (4)"); !errors.As(err, &refused) || refused.Code != "25006" {
		t.Fatalf("a standby took a write: %v", err)
	}
	primary.Kill()
	pgtest.Promote(t, standby)
	promoted := connect(t, pgtest.Hosts(t, "target_session_attrs=read-write", primary, standby))
	var kept []int
	if err := promoted.QueryRow(t.Context(), "SELECT array_agg(n ORDER BY n) FROM kept").Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 2 {
		t.Errorf("kept %d", kept)
	}
	if _, err := promoted.Exec(t.Context(), "INSERT INTO kept VALUES (5)"); err != nil {
		t.Errorf("promoted: %v", err)
	}
}
