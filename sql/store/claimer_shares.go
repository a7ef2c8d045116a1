package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
)

// sharedTypes are the types whose jobs have shares just now: claims of them take each key in its turn. An ordinary
// claim leaves such a type alone, and the database tells of it by a notice. So types without shares cost nothing here.
type sharedTypes struct {
	told  []scheduler.TypeName // by the statement that runs
	until map[scheduler.TypeName]time.Time
	took  bool // by the present claim: its jobs have come in the order in which they start
}

const (
	sharesNotice = "BH010"     // bellhop.tell_shares
	sharesLast   = time.Second // then an ordinary claim asks again
)

// hear has the notices of a connection's sessions told to s.
func (s *sharedTypes) hear(conn *connection) {
	tune := conn.way.Tune
	conn.way.Tune = func(config *pgx.ConnConfig) {
		tune(config)
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			if n.Code == sharesNotice {
				s.told = append(s.told, scheduler.TypeName(n.Message))
			}
		}
	}
}

// heard takes the notices of a statement; ok: there were some.
func (s *sharedTypes) heard(now time.Time) (ok bool) {
	for _, t := range s.told {
		if s.until == nil {
			s.until = map[scheduler.TypeName]time.Time{}
		}
		s.until[t], ok = now.Add(sharesLast), true
	}
	s.told = nil
	return ok
}

// among says whether a demand is for such a type.
func (s *sharedTypes) among(d scheduler.Demand, now time.Time) bool {
	if len(s.until) == 0 {
		return false
	}
	for _, t := range d.Types {
		if until, is := s.until[t.Type]; is && now.Before(until) {
			return true
		}
		delete(s.until, t.Type)
	}
	return false
}

var claimSharedSQL = sql.Query("claim_shared")

// claimShared claims for a demand in which a type has shares.
func (c *Claimer) claimShared(
	ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, d scheduler.Demand,
) ([]scheduler.Job, error) {
	c.shares.took = true
	types, most, worst := columns(d.Types)
	placed := make([]bool, len(d.Types))
	for i, t := range d.Types {
		placed[i] = t.Placed
	}
	args := []any{int64(me), string(d.Host), types, most, d.Localities, worst, d.MSQ, d.Total, d.Assigned, d.Preemptors,
		placed, int64(c.era.Floor), nil, nil}
	if d.Only != nil {
		args[12], args[13] = sql.OrNull(d.Only.Names), d.Only.Priorities
	}
	return c.claim(ctx, conn, me, d, claimSharedSQL, args)
}
