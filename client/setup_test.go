package client_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// app is one that uses the client, on a database of its own.
type app struct {
	*client.Client
	t    *testing.T
	pool *pgxpool.Pool
}

func setup(t *testing.T) *app {
	t.Helper()
	url := migrated.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &app{client.New(pool), t, pool}
}

func (a *app) exec(text string, args ...any) {
	a.t.Helper()
	if _, err := a.pool.Exec(context.Background(), text, args...); err != nil {
		a.t.Fatalf("%s: %v", text, err)
	}
}

// submit adds a job that nothing is wrong with.
func (a *app) submit(job client.Job) client.JobID {
	a.t.Helper()
	id, err := a.Submit(a.t.Context(), job)
	if err != nil {
		a.t.Fatal(err)
	}
	return id
}

// end ends a job as an instance would.
func (a *app) end(id client.JobID, state client.State, more string) {
	a.t.Helper()
	a.exec("update bellhop.jobqueue set state = $2, attempt = 1, started_at = now(), ended_at = now()"+more+" where id = $1", id, state)
}

func value[T any](a *app, text string, args ...any) (v T) {
	a.t.Helper()
	if err := a.pool.QueryRow(a.t.Context(), text, args...).Scan(&v); err != nil {
		a.t.Fatalf("%s: %v", text, err)
	}
	return v
}
