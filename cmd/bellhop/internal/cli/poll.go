package cli

import (
	"context"
	"time"
)

// How often a waiting command looks: soon at first, then less often; how long
// it waits for an answer; and how long it tries to get a lost connection back.
const (
	pollSoonest  = 100 * time.Millisecond
	pollLatest   = time.Second
	pollAnswer   = 15 * time.Second
	pollPatience = 30 * time.Second
)

// Poll calls look until it says done, once at least. News brings the interval
// back to its shortest. A connection that is lost meanwhile is opened again: a
// restart of the database ends no wait. The end of ctx is its error.
func (a *App) Poll(ctx context.Context, s *Session, look func(ctx context.Context) (news, done bool, err error)) error {
	return a.PollRung(ctx, s, nil, look)
}

// PollRung is Poll that also looks when it is rung for.
func (a *App) PollRung(
	ctx context.Context, s *Session, rung <-chan struct{}, look func(ctx context.Context) (news, done bool, err error),
) error {
	interval := pollSoonest
	first := context.WithoutCancel(ctx)
	var lostAt time.Time
	for {
		news, done, err := a.pollOnce(first, s, look)
		first = ctx
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			lostAt = time.Time{}
		case !s.Conn.IsClosed():
			return err
		case lostAt.IsZero():
			lostAt = time.Now()
		case time.Since(lostAt) > pollPatience:
			return err
		}
		if news {
			interval = pollSoonest
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-rung:
		case <-time.After(interval):
		}
		interval = min(interval*3/2, pollLatest)
	}
}

// pollOnce looks once, over a new connection when the last was lost.
func (a *App) pollOnce(
	ctx context.Context, s *Session, look func(ctx context.Context) (news, done bool, err error),
) (news, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollAnswer)
	defer cancel()
	if s.Conn.IsClosed() {
		again, err := a.Open(ctx)
		if err != nil {
			return false, false, err
		}
		*s = *again
	}
	return look(ctx)
}
