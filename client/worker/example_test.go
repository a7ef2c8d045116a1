package worker_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
)

// db is an app's: pgxpool.New(ctx, os.Getenv("DATABASE_URL")).
var db *pgxpool.Pool

// The app submits a job, does it, and waits for its outcome. An app that only works has Run alone.
func ExampleRun() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, db,
			worker.Handle("double", func(_ context.Context, job *agent.Job[int]) error {
				job.Result(2 * job.Args)
				return nil
			}, worker.Max(4), worker.Retry(3, time.Second, time.Minute)),
			worker.Slots(16))
	}()
	bellhop := client.New(db)
	id, err := bellhop.Submit(ctx, client.Job{Type: "double", JSON: 21})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := bellhop.Wait(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	var doubled int
	if err := outcome.Into(&doubled); err != nil {
		log.Fatal(err)
	}
	answer = fmt.Sprint(outcome.State, " ", doubled)
	stop()
	<-ended
}

var answer string

// The example is shown in the documentation without a database of its own, and runs here with one.
func TestExamples_Run(t *testing.T) {
	db = setup(t).pool
	if ExampleRun(); answer != "succeeded 42" {
		t.Errorf("the answer is %q", answer)
	}
}
