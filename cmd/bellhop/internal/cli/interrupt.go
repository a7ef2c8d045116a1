package cli

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"bellhop/scheduler"
)

// ExitInterrupted is what a shell gives for a program that Ctrl-C ended.
const ExitInterrupted = 130

// Watching runs f, which waits for jobs. Ctrl-C ends the waiting and not the
// jobs, and says so: left gives those that are open, again what waits for them
// once more. A second Ctrl-C ends the program at once.
func (a *App) Watching(
	ctx context.Context, again string, left func() []scheduler.JobID, f func(context.Context) error,
) error {
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
		what := "job " + List(open) + " goes on"
		if len(open) > 1 {
			what = "jobs " + List(open) + " go on"
		}
		ids := idWords(open)
		a.Note("%s; to wait again: bellhop %s %s; to end: bellhop cancel %s", what, again, ids, ids)
	}
	return Silent(ExitInterrupted)
}
