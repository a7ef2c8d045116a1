package triggers

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgxlisten"

	"bellhop/scheduler"
	"bellhop/sql/dial"
)

// Listener hears the bell on a connection of its own. Its callbacks run on
// the goroutine that reads the connection and must not block.
type Listener struct {
	URL       string
	Heartbeat string // channel that this process rings itself
	// Rang: look at the queue. It is called for every notification, and
	// whenever the listener has (re)connected: what rang meanwhile was lost.
	// inserted: it rang for an INSERT and for nothing else.
	Rang func(inserted bool)
	// LocksRang: jobs with locks came, or some are free.
	LocksRang func()
	// CancelRang: some running job was asked to stop. Called on connecting too.
	CancelRang func()
	// DueRang: a row that waits for the clock has come. Called on connecting too.
	DueRang func()
	// Awaited: a client waits for the end of these jobs; nil: ignored. A payload that is not a list of ids is ignored.
	Awaited func([]scheduler.JobID)
	// Followed: a client follows the logs of these jobs; nil: ignored.
	Followed func([]scheduler.JobID)
	// Beat: the self-ring was heard, or the listener has just connected.
	Beat func()
	// Connected is called after each connecting; nil: not counted.
	Connected func()
	Log       *slog.Logger

	mu   sync.Mutex
	wire net.Conn // under the connection in use
}

// listening is the way of a connection that listens. It has to take writes: a standby cannot ring.
func listening(url, name string) dial.Way {
	return dial.Way{URL: url, Name: "bellhop " + name, Settings: dial.Pinned, Writes: true}
}

// Run listens until ctx ends, reconnecting for ever.
func (l *Listener) Run(ctx context.Context) error {
	way := listening(l.URL, "bell")
	if err := way.Check(); err != nil {
		return err
	}
	way.Tune = func(config *pgx.ConnConfig) {
		open := config.DialFunc
		config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			wire, err := open(ctx, network, addr)
			if err == nil {
				l.mu.Lock()
				l.wire = wire
				l.mu.Unlock()
			}
			return wire, err
		}
	}
	connect := func(ctx context.Context) (*pgx.Conn, error) {
		// pgxlisten waits the same time after every failure: back off here.
		wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond),
			backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)) // its default gives up after 15 minutes
		return backoff.RetryNotifyWithData(func() (*pgx.Conn, error) {
			once, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return way.Connect(once)
		}, backoff.WithContext(wait, ctx), func(err error, d time.Duration) {
			l.Log.Warn("bell: cannot connect", "error", err, "again_in", d)
		})
	}
	listener := &pgxlisten.Listener{
		Connect:        connect,
		ReconnectDelay: 100 * time.Millisecond, // the default is a minute
		LogError: func(ctx context.Context, err error) {
			if ctx.Err() == nil {
				l.Log.Warn("bell: connection lost", "error", &scheduler.Unreachable{Err: err})
			}
		},
	}
	if l.Connected != nil {
		dialled := listener.Connect
		listener.Connect = func(ctx context.Context) (*pgx.Conn, error) {
			conn, err := dialled(ctx)
			if err == nil {
				l.Connected()
			}
			return conn, err
		}
	}
	listener.Handle(Channel, rang{l.Rang, l.LocksRang})
	listener.Handle(CancelChannel, handler(l.CancelRang))
	listener.Handle(DueChannel, handler(l.DueRang))
	listener.Handle(l.Heartbeat, handler(l.Beat))
	if l.Awaited != nil {
		listener.Handle(AwaitedChannel, hint(l.Awaited))
	}
	if l.Followed != nil {
		listener.Handle(FollowedChannel, hint(l.Followed))
	}
	return listener.Listen(ctx)
}

// Cut closes the wire under a connection that has gone deaf: a proxy that
// swallows bytes without closing would keep it waiting for ever. Run connects
// again. (Closing the pgx.Conn instead would wait for its reader.)
func (l *Listener) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wire != nil {
		_ = l.wire.Close() // it is deaf; an error changes nothing
	}
}

// rang is the handler of the bell itself.
type rang struct {
	any   func(inserted bool)
	locks func()
}

func (f rang) HandleNotification(_ context.Context, n *pgconn.Notification, _ *pgx.Conn) error {
	if n.Payload == Locks {
		f.locks()
	} else {
		f.any(n.Payload == Inserted)
	}
	return nil
}

func (f rang) HandleBacklog(context.Context, string, *pgx.Conn) error {
	f.any(false) // whether there are jobs with locks is asked together with what is due
	return nil
}

// handler calls f for each notification, and once for the backlog: a signal
// to look, since pgxlisten does not try a failed backlog again.
type handler func()

func (f handler) HandleNotification(context.Context, *pgconn.Notification, *pgx.Conn) error {
	f()
	return nil
}

func (f handler) HandleBacklog(context.Context, string, *pgx.Conn) error {
	f()
	return nil
}

// hint hands the ids of a notification on. There is no backlog: a client that still waits says so again.
type hint func([]scheduler.JobID)

func (f hint) HandleNotification(_ context.Context, n *pgconn.Notification, _ *pgx.Conn) error {
	if ids := scheduler.JobIDs(n.Payload); len(ids) > 0 {
		f(ids)
	}
	return nil
}
