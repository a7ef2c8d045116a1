package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Claimer takes jobs. Its commits are asynchronous: losing a claim in a crash
// of the database runs the job again, and nobody was told that it was done.
type Claimer struct{ link *link }

// NewClaimer returns a desk for claims; it connects at its first use.
func NewClaimer(url string) (*Claimer, error) {
	settings := map[string]string{"synchronous_commit": "off"}
	maps.Copy(settings, byIndex)
	l, err := newLink(url, "claimer", settings)
	return &Claimer{l}, err
}

// Close ends the desk's connection.
func (c *Claimer) Close() { c.link.close() }

var claimSQL = sql.Query("claim")

// Claim takes what the demand asks for, in the order in which it shall start.
func (c *Claimer) Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	types := make([]string, len(d.Types))
	atOnce, most, worst := make([]int32, len(d.Types)), make([]int32, len(d.Types)), make([]int32, len(d.Types))
	room := 0
	for i, t := range d.Types {
		types[i], atOnce[i], most[i], worst[i] = string(t.Type), int32(t.AtOnce), int32(t.Most), int32(t.Worst)
		room += t.Most
	}
	jobs := make([]scheduler.Job, 0, min(room, d.Total))
	err := c.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, claimSQL, int64(me), string(d.Host), types, atOnce, most, d.Total, d.Answers, worst, d.MSQ)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			j := scheduler.Job{Host: d.Host}
			j.Instance = me
			var args, msq, repeat *string
			var timeout int64
			if err := rows.Scan((*int64)(&j.Claim.Job), (*int64)(&j.Fence), &j.Attempt, &j.Priority, (*string)(&j.Type), &args, &msq, &repeat,
				&j.Key, (*string)(&j.Vars), &j.Trace, &timeout, &j.MaxAttempts, &j.Deaths, &j.Assigned); err != nil {
				return err
			}
			if args != nil {
				j.HasArgs, j.Args = true, *args
			}
			if msq != nil {
				j.MSQ = *msq
			}
			if repeat != nil {
				j.Repeat = scheduler.Repeat(*repeat)
			}
			j.Timeout = time.Duration(timeout) * time.Millisecond
			jobs = append(jobs, j)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	slices.SortFunc(jobs, func(a, b scheduler.Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Claim.Job, b.Claim.Job))
	})
	return jobs, nil
}

var reassertSQL = sql.Query("reassert")

// Reassert takes again what this instance runs and a crash of the database may
// have un-claimed. It returns how many there were.
func (c *Claimer) Reassert(ctx context.Context, me scheduler.InstanceID, holds []scheduler.Hold) (int, error) {
	ids, fences := make([]int64, len(holds)), make([]int64, len(holds))
	attempts, hosts := make([]int32, len(holds)), make([]string, len(holds))
	for i, h := range holds {
		ids[i], fences[i], attempts[i], hosts[i] = int64(h.Job), int64(h.Fence), int32(h.Attempt), string(h.Host)
	}
	var n int64
	err := c.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for name, value := range byHash { // which a claim could not do with
				if _, err := tx.Exec(ctx, "select set_config($1, $2, true)", name, value); err != nil {
					return err
				}
			}
			tag, err := tx.Exec(ctx, reassertSQL, int64(me), ids, fences, attempts, hosts)
			n = tag.RowsAffected()
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("re-assert claims: %w", err)
	}
	return int(n), nil
}

var heldSQL = sql.Query("held")

// Held is what the database says this instance holds. On the claimer's
// connection, so that it sees every claim made before it.
func (c *Claimer) Held(ctx context.Context, me scheduler.InstanceID) ([]scheduler.Hold, error) {
	var holds []scheduler.Hold
	err := c.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, heldSQL, int64(me))
		if err != nil {
			return err
		}
		var h scheduler.Hold
		_, err = pgx.ForEachRow(rows, []any{(*int64)(&h.Job), (*int64)(&h.Fence), &h.Cancel, &h.CancelNow}, func() error {
			holds = append(holds, h)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read held jobs: %w", err)
	}
	return holds, nil
}
