package store

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/position"
	"bellhop/sql"
	"bellhop/sql/dial"
)

var belowSQL = sql.Query("below")

// belowMost is how many jobs a look tells of. More are for a claim of everything.
const belowMost = 200

// below makes the looks of a position, each on a connection that ends with it. A new one takes the place of one that is
// under way. It guards itself.
type below struct {
	way    dial.Way
	ctx    context.Context // of all looks, until close
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	look  *position.Look // the newest; nil: none has begun, or it has been told
	found *position.Found
	over  chan struct{} // closes when found is there
	stop  context.CancelFunc
}

func newBelow(url string) *below {
	settings := map[string]string{"statement_timeout": fmt.Sprint(patience.Milliseconds())}
	maps.Copy(settings, byIndex)
	b := &below{way: ownWay(url, "looks", dial.With(settings)), stop: func() {}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// begin begins a look.
func (b *below) begin(l *position.Look) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	ctx, stop := context.WithCancel(b.ctx)
	over := make(chan struct{})
	b.look, b.found, b.over, b.stop = l, nil, over, stop
	b.all.Go(func() {
		defer close(over)
		defer stop()
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.After):
		}
		found := b.made(ctx, l)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.look == l {
			b.found = &found
		}
	})
}

// made makes it.
func (b *below) made(ctx context.Context, l *position.Look) (found position.Found) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	jobs := 0
	err := b.apart(ctx, func(conn *pgx.Conn) error {
		// A session's first statement reads catalogues, and is planned: that is no walk.
		if _, err := conn.Exec(ctx, belowSQL, []string{}, l.Xmax, l.InProgress, belowMost); err != nil {
			return err
		}
		began := time.Now()
		rows, err := conn.Query(ctx, belowSQL, l.Types, l.Xmax, l.InProgress, belowMost)
		if err != nil {
			return err
		}
		var transaction string
		var n int
		_, err = pgx.ForEachRow(rows, []any{&transaction, &n}, func() error {
			found.Transactions, jobs = append(found.Transactions, transaction), jobs+n
			return nil
		})
		found.Took = time.Since(began)
		return err
	})
	found.Failed = err != nil || jobs >= belowMost
	return found
}

// apart runs f on a connection that ends with it.
func (b *below) apart(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := b.way.Connect(ctx)
	if err != nil {
		return &scheduler.Unreachable{Err: err}
	}
	defer hangUp(conn)
	return f(conn)
}

// tell tells a position of the look that is over.
func (b *below) tell(p *position.Position, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found != nil {
		p.Looked(b.look, *b.found, now)
		b.look, b.found, b.over = nil, nil, nil
	}
}

// pending closes when the look that is under way is over; nil: none is.
func (b *below) pending() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// close waits until no look is under way.
func (b *below) close() {
	b.cancel()
	b.all.Wait()
}
