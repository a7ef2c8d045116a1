package client

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/sql/view"
)

// ears listen for the end of jobs while a caller waits, over one connection for all that do. What they hear is a
// hint to look. A caller that cannot listen, as over a single connection, or behind a pooler that hands out another
// with each transaction, looks more seldom and still finds it.
type ears struct {
	mu   sync.Mutex
	of   map[chan struct{}]map[JobID]bool // the jobs that each caller waits for
	stop context.CancelFunc               // nil: not listening
}

// listenAgain is how long it takes until another connection is made where one was lost.
const listenAgain = time.Second

// add notes a waiting caller, which the channel wakes.
func (e *ears) add(pool *pgxpool.Pool, ids []JobID) chan struct{} {
	woken, of := make(chan struct{}, 1), make(map[JobID]bool, len(ids))
	for _, id := range ids {
		of[id] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[chan struct{}]map[JobID]bool{}
	}
	e.of[woken] = of
	if e.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		e.stop = stop
		go e.listen(ctx, pool)
	}
	return woken
}

// remove forgets a waiting caller. The last one shuts the ears.
func (e *ears) remove(woken chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if delete(e.of, woken); len(e.of) == 0 && e.stop != nil {
		e.stop()
		e.stop = nil
	}
}

// heard wakes the callers that wait for one of the jobs; without jobs, all.
func (e *ears) heard(ids []JobID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for woken, of := range e.of {
		wanted := len(ids) == 0
		for _, id := range ids {
			wanted = wanted || of[id]
		}
		if wanted {
			select {
			case woken <- struct{}{}:
			default:
			}
		}
	}
}

// listen does so until ctx ends. The connection is the pool's no more: nothing that is done over it shows in the pool.
func (e *ears) listen(ctx context.Context, pool *pgxpool.Pool) {
	for ctx.Err() == nil {
		if c, err := pool.Acquire(ctx); err == nil {
			conn := c.Hijack()
			_ = view.HearEnds(ctx, conn, e.heard)
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}
