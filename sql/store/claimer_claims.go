package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/position"
	"bellhop/sql"
)

var (
	claimsSQL   = sql.Query("claims")
	claimsOfSQL = sql.Query("claims_of")
)

// Claims is what the database says this instance holds. On the claimer's
// connection, so that it sees every claim made before it; but, as Claim, not
// before Assert: what a crash of the database has un-claimed is no reason to
// stop what runs here.
//
// Beside an old snapshot, the index of what runs keeps an entry of each job that has run since, and new claims would
// wait for the walk past them. So where of names claims, only these are read on that connection, and the others, if
// they are asked for, before that on another one.
func (c *Claimer) Claims(
	ctx context.Context, me scheduler.InstanceID, of []scheduler.Claim, others bool,
) (holds []scheduler.Hold, err error) {
	slow := time.Duration(c.reads.Load()) >= position.LookWhen
	var rest []scheduler.Hold
	if others && slow && of != nil {
		rest, err = c.claimsBeside(ctx, me)
		slow = err == nil // else new claims have to wait
	}
	err = c.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if c.asserted != c.conn.opened {
			return &scheduler.Unreachable{Err: errNotAsserted}
		}
		if of == nil || others && !slow {
			holds, err = c.readClaims(ctx, conn, me)
			return err
		}
		ids := make([]int64, len(of))
		for i, claim := range of {
			ids[i] = int64(claim.Job)
		}
		holds, err = holdsIn(conn.Query(ctx, claimsOfSQL, int64(me), ids))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read held jobs: %w", err)
	}
	known := make(map[scheduler.JobID]bool, len(of))
	for _, claim := range of {
		known[claim.Job] = true
	}
	for _, hold := range rest {
		if !known[hold.Job] { // of the others, the answer above is newer
			holds = append(holds, hold)
		}
	}
	return holds, nil
}

// claimsBeside reads all that this instance holds, on a connection that ends with it.
func (c *Claimer) claimsBeside(ctx context.Context, me scheduler.InstanceID) (holds []scheduler.Hold, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = c.below.apart(ctx, func(conn *pgx.Conn) error {
		holds, err = c.readClaims(ctx, conn, me)
		return err
	})
	return holds, err
}

func (c *Claimer) readClaims(
	ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID,
) (holds []scheduler.Hold, err error) {
	began := time.Now()
	if holds, err = holdsIn(conn.Query(ctx, claimsSQL, int64(me))); err == nil {
		c.reads.Store(int64(time.Since(began)))
	}
	return holds, err
}

func holdsIn(rows pgx.Rows, err error) (holds []scheduler.Hold, _ error) {
	if err != nil {
		return nil, err
	}
	var h scheduler.Hold
	_, err = pgx.ForEachRow(rows, []any{(*int64)(&h.Job), (*int64)(&h.Fence), &h.Cancel, &h.CancelNow}, func() error {
		holds = append(holds, h)
		return nil
	})
	return holds, err
}
