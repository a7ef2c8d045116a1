package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/position"
	"bellhop/sql"
	"bellhop/sql/dial"
)

var belowSQL = sql.Query("below")

// belowMost is how many jobs of a type a look tells of. More are for a claim of everything.
const belowMost = 200

// below makes the looks of a position, one at a time, each on a connection that ends with it. It guards itself.
type below struct {
	way    dial.Way
	ctx    context.Context // of all looks, until close
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	look  *position.Look // that is over, until it is taken
	found position.Found
}

func newBelow(url string) *below {
	b := &below{way: ownWay(url, "looks", dial.With(byIndex))}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// begin begins a look. over closes when it can be taken.
func (b *below) begin(l *position.Look) (over <-chan struct{}) {
	ended := make(chan struct{})
	b.all.Go(func() {
		defer close(ended)
		select {
		case <-b.ctx.Done():
			return
		case <-time.After(l.After):
		}
		found := b.made(l)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.look, b.found = l, found
	})
	return ended
}

// made makes it.
func (b *below) made(l *position.Look) (found position.Found) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	began := time.Now()
	jobs, err := b.ask(ctx, l, &found)
	found.Took, found.Failed = time.Since(began), err != nil || jobs >= belowMost
	return found
}

func (b *below) ask(ctx context.Context, l *position.Look, found *position.Found) (jobs int, err error) {
	err = b.apart(ctx, func(conn *pgx.Conn) error {
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
		return err
	})
	return jobs, err
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
	if b.look != nil {
		p.Looked(b.look, b.found, now)
		b.look = nil
	}
}

// close waits until no look is under way.
func (b *below) close() {
	b.cancel()
	b.all.Wait()
}
