package serve

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/instance"
	"bellhop/scheduler"
	"bellhop/sql/dial"
	"bellhop/sql/store"
)

// members is where this instance says that it lives.
type members struct {
	*store.Registry
	me   *atomic.Pointer[store.Instance] // written by Instance.take
	beat string
	back func() // the database has answered
	past *instance.Past
}

func (m members) Register(ctx context.Context) (scheduler.InstanceID, error) {
	id, err := m.Registry.Register(ctx, *m.me.Load())
	if err == nil {
		m.back()
	}
	return id, err
}

func (m members) Reintroduce(ctx context.Context, id scheduler.InstanceID) error {
	return m.Registry.Reintroduce(ctx, id, *m.me.Load())
}

func (m members) Beat(ctx context.Context, id scheduler.InstanceID) (scheduler.Beat, error) {
	b, err := m.Registry.Beat(ctx, id, m.beat)
	if err == nil {
		m.back()
		m.past.Write(ctx, m.Registry, id, false)
	}
	return b, err
}

// isAway reports whether an error in the log says no more than that the database is out of reach. Only code that
// speaks with the database knows that: a connection to a collector, a server of mail or a browser breaks in the
// same words.
func isAway(err error) bool {
	var unreachable *scheduler.Unreachable
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &unreachable):
		return true
	case errors.As(err, &refused): // the server's last words before it closes, or no words of a server at all
		return dial.Lost(err)
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(*dial.ReadOnly))
}
