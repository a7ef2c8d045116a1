package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// river is riverqueue/river with handlers in this very process. best: as its
// authors tune it for benchmarks; else as it comes.
type river struct {
	best   bool
	pool   *pgxpool.Pool
	client *riverqueue.Client[pgx.Tx]
}

type noopArgs struct {
	Line string `json:"line"`
}

func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	riverqueue.WorkerDefaults[noopArgs]
	seen *os.File
}

func (w *noopWorker) Work(_ context.Context, job *riverqueue.Job[noopArgs]) error {
	if w.seen != nil {
		t := monotonic()
		_, err := w.seen.WriteString(job.Args.Line + " " + strconv.FormatInt(t, 10) + "\n")
		return err
	}
	return nil
}

func (r *river) name() string {
	if r.best {
		return "River best"
	}
	return "River default"
}

func (r *river) start(ctx context.Context, url, seen string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	r.pool = pool
	driver := riverpgxv5.New(pool)
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	// Raw INSERTs, as apps in other languages make them, do not ring River by
	// themselves: this is what its own client sends with each insert.
	if _, err := pool.Exec(ctx, `create function bench_ring() returns trigger language plpgsql as $$
		begin perform pg_notify(current_schema() || '.river_insert', '{"queue":"default"}'); return null; end $$;
		create trigger bench_ring after insert on river_job for each statement execute function bench_ring()`); err != nil {
		return err
	}
	worker := &noopWorker{}
	if seen != "" {
		if worker.seen, err = os.Create(seen); err != nil {
			return err
		}
	}
	workers := riverqueue.NewWorkers()
	riverqueue.AddWorker(workers, worker)
	config := &riverqueue.Config{Workers: workers, Logger: quiet, Queues: map[string]riverqueue.QueueConfig{riverqueue.QueueDefault: {MaxWorkers: 100}}}
	if r.best {
		config.FetchCooldown, config.FetchPollInterval = time.Millisecond, time.Second
		if seen == "" {
			config.Queues[riverqueue.QueueDefault] = riverqueue.QueueConfig{MaxWorkers: 2000}
		}
	}
	if r.client, err = riverqueue.NewClient(driver, config); err != nil {
		return err
	}
	return r.client.Start(ctx)
}

func (r *river) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = r.client.StopAndCancel(ctx) // what it leaves behind is in a database of its own
	r.pool.Close()
}

func (r *river) insertOne() string {
	return "insert into river_job (args, kind, max_attempts) values (json_build_object('line', $1::text), 'noop', 25)"
}
func (r *river) insertMany() string {
	return "insert into river_job (args, kind, max_attempts) select json_build_object('line', g::text), 'noop', 25 from generate_series(1, $1::int) g"
}
func (r *river) left() string {
	return "select (exists (select from river_job where state = 'available') or exists (select from river_job where state = 'running'))::int"
}
func (r *river) double() string {
	return "select count(*) from river_job where state <> 'completed' or attempt <> 1"
}
