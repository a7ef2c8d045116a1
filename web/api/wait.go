package api

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"bellhop/client"
	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/web"
)

// waitMost is how long one request waits; watchers bounds the callers that wait or follow at once, and watchesEach
// those of one caller.
const (
	waitMost    = 5 * time.Minute
	watchers    = 200
	watchesEach = 50
	followEvery = 500 * time.Millisecond
)

// unhurried lets an answer take its time.
func unhurried(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if web.GetOnly(w, r) { // HEAD would take a place and tell nothing
		return
	}
	web.Unhurried(w)
	next(ctx)
}

// watch counts one that waits; the error is that there are too many.
func (a *API) watch(ctx context.Context) (leave func(), err error) {
	leave, problem := a.watching.Take(web.CallerOf(ctx).Caller())
	if problem != nil {
		return nil, problem
	}
	return leave, nil
}

// waiting is the route that waits for the end of a job.
func (a *API) waiting() {
	type in struct {
		JobWord
		Timeout string `query:"timeout" default:"30s" doc:"At most 5m; a state that is not final means that the time is up"`
	}
	op := one("/wait", submitter, "Wait until a job has ended, and show its outcome")
	op.Middlewares = huma.Middlewares{unhurried}
	huma.Register(a, op, func(ctx context.Context, in *in) (*body[view.OutcomeRow], error) {
		d, err := span("timeout", in.Timeout)
		if err != nil || d == nil {
			return nil, unfit("timeout is not a time span such as 90s")
		}
		leave, err := a.watch(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		var id scheduler.JobID
		look := func() (o view.OutcomeRow, err error) {
			err = a.Visitors.ReadAs(ctx, web.CallerOf(ctx).Role, func(l view.Look) (err error) {
				if id == 0 {
					if id, err = in.find(ctx, l); err != nil {
						return err
					}
				}
				list, err := l.Outcomes(ctx, []scheduler.JobID{id})
				if err == nil && len(list) == 0 {
					err = notFound("job " + in.ID)
				}
				if err == nil {
					o = list[0]
				}
				return err
			})
			return o, err
		}
		o, err := look()
		if err == nil && !o.State.Final() {
			waiting, cancel := web.Until(ctx, min(*d, waitMost))
			o, err = a.over(waiting, id, look)
			cancel()
		}
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &body[view.OutcomeRow]{o}, nil
	})
}

// over waits until a job is, or ctx ends, and gives how it is then. The actors tell of jobs that end here; those
// that end elsewhere are heard by way of the database. A caller that may see a job may wait for it; the waiting is
// the scheduler's, and all waiting requests share an ear.
func (a *API) over(
	ctx context.Context, id scheduler.JobID, look func() (view.OutcomeRow, error),
) (view.OutcomeRow, error) {
	var here <-chan struct{}
	if a.Hub != nil {
		over, deaf := a.Hub.await(id)
		defer deaf()
		here = over
	}
	elsewhere := make(chan error, 1)
	go func() {
		_, err := a.waiter.Wait(ctx, id) // it looks first: what has ended since the last look is not missed
		elsewhere <- err
	}()
	for {
		select {
		case <-here:
			if o, err := look(); err != nil || o.State.Final() {
				return o, err
			}
		case err := <-elsewhere:
			timeIsUp := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
			if err != nil && !timeIsUp && !errors.Is(err, client.ErrNotFound) {
				return view.OutcomeRow{}, err
			}
			return look()
		}
	}
}
