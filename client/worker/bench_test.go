package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
)

// BenchmarkDrain empties a queue by handlers of one job, and of a hundred.
func BenchmarkDrain(b *testing.B) {
	const jobs = 20_000
	for _, how := range []string{"one", "batch"} {
		b.Run(how, func(b *testing.B) {
			for range b.N {
				drain(b, how, jobs)
			}
		})
	}
}

func drain(b *testing.B, how string, jobs int) {
	a := setup(b)
	const backlog = `insert into bellhop.jobqueue (type, args) select 'mail', '1' from generate_series(1, $1)`
	if _, err := a.pool.Exec(b.Context(), backlog, jobs); err != nil {
		b.Fatal(err)
	}
	var done atomic.Int64
	over := make(chan bool, 1)
	count := func(n int) {
		if done.Add(int64(n)) == int64(jobs) {
			over <- true
		}
	}
	part := worker.Handle("mail", func(context.Context, *agent.Job[string]) error { count(1); return nil })
	if how == "batch" {
		part = worker.HandleBatch("mail", 100, 0, func(_ context.Context, jobs []*agent.Job[string]) []error {
			count(len(jobs))
			return nil
		})
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- worker.Run(ctx, a.pool, part, worker.Slots(4)) }()
	<-over
	last := time.Now()
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	all := client.Filter{States: []client.State{client.Succeeded}}
	if n, err := a.Count(b.Context(), all); err != nil || n != int64(jobs) {
		b.Errorf("%d have succeeded, %v", n, err)
	}
	b.ReportMetric(float64(jobs)/last.Sub(began).Seconds(), "jobs/s")
}
