package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Keeper does the slow rounds: what the clock makes ready, and why jobs wait.
type Keeper struct{ link *link }

// NewKeeper returns a desk for upkeep; it connects at its first use.
func NewKeeper(url string) (*Keeper, error) {
	l, err := newLink(url, "keeper", nil)
	return &Keeper{l}, err
}

// Close ends the desk's connection.
func (k *Keeper) Close() { k.link.close() }

var readyTypesSQL, servedTypesSQL, markSQL = sql.Query("ready_types"), sql.Query("served_types"), sql.Query("mark_waiting")

// MarkWaiting writes into waiting_for of ready jobs why they do not start, for
// the types that have any. It returns the types that no live instance serves.
func (k *Keeper) MarkWaiting(ctx context.Context) (unknown []scheduler.TypeName, err error) {
	err = k.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, readyTypesSQL)
		if err != nil {
			return err
		}
		waiting, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(waiting) == 0 {
			return err
		}
		why := map[string]*string{}
		if rows, err = conn.Query(ctx, servedTypesSQL); err != nil {
			return err
		}
		var typ, trouble string
		var well bool
		if _, err = pgx.ForEachRow(rows, []any{&typ, &well, &trouble}, func() error {
			why[typ] = nil
			if !well {
				reason := "agent_fails: " + trouble
				why[typ] = &reason
			}
			return nil
		}); err != nil {
			return err
		}
		slices.Sort(waiting)
		for _, typ := range waiting {
			reason, served := why[typ]
			if !served {
				u := "unknown_type"
				reason, unknown = &u, append(unknown, scheduler.TypeName(typ))
			}
			if _, err := conn.Exec(ctx, markSQL, typ, reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("say why jobs wait: %w", err)
	}
	return unknown, nil
}

var dueSQL, nextDueSQL, byHandSQL, straysSQL = sql.Query("due"), sql.Query("next_due"), sql.Query("by_hand"), sql.Query("strays")

// Due makes ready what the clock says, what was changed by hand, and what gone
// instances hold, and returns how many that were and how
// long until the next one (negative: nothing waits for the clock).
func (k *Keeper) Due(ctx context.Context) (n int, next time.Duration, err error) {
	next = -1
	err = k.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, dueSQL)
		if err != nil {
			return err
		}
		hand, err := conn.Exec(ctx, byHandSQL)
		if err != nil {
			return err
		}
		strays, err := conn.Exec(ctx, straysSQL)
		if err != nil {
			return err
		}
		n = int(tag.RowsAffected() + hand.RowsAffected() + strays.RowsAffected())
		var ms int64
		switch err := conn.QueryRow(ctx, nextDueSQL).Scan(&ms); err {
		case nil:
			next = time.Duration(ms) * time.Millisecond
		case pgx.ErrNoRows:
		default:
			return err
		}
		return nil
	})
	if err != nil {
		return 0, -1, fmt.Errorf("look for due jobs: %w", err)
	}
	return n, next, nil
}
