package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	serverFloorSQL = sql.Query("server_floor")
	knownClaimsSQL = sql.Query("known_claims")
)

// meet asks a new connection, once, since which fence the database is on its server.
func (r *Recorder) meet(ctx context.Context, conn *pgx.Conn) error {
	if r.met == conn {
		return nil
	}
	if err := conn.QueryRow(ctx, serverFloorSQL).Scan((*int64)(&r.floor)); err != nil {
		return err
	}
	r.met = conn
	return nil
}

// onlyKnown leaves out what agents said of jobs that this server does not have: claims of before a failover whose
// rows did not arrive. Another job may have the id, and log lines and failed items name no fence that would tell the
// two apart. Everything else in a batch is guarded by its fence.
func (r *Recorder) onlyKnown(
	ctx context.Context, conn *pgx.Conn, b scheduler.Batch,
) (scheduler.Batch, error) {
	var ids, fences []int64
	for i := range b.Entries {
		if c := b.Entries[i].Claim; c.Job != 0 && c.Fence < r.floor {
			ids, fences = append(ids, int64(c.Job)), append(fences, int64(c.Fence))
		}
	}
	for i := range b.Failed {
		if c := b.Failed[i].Claim; c.Fence < r.floor {
			ids, fences = append(ids, int64(c.Job)), append(fences, int64(c.Fence))
		}
	}
	if len(ids) == 0 { // always, but after a failover
		return b, nil
	}
	rows, err := conn.Query(ctx, knownClaimsSQL, ids, fences)
	if err != nil {
		return b, err
	}
	known := map[scheduler.Claim]bool{}
	var c scheduler.Claim
	if _, err := pgx.ForEachRow(rows, []any{(*int64)(&c.Job), (*int64)(&c.Fence)}, func() error {
		known[c] = true
		return nil
	}); err != nil {
		return b, err
	}
	foreign := func(c scheduler.Claim) bool { return c.Job != 0 && c.Fence < r.floor && !known[c] }
	b.Entries = slices.DeleteFunc(slices.Clone(b.Entries), func(e scheduler.Entry) bool { return foreign(e.Claim) })
	b.Failed = slices.DeleteFunc(slices.Clone(b.Failed), func(i scheduler.FailedItem) bool { return foreign(i.Claim) })
	return b, nil
}
