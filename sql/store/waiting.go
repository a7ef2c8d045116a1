package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// MarkThrough lets MarkWaiting write on a claimer's connection: a claim skips
// locked rows, and must not take a job before another because that one is just
// being told why it waits.
func (k *Keeper) MarkThrough(c *Claimer) { k.marks = c.link }

var waitingSQL, markedSQL, markSQL = sql.Query("waiting"), sql.Query("marked"), sql.Query("mark_waiting")

// How many names in run_on are looked at, and how many jobs are told why they
// wait: those that would start next. Who waits for nothing but its turn is told
// in fewer, since that changes often.
const (
	waitingNames = 1000
	markMost     = 1000
	markNoRoom   = 100
)

// waiting is a group of ready jobs that start, or do not, for the same reason.
type waiting struct {
	Type  string
	RunOn *string
	Why   *string
	Flows bool // some of its type have just started
}

// MarkWaiting writes into waiting_for of ready jobs why they do not start. It
// returns the types that no live instance serves.
func (k *Keeper) MarkWaiting(ctx context.Context) (unknown []scheduler.TypeName, err error) {
	var change []waiting
	err = k.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, waitingSQL, waitingNames)
		if err != nil {
			return err
		}
		groups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[waiting])
		if err != nil {
			return err
		}
		for _, g := range groups {
			if g.Why != nil && *g.Why == "unknown_type" && (len(unknown) == 0 || unknown[len(unknown)-1] != scheduler.TypeName(g.Type)) {
				unknown = append(unknown, scheduler.TypeName(g.Type))
			}
			if g.turn() && g.Flows { // it moves: whoever is first now may run before this is written
				continue
			}
			var wrong bool
			if err := conn.QueryRow(ctx, markedSQL, g.Type, g.RunOn, g.Why, g.most()).Scan(&wrong); err != nil {
				return err
			}
			if wrong {
				change = append(change, g)
			}
		}
		return nil
	})
	if err == nil && len(change) > 0 {
		err = k.marks.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			for _, g := range change {
				if _, err := conn.Exec(ctx, markSQL, g.Type, g.RunOn, g.Why, g.most()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("say why jobs wait: %w", err)
	}
	return unknown, nil
}

// turn reports whether the group waits for nothing but its turn.
func (g waiting) turn() bool { return g.Why != nil && *g.Why == "no_room" }

func (g waiting) most() int {
	if g.turn() {
		return markNoRoom
	}
	return markMost
}
