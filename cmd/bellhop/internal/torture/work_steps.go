package torture

import (
	"context"
	"fmt"
)

var (
	sharedSQL = statement("shared")
	emitSQL   = "select bellhop.emit($1, null)"
)

// Where the tokens of child jobs begin: ten for each parent.
const firstChild = 40_000_000

// childToken is the token of a parent's child job.
func childToken(parent int64, i int) int64 { return firstChild + parent*10 + int64(i) }

// steps and children are how many a job saves, and makes, that does so.
const (
	steps    = 3
	children = 2
)

// shared submits a job of one of three keys, which take turns.
func (l *load) shared(ctx context.Context) error {
	n := l.token()
	args, share := fmt.Sprintf("n=%d ms=3", n), fmt.Sprint("key", n%3)
	if _, err := l.pool.Exec(ctx, sharedSQL, l.typ(), args, share, attempts); err != nil {
		return err
	}
	l.told.committed[n] = "with a share"
	return nil
}

// stepped submits a job that saves steps, sleeps after the first, and awaits an event after the second.
func (l *load) stepped(ctx context.Context) error {
	n := l.token()
	event := fmt.Sprint("torture.", n)
	late := l.luck.IntN(2) == 0
	emit := func() error {
		_, err := l.pool.Exec(ctx, emitSQL, event)
		return err
	}
	if !late {
		if err := emit(); err != nil {
			return err
		}
	}
	if _, err := l.pool.Exec(ctx, singleSQL, "warm", fmt.Sprintf("n=%d ms=3 steps=%d sleep=%d await=%s", n, steps,
		20+l.luck.IntN(200), event), nil, attempts, 0); err != nil {
		return err
	}
	l.told.committed[n] = "with steps"
	if late {
		return emit() // without it the job goes on when it has waited for long enough
	}
	return nil
}

// parent submits a job that makes child jobs.
func (l *load) parent(ctx context.Context) error {
	n := l.token()
	args := fmt.Sprintf("n=%d ms=3 children=%d", n, children)
	if _, err := l.pool.Exec(ctx, singleSQL, "warm", args, nil, attempts, 0); err != nil {
		return err
	}
	l.told.committed[n] = "with child jobs"
	return nil
}

// handled is for an app with handlers inside.
func (l *load) handled(ctx context.Context) error {
	n := l.token()
	args := fmt.Sprintf("n=%d ms=%d", n, 2+l.luck.IntN(40))
	if l.luck.IntN(4) == 0 {
		args += " fails=1"
		l.told.fails[n] = 1
	}
	if _, err := l.pool.Exec(ctx, singleSQL, "inside", args, nil, attempts, 0); err != nil {
		return err
	}
	l.told.committed[n] = "for handlers inside"
	return nil
}

// taken submits a job that an app takes, by functions of SQL.
func (l *load) taken(ctx context.Context) error {
	n := l.token()
	args := fmt.Sprintf("n=%d ms=%d", n, 2+l.luck.IntN(40))
	if _, err := l.pool.Exec(ctx, singleSQL, "taken", args, nil, attempts, 0); err != nil {
		return err
	}
	l.told.committed[n] = "for an app"
	return nil
}
