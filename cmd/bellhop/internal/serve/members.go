package serve

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// members is where this instance says that it lives.
type members struct {
	*store.Registry
	me   store.Instance
	beat string
	back func() // the database has answered
}

func (m members) Register(ctx context.Context) (scheduler.InstanceID, error) {
	id, err := m.Registry.Register(ctx, m.me)
	if err == nil {
		m.back()
	}
	return id, err
}

func (m members) Beat(ctx context.Context, id scheduler.InstanceID) error {
	err := m.Registry.Beat(ctx, id, m.beat)
	if err == nil {
		m.back()
	}
	return err
}

// isAway reports whether an error in the log says no more than that the
// database is out of reach.
func isAway(err error) bool {
	var connecting *pgconn.ConnectError
	var unreachable *store.Unreachable
	return errors.As(err, &connecting) || errors.As(err, &unreachable) || cli.IsLost(err)
}
