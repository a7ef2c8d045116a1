package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/client"
)

// What the database says is told in one word.
func TestErrors_OfTheDatabase(t *testing.T) {
	t.Parallel()
	a := setup(t)
	locker, err := a.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Rollback(context.Background()) }()
	for _, c := range []struct {
		name, before string
		class        client.Class
	}{
		{"no right", "set local role pg_monitor", client.ErrDenied},
		{"read-only", "set transaction read only", client.ErrUnavailable},
		{"a limit", "set local lock_timeout = 1", client.ErrTimeout},
		{"no schema", "alter schema bellhop rename to away", client.ErrSchema},
	} {
		if c.class == client.ErrTimeout {
			if _, err := locker.Exec(t.Context(), "lock table bellhop.jobqueue"); err != nil {
				t.Fatal(err)
			}
		}
		err := pgx.BeginFunc(t.Context(), a.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), c.before); err != nil {
				t.Fatal(err)
			}
			_, err := a.In(tx).Submit(t.Context(), client.Job{Type: "t"})
			return err
		})
		_ = locker.Rollback(t.Context())
		var e *client.Error
		if !errors.Is(err, c.class) || !errors.As(err, &e) || e.SQLState == "" {
			t.Errorf("%s: %v, want %q", c.name, err, c.class)
		}
		if locker, err = a.pool.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Law: every SQLSTATE has a class, and the longest beginning that is known counts.
func TestClassOf(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]client.Class{
		"": client.ErrSystem, "XX000": client.ErrSystem, "08006": client.ErrUnavailable, "57P01": client.ErrUnavailable,
		"57014": client.ErrTimeout, "55000": client.ErrRefused, "55P03": client.ErrTimeout, "42501": client.ErrDenied,
		"42601": client.ErrInvalid, "42P01": client.ErrSchema, "23514": client.ErrInvalid, "23505": client.ErrRefused,
		"23503": client.ErrNotFound, "40001": client.ErrRefused, "53100": client.ErrSystem, "53300": client.ErrUnavailable,
	} {
		if got := client.ClassOf(state); got != want {
			t.Errorf("%s is %q, want %q", state, got, want)
		}
	}
}
