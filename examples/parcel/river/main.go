// Command river does orders inside an app, as users of River write them: DATABASE_URL=… river [ORDER]
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	ctx, pool := context.Background(), must(pgxpool.New(context.Background(), os.Getenv("DATABASE_URL")))
	for _, id := range os.Args[1:] {
		must(0, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // InsertTx: the order and its job, both or neither
			_, err := tx.Exec(ctx, "insert into orders values ($1::text::bigint)", id)
			must(client.New(pool).In(tx).Submit(ctx, client.Job{Type: "order", Args: id, Key: "order." + id}))
			return err
		}))
	}
	work := func(ctx context.Context, job *agent.Job[string]) error { // Work
		if charged, _ := job.Kept("charge", new(any)); !charged {
			if err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // these rows and the step: both, or neither
				_, err := tx.Exec(ctx, "with r as (insert into reserved values ($1::text::bigint)) insert into charged values ($1::text::bigint)", job.Args)
				return errors.Join(err, job.SaveStep(ctx, agent.Pgx(tx), "charge", nil))
			}); err != nil {
				return err
			}
		}
		parcel, err := job.Await("parcel."+job.Args, 72*time.Hour)
		if err != nil { // also when it has not come yet: then the job waits as a row
			return err
		}
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // JobCompleteTx
			_, err := tx.Exec(ctx, "insert into mails values ($1::text::bigint, $2::text::jsonb ->> 'to')", job.Args, string(parcel))
			return errors.Join(err, job.Finish(ctx, agent.Pgx(tx), nil))
		})
	}
	must(0, worker.Run(ctx, pool, worker.Handle("order", work, worker.Max(4)))) // client.Start
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
