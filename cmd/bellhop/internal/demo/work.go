package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/serve"
)

// How often the demo looks how far its job is, how long it waits for an answer
// of the database, and how long while nothing moves at all: no file takes an
// agent that long.
const (
	demoLook     = 100 * time.Millisecond
	demoAnswer   = 15 * time.Second
	demoPatience = 2 * time.Minute
)

// workDemo runs a scheduler until the files of the table are done.
func workDemo(
	ctx context.Context, a *cli.App, t demoTable, todo int64, url string, s *screen, log *slog.Logger,
) (j demoJob, err error) {
	c, err := demoConfig(a, url, todo)
	if err != nil {
		return j, err
	}
	c.Listen = "" // it has no pages
	s.show("starting the scheduler")
	i, err := serve.Start(c, url, nil, func() {}, nil, s, log)
	if err != nil {
		return j, err
	}
	defer func() {
		if err != nil { // what is not over would wait in the queue for ever
			err = errors.Join(err, left(t.giveUp(context.WithoutCancel(ctx), j)))
		}
		now, cancel := context.WithCancel(context.Background())
		cancel()
		err = errors.Join(err, left(i.End(now)))
	}()
	err = awaitDemo(ctx, i.Healthy, func() (moved, done bool, err error) { return false, i.Healthy() == "", nil })
	if err != nil {
		return j, err
	}
	if j, err = t.submit(ctx); err != nil {
		return j, err
	}
	j.todo = todo
	var p demoProgress
	var begun int64
	err = awaitDemo(
		ctx,
		func() string { return fmt.Sprintf("job %d is %s", j.id, p.state) },
		func() (moved, done bool, err error) {
			before, launches := p, begun
			if p, err = t.progress(ctx, j); err != nil {
				return false, false, err
			}
			agents := i.Processes()
			begun, j.agents = i.Launches(), max(j.agents, agents)
			s.show(fmt.Sprintf("%s of %s files  %s files/s  %s  %s failed", cli.Grouped(p.done), cli.Grouped(todo),
				cli.Grouped(perSecond(p.done, p.took)), cli.Counted(int64(agents), "agent"), cli.Grouped(p.failed)))
			// An agent that begins is news as well: one that a file takes with it comes
			// back three times, and on a slow machine that takes its time.
			return p.done != before.done || p.state != before.state || begun != launches, p.state.Final(), nil
		},
	)
	if err != nil {
		return j, err
	}
	j.state, j.error, j.took = p.state, p.error, p.took
	if err := t.adopt(ctx, j); err != nil {
		return j, err
	}
	s.show("single jobs, to a warm agent")
	j.warm, err = t.single(ctx, j)
	return j, err
}

// giveUp cancels a job and waits until nothing of it runs.
func (t demoTable) giveUp(ctx context.Context, j demoJob) error {
	if j.id == 0 || t.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, demoAnswer)
	defer cancel()
	if err := t.cancel(ctx); err != nil {
		return err
	}
	return awaitDemo(ctx, func() string { return "cancelling the job" }, func() (moved, done bool, err error) {
		p, err := t.progress(ctx, j)
		return false, p.state.Final(), err
	})
}

// awaitDemo looks until done. It gives up when nothing has moved for too long,
// and says with the words of where what it waited for.
func awaitDemo(ctx context.Context, where func() string, look func() (moved, done bool, err error)) error {
	moved := time.Now()
	tick := time.NewTicker(demoLook)
	defer tick.Stop()
	for {
		news, done, err := look()
		switch {
		case done || err != nil:
			return err
		case news:
			moved = time.Now()
		case time.Since(moved) > demoPatience:
			return cli.Failed(cli.ExitTimeout, "demo", "bellhop demo --keep   keeps the database; look into it with: bellhop serve", "nothing has moved for %s: %s", demoPatience, where())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
