package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	reassertSQL    = sql.Query("reassert")
	assertSQL      = sql.Query("assert")
	eraSQL         = sql.Query("era")
	notAssertedSQL = sql.Query("not_asserted")
)

// Reassert takes again what this instance runs and a crash of the database may
// have un-claimed. It returns how many there were.
func (c *Claimer) Reassert(ctx context.Context, me scheduler.InstanceID, holds []scheduler.Hold) (n int, err error) {
	err = c.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		n, err = reassert(ctx, conn, me, holds)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("re-assert claims: %w", err)
	}
	return n, nil
}

// Assert is Reassert of all that runs here. From then on there may be claims;
// but it names the live instances that have not done the same since the
// database last crashed: a job that is ready may be running there. A run that
// is not ours has to end before that, or another instance would begin its job.
func (c *Claimer) Assert(
	ctx context.Context, me scheduler.InstanceID, all []scheduler.Hold,
) (a scheduler.Asserted, err error) {
	err = c.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if a.Again, err = reassert(ctx, conn, me, all); err != nil {
			return err
		}
		if a.Lost, err = lostOf(ctx, conn, me, all); len(a.Lost) > 0 || err != nil {
			return err
		}
		if err := conn.QueryRow(ctx, eraSQL).Scan((*int64)(&c.era.Floor), &c.era.Server); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, assertSQL, int64(me)); err != nil {
			return err
		}
		// What has expired while no instance was there is not to start now.
		for n := expireMost; n == expireMost; {
			if n, _, err = expire(ctx, conn); err != nil {
				return err
			}
		}
		rows, err := conn.Query(ctx, notAssertedSQL)
		if err != nil {
			return err
		}
		if a.Not, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		c.asserted = c.conn.opened
		c.position.Forget()
		return nil
	})
	if err != nil {
		return scheduler.Asserted{}, fmt.Errorf("assert what runs: %w", err)
	}
	return a, nil
}

// lostOf lists the holds of which something runs, and which are not ours.
func lostOf(
	ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, all []scheduler.Hold,
) (lost []scheduler.Claim, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	holds, err := holdsIn(conn.Query(ctx, claimsSQL, int64(me)))
	if err != nil {
		return nil, err
	}
	ours := make(map[scheduler.Claim]bool, len(holds))
	for _, h := range holds {
		ours[h.Claim] = true
	}
	for _, h := range all {
		if !h.Over && !ours[h.Claim] {
			lost = append(lost, h.Claim)
		}
	}
	return lost, nil
}

func reassert(ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, holds []scheduler.Hold) (int, error) {
	if len(holds) == 0 {
		return 0, nil
	}
	ids, fences := make([]int64, len(holds)), make([]int64, len(holds))
	attempts, hosts := make([]int32, len(holds)), make([]string, len(holds))
	created := make([]time.Time, len(holds))
	for i, h := range holds {
		ids[i], fences[i], attempts[i], hosts[i] = int64(h.Job), int64(h.Fence), int32(h.Attempt), string(h.Host)
		created[i] = h.CreatedAt
	}
	var n int64
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for name, value := range byHash { // which a claim could not do with
			if _, err := tx.Exec(ctx, "select set_config($1, $2, true)", name, value); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, reassertSQL, int64(me), ids, fences, attempts, hosts, created)
		n = tag.RowsAffected()
		return err
	})
	return int(n), err
}
