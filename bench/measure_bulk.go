package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	riverqueue "github.com/riverqueue/river"
)

// measureBulk copies many jobs into the queue in one transaction; no instance runs.
func measureBulk(ctx context.Context, b *bench, round int) error {
	n := b.length(150_000, 500_000)
	note := func(name string, began time.Time) {
		b.note(round, "bulk insert in one transaction (COPY)", name, float64(n)/time.Since(began).Seconds(), "rows/s")
	}
	row := []any{"noop", "17"}
	copied := func(name, arrange string) func() error {
		return func() error {
			return b.bare(ctx, func(db *database, conn *pgx.Conn) error {
				if err := b.migrate(ctx, b.binary, db.url); err != nil {
					return err
				}
				if _, err := conn.Exec(ctx, arrange); err != nil {
					return err
				}
				copyRows := func(n int) error {
					_, err := conn.CopyFrom(ctx, pgx.Identifier{"bellhop", "jobqueue"}, []string{"type", "args"},
						pgx.CopyFromSlice(n, func(int) ([]any, error) { return row, nil }))
					return err
				}
				if err := copyRows(1000); err != nil { // warm
					return err
				}
				began := time.Now()
				if err := copyRows(n); err != nil {
					return err
				}
				note(name, began)
				return nil
			})
		}
	}
	byRiver := func() error {
		return b.bare(ctx, func(db *database, _ *pgx.Conn) error {
			client, pool, err := riverProducer(ctx, db.url, 1)
			if err != nil {
				return err
			}
			defer pool.Close()
			if err := riverSchema(ctx, pool); err != nil {
				return err
			}
			list := make([]riverqueue.InsertManyParams, n)
			for i := range list {
				list[i].Args = noopArgs{Line: "17"}
			}
			if _, err := client.InsertManyFast(ctx, list[:1000]); err != nil { // warm
				return err
			}
			began := time.Now()
			if _, err := client.InsertManyFast(ctx, list); err != nil {
				return err
			}
			note("River best", began)
			return nil
		})
	}
	return inTurn(round, copied("plain", "alter table bellhop.jobqueue disable trigger user"), copied("bellhop", ""),
		byRiver)
}

// bare runs f in a database without an instance.
func (b *bench) bare(ctx context.Context, f func(*database, *pgx.Conn) error) (err error) {
	db, err := b.database(ctx, "")
	if err != nil {
		return err
	}
	defer func() {
		if dropErr := db.drop(ctx); err == nil {
			err = dropErr
		}
	}()
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return f(db, conn)
}
