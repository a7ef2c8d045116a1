// Package client is bellhop for apps in Go: it submits jobs, waits for them,
// changes them, and tells what became of them and why.
//
//	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
//	bellhop := client.New(pool)
//	id, err := bellhop.Submit(ctx, client.Job{Type: "invoice", JSON: Invoice{Order: 42}})
//	outcome, err := bellhop.Wait(ctx, id)
//
// In a transaction of the app's the job exists if, and only if, that commits:
//
//	id, err := bellhop.In(tx).Submit(ctx, job)
//
// A client starts nothing and holds nothing: every method is one statement or
// a few, over the connection, the pool or the transaction that it was given.
// It may be used by several goroutines where that may be. It runs no jobs
// either: agents do, under `bellhop serve`; see package client/agent for those
// in Go, and client/clienttest for tests of both.
//
// The schema has to be there: `bellhop migrate`, or `bellhop serve`.
//
// # Errors
//
// An error of the database, or of the way to it, is an *[Error]. It says of
// which [Class] it is, so that errors.Is(err, client.ErrNotFound) asks what is
// to be done about it, and which rule was broken, by the name of the
// constraint. What ends a context is left as it is.
package client
