package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
)

// TestMain is also the app that dies: see crash_test.go.
func TestMain(m *testing.M) {
	if url := os.Getenv("WORKER_TEST_APP"); url != "" {
		os.Exit(doomed(url))
	}
	os.Exit(pgtest.Main(m))
}

// app is one that has handlers, on a database of its own.
type app struct {
	*client.Client
	t    testing.TB
	url  string
	pool *pgxpool.Pool
}

func setup(t testing.TB) *app {
	t.Helper()
	url := migrated.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &app{client.New(pool), t, url, pool}
}

// run runs handlers until the test ends; stop ends them before, and gives what Run returns.
func (a *app) run(parts ...worker.Part) (stop func() error) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	quiet := slog.New(slog.NewTextHandler(a.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	go func() {
		ended <- worker.Run(ctx, a.pool, append([]worker.Part{worker.Logger(quiet), worker.Slots(4)}, parts...)...)
	}()
	stopped := false
	stop = func() error {
		stopped = true
		cancel()
		return <-ended
	}
	a.t.Cleanup(func() {
		if !stopped {
			if err := stop(); err != nil {
				a.t.Error(err)
			}
		}
	})
	return stop
}

func (a *app) submit(job client.Job) client.JobID {
	a.t.Helper()
	id, err := a.Submit(a.t.Context(), job)
	if err != nil {
		a.t.Fatal(err)
	}
	return id
}

// outcome waits for a job's end.
func (a *app) outcome(id client.JobID) client.Outcome {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	o, err := a.Wait(ctx, id)
	if err != nil {
		a.t.Fatalf("job %d: %v", id, err)
	}
	return o
}

type invoice struct {
	Order int64
	Note  string
}

// patient works until its context ends.
func patient(begun chan<- int64) worker.Part {
	return worker.Handle("patient", func(ctx context.Context, job *agent.Job[string]) error {
		begun <- job.ID
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), agent.ErrStopped) {
			return errors.New("the cause is another")
		}
		return context.Cause(ctx)
	})
}
