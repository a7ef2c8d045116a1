package cli

import (
	"context"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// awaitAgain is how often a wait is announced: it is remembered for 15 s.
const awaitAgain = 5 * time.Second

// Ear hears when jobs end for which a command waits, so that it need not look
// often. Whatever goes wrong with it, looks find what it would have heard.
type Ear struct {
	app  *App
	told time.Time
	stop context.CancelFunc
	Rung chan struct{} // looking is worth while
}

// NewEar is one that does not listen yet.
func (a *App) NewEar() *Ear { return &Ear{app: a, stop: func() {}, Rung: make(chan struct{}, 1)} }

// Await announces a wait for jobs, every few seconds, and from the first time on listens for their end over a
// connection of its own.
func (e *Ear) Await(ctx context.Context, s *Session, ids []scheduler.JobID) {
	if len(ids) == 0 || time.Since(e.told) < awaitAgain {
		return
	}
	if e.told.IsZero() {
		listening, stop := context.WithCancel(context.WithoutCancel(ctx))
		e.stop = stop
		go e.listen(listening, slices.Clone(ids))
	}
	_ = s.Look.Await(ctx, ids) // the next look tells what is wrong
	e.told = time.Now()
}

func (e *Ear) listen(ctx context.Context, ids []scheduler.JobID) {
	conn, err := e.app.Connect(ctx, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_ = view.HearEnds(ctx, conn, func(ended []scheduler.JobID) {
		if len(ended) > 0 && !slices.ContainsFunc(ended, func(id scheduler.JobID) bool { return slices.Contains(ids, id) }) {
			return
		}
		select {
		case e.Rung <- struct{}{}:
		default:
		}
	})
}

// Close ends the listening.
func (e *Ear) Close() { e.stop() }
