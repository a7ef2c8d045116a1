package torture

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client/agent"
	"bellhop/client/worker"
)

// insideVariable names the database of a witness that is an app with handlers inside: an instance of its own.
const insideVariable = "BELLHOP_TORTURE_INSIDE"

// errPlanned fails an attempt that is to fail.
var errPlanned = errors.New("as planned")

// inside does jobs in handlers.
func (w *witness) inside(ctx context.Context, url string) error {
	ctx, stop := employed(ctx)
	defer stop()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	handler := func(_ context.Context, job *agent.Job[string]) error {
		if !w.do(claim{ID: job.ID, Fence: job.Fence, Attempt: job.Attempt, Args: job.Args}) {
			return errPlanned
		}
		return nil
	}
	return worker.Run(ctx, pool, worker.Handle("inside", handler), worker.Name("app"), worker.Slots(4),
		worker.Grace(time.Second))
}
