package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
	"bellhop/sql/dial"
)

// gateKey is the advisory lock that producers look at (triggers/ring.sql):
// "bellhop\1". The one of migrations, "bellhop\0", is its neighbour.
const gateKey int64 = 0x62656c6c_686f7001

// gateWait is how long one statement waits for the gate. While it waits it keeps a snapshot, which holds up vacuum;
// and under a second the server neither looks for deadlocks nor logs the wait (deadlock_timeout, log_lock_waits).
const gateWait = 900 * time.Millisecond

// Gate is what producers look at before they ring: they ring while an instance holds it, or waits for it. It has a
// connection of its own, outside any transaction.
type Gate struct {
	mu      sync.Mutex // one Keep at a time
	way     dial.Way
	conn    *pgx.Conn
	monitor *connection // looks at the locks while conn waits
}

// NewGate returns a session at the gate; it connects at its first use. It needs a direct connection: behind a
// pooler, another session would have the lock.
func NewGate(url string) (*Gate, error) {
	settings := map[string]string{"lock_timeout": fmt.Sprint(gateWait.Milliseconds())}
	conn, err := newConnection(url, "gate", settings)
	if err != nil {
		return nil, err
	}
	lookout, err := newConnection(url, "gate lookout", upkeep)
	return &Gate{way: conn.way, monitor: lookout}, err
}

// Close ends the session's connections, when Keep has returned.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop()
	g.monitor.close()
}

func (g *Gate) connections() []*connection { return []*connection{g.monitor} }

var (
	// A wait that was given up in the moment of its success has the lock all the same: it must not stay.
	gateWaitSQL       = "select case when bellhop.wait_for_gate($1) then true else pg_advisory_unlock_all() is null end"
	gateBehindSQL     = sql.Query("gate_behind")
	gateContentionSQL = sql.Query("gate_contention")
)

// Contended reports whether producers wait for each other because they ring.
func (g *Gate) Contended(ctx context.Context) (is bool, err error) {
	err = g.monitor.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, gateContentionSQL).Scan(&is)
	})
	if err != nil {
		return false, fmt.Errorf("look at sessions that wait to ring: %w", err)
	}
	return is, nil
}

// Keep makes producers ring, from soon after its call until it returns. It
// calls shut, once, when no producer is left that found the gate open. It
// returns nil when ctx has ended, or when it has waited for so long that it has
// to be called again; an error when the gate cannot be had, or has been lost.
func (g *Gate) Keep(ctx context.Context, shut func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	if err := g.connect(ctx); err != nil {
		return fmt.Errorf("the gate: %w", err)
	}
	tell := sync.OnceFunc(shut)
	granted, err := g.wait(ctx, tell)
	if err != nil {
		err = g.lost(err)
		g.drop()
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == "42883" { // undefined_function
			return fmt.Errorf("wait at the gate: %w; run `bellhop migrate`", err)
		}
		return fmt.Errorf("wait at the gate: %w", err)
	}
	if !granted {
		return nil
	}
	tell()
	// Nothing is listened to on this connection: what ends the wait is ctx, or
	// the end of the connection, and so of the lock.
	for err == nil {
		_, err = g.conn.WaitForNotification(ctx)
	}
	if ctx.Err() == nil {
		err = g.lost(err)
		g.drop()
		return fmt.Errorf("the gate's connection is lost: %w", err)
	}
	g.open()
	return nil
}

// lost marks an error that left the connection closed as one of the connection: a wire that breaks
// amid a wait says no more of it than "broken pipe".
func (g *Gate) lost(err error) error {
	if g.conn.IsClosed() {
		return &scheduler.Unreachable{Err: err}
	}
	return err
}

// connect opens the connection, and makes sure that it is one to the server.
func (g *Gate) connect(ctx context.Context) error {
	if g.conn != nil && !g.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := g.way.Connect(ctx)
	if err != nil {
		return err
	}
	g.conn = conn
	var pid uint32
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
		err = g.lost(err)
		g.drop()
		return err
	}
	if pid != conn.PgConn().PID() { // the process that answers is not the one that let us in
		g.drop()
		return errors.New("the connection is a pooler's, and needs to be one of its own: set database.listen_url to the server itself")
	}
	return nil
}

// wait waits for the lock, for gateWait at most.
func (g *Gate) wait(ctx context.Context, behind func()) (granted bool, err error) {
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		g.watch(ctx, done, behind)
	}()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), gateWait+patience)
	defer cancel()
	err = g.conn.QueryRow(bounded, gateWaitSQL, gateKey).Scan(&granted)
	close(done)
	<-watched
	var refused *pgconn.PgError
	if ctx.Err() != nil && errors.As(err, &refused) && refused.Code == "57014" { // query_canceled
		g.open() // the function does not catch it before its wait, or behind it
		return false, nil
	}
	return granted, err
}

// watch looks whether the wait is behind another holder of the gate, and ends the wait with ctx. (A ctx that ends a
// statement of pgx's ends the connection, and the server would let its lock wait on.)
func (g *Gate) watch(ctx context.Context, done <-chan struct{}, behind func()) {
	pid := g.conn.PgConn().PID()
	next := time.NewTimer(time.Millisecond)
	defer next.Stop()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, gateWait/4) {
		select {
		case <-done:
			return
		case <-ctx.Done():
			once, cancel := context.WithTimeout(context.WithoutCancel(ctx), gateWait)
			defer cancel()
			_ = g.conn.PgConn().CancelRequest(once) // or it ends by itself after gateWait
			return
		case <-next.C:
		}
		var is bool
		err := g.monitor.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, gateBehindSQL, gateKey, int32(pid)).Scan(&is)
		})
		if err == nil && is {
			behind()
			next.Stop() // what is true now stays true while we wait
			continue
		}
		next.Reset(pause)
	}
}

// open lets producers be silent again.
func (g *Gate) open() {
	ctx, cancel := context.WithTimeout(context.Background(), gateWait)
	defer cancel()
	// All of them: should one have been taken and not been known of, it must not stay.
	if _, err := g.conn.Exec(ctx, "select pg_advisory_unlock_all()"); err != nil {
		g.drop() // the end of the connection opens it too
	}
}

func (g *Gate) drop() {
	if g.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.conn.Close(ctx) // it is going anyway
		g.conn = nil
	}
}
