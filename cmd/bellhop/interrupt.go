package main

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"bellhop/scheduler"
)

// exitInterrupted is what a shell gives for a program that Ctrl-C ended.
const exitInterrupted = 130

// watching runs f, which waits for jobs. Ctrl-C ends the waiting and not the
// jobs, and says so: left gives those that are open, again what waits for them
// once more. A second Ctrl-C ends the program at once.
func (a *app) watching(ctx context.Context, again string, left func() []scheduler.JobID, f func(context.Context) error) error {
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT)
	defer release()
	stop := context.AfterFunc(ctx, release)
	defer stop()
	err := f(ctx)
	if !errors.Is(err, context.Canceled) {
		return err
	}
	open := left()
	if len(open) > 0 {
		what := "job " + list(open) + " goes on"
		if len(open) > 1 {
			what = "jobs " + list(open) + " go on"
		}
		ids := idWords(open)
		a.note("%s; to wait again: bellhop %s %s; to end: bellhop cancel %s", what, again, ids, ids)
	}
	return silent(exitInterrupted)
}
