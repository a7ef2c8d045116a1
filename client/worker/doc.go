// Package worker does jobs inside an app: its handlers are agents without a
// process of their own.
//
//	type Invoice struct{ Order int64 }
//
//	err := worker.Run(ctx, pool,
//		worker.Handle("invoice", func(ctx context.Context, job *agent.Job[Invoice]) error {
//			job.Logf("order %d", job.Args.Order)
//			return makeInvoice(ctx, job.Args.Order)
//		}),
//		worker.Slots(16),
//	)
//
// What runs it is an instance like those of `bellhop serve`, and beside them: it
// is in `bellhop hosts`, has a lease and fences, hears the bell, takes over from
// others and is taken over from. A handler is written as for package client/agent:
// the same function does as an agent behind a pipe, and here.
//
// If the environment says where traces go (OTEL_EXPORTER_OTLP_ENDPOINT), each job has spans as with `bellhop
// serve`: below that of its submitter. [agent.Job.Traceparent] is the context of the run, for spans of the
// handler's own.
//
// # What a process has, and a goroutine has not
//
// A goroutine cannot be killed. When a job is cancelled, takes too long, or its instance has lost its lease, the
// handler's context ends; a handler that ignores that goes on, and keeps its slot until it returns. The job's state
// then changes when the handler returns, except after a lost lease: another instance has the job by that time, and
// both work on it. [agent.Job.Fence] tells such work apart, outside PostgreSQL too. A handler that brings down the
// app brings down all of them: other instances get their jobs after instance.lag and a heartbeat (12 s).
package worker
