// Command client is the app of examples/order once more, with bellhop's client
// in place of SQL: an order and its invoice, in one transaction, and then the
// invoice is waited for, for so long.
//
//	DATABASE_URL=postgres://app@db/app go run ./examples/order/client 42 99.5 [1m]
//
// The order's table is the app's own:
//
//	create table orders (id bigint primary key, total numeric check (total >= 0));
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/client"
)

// order gives the id of the invoice's job. Where the app is traced, traceparent
// is what propagation.TraceContext{}.Inject writes; empty: none.
func order(ctx context.Context, conn *pgx.Conn, id, total, traceparent string) (job client.JobID, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { // commits, or rolls back when this returns an error
		if job, err = client.New(tx).Submit(ctx, client.Job{
			Type:        "invoice",
			Args:        id,
			Key:         "invoice." + id,
			Traceparent: traceparent,
		}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "insert into orders (id, total) values ($1::text::bigint, $2::text::numeric)", id, total)
		return err
	})
	return job, err
}

// wait gives an error unless the job succeeds within a time.
func wait(ctx context.Context, conn *pgx.Conn, job client.JobID, patience string) error {
	d, err := time.ParseDuration(patience)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	outcome, err := client.New(conn).Wait(ctx, job)
	if err != nil {
		return err
	}
	return outcome.Err()
}

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fail("usage: client ID TOTAL [HOW LONG TO WAIT]")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fail(err)
	}
	job, err := order(ctx, conn, os.Args[1], os.Args[2], os.Getenv("TRACEPARENT"))
	if err == nil && len(os.Args) == 4 {
		err = wait(ctx, conn, job, os.Args[3])
	}
	_ = conn.Close(ctx) // the program ends
	if err != nil {
		fail(err)
	}
	fmt.Println(job)
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
