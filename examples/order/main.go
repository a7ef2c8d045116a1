// Command order is an app in Go: an order and its invoice, in one transaction.
// The invoice is made if, and only if, the order is there.
//
//	DATABASE_URL=postgres://app@db/app go run ./examples/order 42 99.5
//
// The order's table is the app's own:
//
//	create table orders (id bigint primary key, total numeric check (total >= 0));
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// order gives the id of the invoice's job. Where the app is traced, traceparent
// is what propagation.TraceContext{}.Inject writes; empty: none.
func order(ctx context.Context, conn *pgx.Conn, id, total, traceparent string) (job int64, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { // commits, or rolls back when this returns an error
		if err := tx.QueryRow(ctx, "insert into bellhop.jobqueue (type, args, key, traceparent) values ('invoice', $1, $2, nullif($3, '')) returning id",
			id, "invoice."+id, traceparent).Scan(&job); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "insert into orders (id, total) values ($1::text::bigint, $2::text::numeric)", id, total)
		return err
	})
	return job, err
}

func main() {
	if len(os.Args) != 3 {
		fail("usage: order ID TOTAL")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fail(err)
	}
	job, err := order(ctx, conn, os.Args[1], os.Args[2], os.Getenv("TRACEPARENT"))
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
