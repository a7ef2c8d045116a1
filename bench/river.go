package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"bellhop/bench/receipt"
)

// riverVersion is what go.mod asks for; the report names it.
const riverVersion = "v0.51.0"

// river is riverqueue/river with its handlers inside its process. best: as its
// authors tune it for benchmarks; else as it comes.
type river struct {
	process
	b    *bench
	best bool
}

func (r *river) name() string {
	if r.best {
		return "River best"
	}
	return "River default"
}

func (r *river) start(_ context.Context, url string, o options) error {
	return r.run(r.b, yardstick{Kind: "river", Best: r.best, URL: url, options: o})
}

func (r *river) insertOne() string {
	return "insert into river_job (args, kind, max_attempts) values (json_build_object('line', $1::text), 'noop', 25)"
}
func (r *river) insertMany() string {
	return "insert into river_job (args, kind, max_attempts) select json_build_object('line', g::text), 'noop', 25 from generate_series(1, $1::int) g"
}
func (r *river) left() string {
	return "select (select count(*) from river_job where state = 'available') + (select count(*) from river_job where state = 'running')"
}
func (r *river) bad() string {
	return "select count(*) from river_job where state <> 'completed' or attempt <> 1"
}

type noopArgs struct {
	Line string `json:"line"`
}

func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	riverqueue.WorkerDefaults[noopArgs]
	desk *receipt.Desk
}

func (w *noopWorker) Work(ctx context.Context, job *riverqueue.Job[noopArgs]) error {
	work, err := w.desk.Take([]byte(job.Args.Line))
	if work > 0 {
		select {
		case <-time.After(work):
		case <-ctx.Done():
		}
	}
	return err
}

// Timeout keeps River from ending the jobs that only keep it busy.
func (w *noopWorker) Timeout(*riverqueue.Job[noopArgs]) time.Duration { return -1 }

var quiet = slog.New(slog.DiscardHandler)

// startRiver is River itself, on a database without its schema or with it.
func startRiver(ctx context.Context, y yardstick) (stop func() error, err error) {
	pool, err := pgxpool.New(ctx, y.URL)
	if err != nil {
		return nil, err
	}
	if err := riverSchema(ctx, pool); err != nil {
		return nil, err
	}
	desk, err := receipt.Open(y.Notes)
	if err != nil {
		return nil, err
	}
	workers := riverqueue.NewWorkers()
	riverqueue.AddWorker(workers, &noopWorker{desk: desk})
	config := &riverqueue.Config{Workers: workers, Logger: quiet,
		Queues: map[string]riverqueue.QueueConfig{riverqueue.QueueDefault: {MaxWorkers: 100}}}
	if y.Best {
		config.FetchCooldown, config.FetchPollInterval = time.Millisecond, time.Second
		if y.Drain {
			config.Queues[riverqueue.QueueDefault] = riverqueue.QueueConfig{MaxWorkers: 2000}
		}
	}
	client, err := riverqueue.NewClient(riverpgxv5.New(pool), config)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = client.StopAndCancel(ctx) // what it leaves behind is in a database of its own
		pool.Close()
		return nil
	}, nil
}

func riverSchema(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	// Raw INSERTs, as apps in other languages make them, do not ring River by
	// themselves: this is what its own client sends with each insert.
	_, err = pool.Exec(ctx, `create or replace function bench_ring() returns trigger language plpgsql as $$
		begin perform pg_notify(current_schema() || '.river_insert', '{"queue":"default"}'); return null; end $$;
		create or replace trigger bench_ring after insert on river_job for each statement execute function bench_ring()`)
	return err
}

// riverProducer is River's own client, for inserting only.
func riverProducer(ctx context.Context, url string, conns int) (*riverqueue.Client[pgx.Tx], *pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	config.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	client, err := riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{Logger: quiet})
	return client, pool, err
}
