package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
)

// awayPatience is how long a busy machine may take.
const awayPatience = 2 * time.Minute

// heard is a log that closes said when a line has the words.
type heard struct {
	words []byte
	said  chan struct{}
	once  sync.Once
}

func (h *heard) Write(p []byte) (int, error) {
	if bytes.Contains(p, h.words) {
		h.once.Do(func() { close(h.said) })
	}
	return len(p), nil
}

// waiting starts Run on a database that is away, and returns when it has said so. ended is what Run returns.
func waiting(t *testing.T, server *pgdev.Cluster, work worker.Part) (stop func(), ended <-chan error) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	server.Kill()
	// Kill does not wait: a server that still answers has the schema, or says that there is none.
	pgtest.Eventually(t, awayPatience, "the server answers no more", func() bool {
		conn, err := pgx.Connect(t.Context(), server.URL())
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err != nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	log := &heard{words: []byte("the database is away"), said: make(chan struct{})}
	over := make(chan error, 1)
	go func() { over <- worker.Run(ctx, pool, worker.Logger(slog.New(slog.NewTextHandler(log, nil))), work) }()
	t.Cleanup(cancel)
	select {
	case <-log.said:
	case err := <-over:
		t.Fatalf("it has ended, and did not wait: %v", err)
	case <-time.After(awayPatience):
		t.Fatal("it does not say that the database is away")
	}
	return cancel, over
}

// isOver waits until Run has ended, without an error.
func isOver(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(awayPatience):
		t.Fatal("it does not end")
	}
}

// Told to end while it waits, it ends without an error.
func TestRun_EndsWhileItWaits(t *testing.T) {
	t.Parallel()
	stop, ended := waiting(t, pgtest.Cluster(t),
		worker.Handle("t", func(context.Context, *agent.Job[string]) error { return nil }))
	stop()
	isOver(t, ended)
}

// When the database answers, it begins, and does what waits there.
func TestRun_BeginsWhenTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	server := pgtest.Cluster(t)
	if err := migrated.Schema(t.Context(), server.URL()); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.New(pool).Submit(t.Context(), client.Job{Type: "t"})
	if pool.Close(); err != nil { // its connections would be of the server that is killed
		t.Fatal(err)
	}
	begun := make(chan int64, 1)
	stop, ended := waiting(t, server, worker.Handle("t", func(_ context.Context, job *agent.Job[string]) error {
		begun <- job.ID
		return nil
	}))
	if err := server.Restart(t.Context(), "immediate"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case err := <-ended:
		t.Fatalf("it has ended: %v", err)
	case <-time.After(awayPatience):
		t.Fatal("the job does not begin")
	}
	stop()
	isOver(t, ended)
}
