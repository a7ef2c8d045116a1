package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// sell takes orders until it is told to stop.
func sell(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("sell", flag.ContinueOnError)
	every := flags.Duration("every", 5*time.Second, "from one order to the next")
	orders := flags.Int("orders", 0, "how many; 0: no end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }() // whatever was committed is committed
	for n := 1; ; n++ {
		if err := order(ctx, db); err != nil {
			return err
		}
		if n == *orders {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(*every):
		}
	}
}

var wares = []string{"a kettle", "a bell", "two chairs", "a trunk"}

// order writes an order and submits the job that invoices it, both or neither.
func order(ctx context.Context, db *pgx.Conn) error {
	ctx, span := tracer.Start(ctx, "take order", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	mine := propagation.MapCarrier{}
	carrier.Inject(ctx, mine)

	var order, job int64
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "insert into shop.orders (what, total) values ($1, $2) returning id",
			wares[rand.IntN(len(wares))], 1+rand.IntN(200)).Scan(&order)
		if err != nil {
			return err
		}
		// Until the transaction ends, each job that is submitted belongs to this trace.
		if _, err := tx.Exec(ctx, "select set_config('bellhop.traceparent', $1, true)", mine["traceparent"]); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "insert into bellhop.jobqueue (type, args, key) values ('invoice', $1, $2) returning id",
			fmt.Sprint(order), fmt.Sprint("invoice.", order)).Scan(&job)
	})
	if err != nil {
		span.RecordError(err)
		return err
	}
	span.SetAttributes(attribute.Int64("shop.order", order))
	fmt.Printf("order %d is job %d: %s%s\n", order, job, os.Getenv("TRACES_URL"), span.SpanContext().TraceID())
	return nil
}
