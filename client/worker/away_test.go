package worker_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client/agent"
	"bellhop/client/worker"
	"bellhop/pgdev/pgtest"
)

// heard is a log that tells of each line.
type heard chan string

func (h heard) Write(p []byte) (int, error) {
	select {
	case h <- string(p):
	default:
	}
	return len(p), nil
}

// Told to end while it waits, it ends without an error.
func TestRun_EndsWhileItWaits(t *testing.T) {
	t.Parallel()
	server := pgtest.Cluster(t)
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	server.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	lines := make(heard, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, pool, worker.Logger(slog.New(slog.NewTextHandler(lines, nil))),
			worker.Handle("t", func(context.Context, *agent.Job[string]) error { return nil }))
	}()
	for !strings.Contains(<-lines, "the database is away") {
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
