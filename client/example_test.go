package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
)

// db is an app's: pgxpool.New(ctx, os.Getenv("DATABASE_URL")).
var db *pgxpool.Pool

type Order struct{ Number int }

var out io.Writer = os.Stdout

func Example() {
	ctx := context.Background()
	bellhop := client.New(db)
	id, err := bellhop.Submit(ctx, client.Job{Type: "invoice", JSON: Order{42}, Key: "invoice.42"})
	if err != nil {
		log.Fatal(err)
	}
	reasons, err := bellhop.Explain(ctx, id) // why does it not run?
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range reasons {
		fmt.Fprintln(out, r.Code)
	}
	_, err = bellhop.Submit(ctx, client.Job{Type: "invoice", JSON: Order{42}, Key: "invoice.42"})
	fmt.Fprintln(out, err) // the same key is the same job
}

// The job exists if the transaction commits.
func ExampleClient_In() {
	ctx := context.Background()
	tx, err := db.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback(ctx)
	bellhop := client.New(db)
	id, err := bellhop.In(tx).Submit(ctx, client.Job{Type: "mail", Args: "ada@example.org"})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Rollback(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = bellhop.Job(ctx, id)
	fmt.Fprintln(out, errors.Is(err, client.ErrNotFound))
}

// One job starts when two others have succeeded; a fourth has to be alone with a customer.
func ExampleJob() {
	ctx := context.Background()
	bellhop := client.New(db)
	var parts []client.JobID
	for _, args := range []string{"odd", "even"} {
		id, err := bellhop.Submit(ctx, client.Job{Type: "count", Args: args})
		if err != nil {
			log.Fatal(err)
		}
		parts = append(parts, id)
	}
	sum, err := bellhop.Submit(ctx, client.Job{Type: "sum", After: parts})
	if err != nil {
		log.Fatal(err)
	}
	job, err := bellhop.Job(ctx, sum)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(out, job.State)
	alone := client.Job{Type: "close", Args: "7", Locks: []string{"customer:7=exclusive"}, Priority: -5}
	if _, err := bellhop.Submit(ctx, alone); err != nil {
		log.Fatal(err)
	}
}

// Examples are shown in the documentation without a database of their own, and run here with one.
func TestExamples_Run(t *testing.T) {
	a := setup(t)
	db = a.pool
	for name, example := range map[string]struct {
		run  func()
		want string
	}{
		"the package": {Example, "no_instance\n<nil>\n"},
		"In":          {ExampleClient_In, "true\n"},
		"Job":         {ExampleJob, "blocked\n"},
	} {
		var said writer
		out = &said
		if example.run(); string(said) != example.want {
			t.Errorf("%s says %q, want %q", name, said, example.want)
		}
	}
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }
