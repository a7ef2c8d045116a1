// Command everyday is an app's day with bellhop/client: DATABASE_URL=… everyday ORDER
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"bellhop/client"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	ctx, order := context.Background(), os.Args[1]
	pool := must(pgxpool.New(ctx, os.Getenv("DATABASE_URL")))
	bellhop, invoice := client.New(pool), client.JobID(0)
	must(0, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) { // the order and its job: both, or neither
		must(tx.Exec(ctx, "insert into orders values ($1::text::bigint)", order))
		invoice, err = bellhop.In(tx).Submit(ctx, client.Job{Type: "invoice", Args: order, Key: "invoice." + order})
		return err
	}))
	for o, err := range bellhop.Watch(ctx, invoice) { // until it is over
		must(must(0, err), o.Err())
		fmt.Printf("%s %.0f%% %s %s\n", o.State, 100*o.HowFar(), o.Says(), o.Result)
	}
	reminder := must(bellhop.Submit(ctx, client.Job{Type: "invoice", Args: "remind " + order, RunIn: time.Hour}))
	fmt.Println("the reminder is", must(bellhop.Cancel(ctx, reminder)).State)
	fmt.Println(must(bellhop.RetryAll(ctx, client.Filter{Types: []client.TypeName{"mail"}})), "failed mails are tried again")
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
