package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// ExplainThrough lets MarkWaiting write on a claimer's connection: a claim skips
// locked rows, and must not take a job before another because that one is just
// being told why it waits.
func (k *Maintenance) ExplainThrough(c *Claimer) { k.explained = c.conn }

var (
	waitingSQL, explainedSQL, explainWaitingSQL = sql.Query(
		"waiting"), sql.Query("explained"), sql.Query("explain_waiting")
	lookedSQL, unexplainedSQL          = sql.Query("looked"), sql.Query("unexplained")
	waitingLockedSQL, explainLockedSQL = sql.Query("waiting_locked"), sql.Query("explain_locked")
)

// How many names in run_on are looked at, and how many jobs are told why they wait: those that would start next. Of
// the jobs that wait only for their turn fewer are told, since that changes often.
const (
	waitingNames  = 1000
	explainTypes  = 500 // in one look, besides those that are served
	explainAtOnce = 20  // groups, before claims have their turn on the connection
	explainMost   = 1000
	explainNoRoom = 100
	explainApart  = 200 // of each, when hosts take jobs by priority
	explainLocked = 100 // of each type, of jobs with locks
	lostMost      = 20  // types that are looked at closer
)

// waiting is a group of ready jobs that start, or do not, for the same reason.
type waiting struct {
	Began        string // where this look at the queue began
	Type         string
	RunOn        *string
	Priority     *int16 // nil: any
	PriorityName *string
	Why          *string
	Flows        bool    // some of its type have just started
	Followed     *string // the last type of this look, where there are more; the same in all groups
}

// ExplainWaiting writes into waiting_for of ready jobs why they do not start.
// It gives the types that no live instance serves, and, where an instance looks at
// all of the queue, jobs for whose waiting no cause is known.
func (k *Maintenance) ExplainWaiting(ctx context.Context, looker scheduler.Looker) (
	found scheduler.Explained, err error,
) {
	var change []waiting
	var locked waitingLocked
	err = k.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		groups, err := k.readWaiting(ctx, conn)
		if err != nil {
			return err
		}
		found.Began = groups[0].Began
		if groups[0].Type == "" { // nothing is ready
			groups = nil
		}
		var types []string // held back by nothing, and none of them has just started
		var names []*string
		for _, g := range groups {
			if g.Why != nil && *g.Why == "unknown_type" &&
				(len(found.Unknown) == 0 || found.Unknown[len(found.Unknown)-1] != scheduler.TypeName(g.Type)) {
				found.Unknown = append(found.Unknown, scheduler.TypeName(g.Type))
			}
			if g.turn() && g.Flows { // it moves: the first one may run before this is written
				continue
			}
			if g.Why == nil && !g.Flows && len(types) < lostMost {
				types, names = append(types, g.Type), append(names, g.RunOn)
			}
			var wrong bool
			if err := conn.QueryRow(ctx, explainedSQL, g.args()...).Scan(&wrong); err != nil {
				return err
			}
			if wrong {
				change = append(change, g)
			}
		}
		if locked, err = readWaitingLocked(ctx, conn); err != nil {
			return err
		}
		if looker.Instance == 0 {
			return nil
		}
		found.Lost, err = tellLook(ctx, conn, looker, types, names)
		return err
	})
	if err == nil {
		err = k.explain(ctx, change)
	}
	if err == nil && len(locked.jobs) > 0 {
		err = k.explained.use(ctx, locked.write)
	}
	if err != nil {
		return scheduler.Explained{}, fmt.Errorf("say why jobs wait: %w", err)
	}
	return found, nil
}

// readWaiting reads the groups of the next look: at least one, whose type is empty where nothing is ready.
func (k *Maintenance) readWaiting(ctx context.Context, conn *pgx.Conn) ([]waiting, error) {
	rows, err := conn.Query(ctx, waitingSQL, waitingNames, explainApart, k.explainFrom, explainTypes)
	if err != nil {
		return nil, err
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[waiting])
	if err != nil {
		return nil, err
	}
	k.explainFrom = ""
	if groups[0].Followed != nil {
		k.explainFrom = *groups[0].Followed
	}
	return groups, nil
}

// explain tells groups why they wait, a few at a time: claims have their turn between.
func (k *Maintenance) explain(ctx context.Context, groups []waiting) error {
	for some := range slices.Chunk(groups, explainAtOnce) {
		if err := k.explained.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			for _, g := range some {
				if _, err := conn.Exec(ctx, explainWaitingSQL, g.args()...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// tellLook tells what an instance knows of itself, and finds jobs of these types, and names in run_on, for whose
// waiting no cause is known.
func tellLook(ctx context.Context, conn *pgx.Conn, looker scheduler.Looker, types []string, names []*string) (
	lost []scheduler.Unexplained, err error,
) {
	var why *string
	var since *time.Time
	if looker.Still.Why != "" {
		why, since = &looker.Still.Why, &looker.Still.Since
	}
	if _, err = conn.Exec(ctx, lookedSQL, int64(looker.Instance), sql.OrNull(looker.Seen), why, since); err != nil {
		return nil, err
	}
	if len(types) == 0 {
		return nil, nil
	}
	rows, err := conn.Query(ctx, unexplainedSQL, types, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.Unexplained])
}

// waitingLocked are jobs with locks that have to say something else in waiting_for.
type waitingLocked struct {
	jobs []int64
	why  []*string
}

// readWaitingLocked finds those that no pass has told why they wait: passes look at the jobs
// for which there may be room, and say nothing of the others.
func readWaitingLocked(ctx context.Context, conn *pgx.Conn) (w waitingLocked, err error) {
	var job int64
	var why *string
	rows, err := conn.Query(ctx, waitingLockedSQL, explainLocked)
	if err != nil {
		return w, err
	}
	_, err = pgx.ForEachRow(rows, []any{&job, &why}, func() error {
		w.jobs, w.why = append(w.jobs, job), append(w.why, why)
		return nil
	})
	return w, err
}

func (w waitingLocked) write(ctx context.Context, conn *pgx.Conn) error {
	if len(w.jobs) == 0 {
		return nil
	}
	_, err := conn.Exec(ctx, explainLockedSQL, w.jobs, w.why)
	return err
}

func (g waiting) args() []any {
	return []any{g.Type, g.RunOn, g.Why, g.most(), g.Priority, g.PriorityName}
}

// turn reports whether the group waits for nothing but its turn.
func (g waiting) turn() bool {
	return g.Why != nil && (*g.Why == "no_room" || strings.HasPrefix(*g.Why, "exclusive"))
}

func (g waiting) most() int {
	if g.turn() {
		return explainNoRoom
	}
	return explainMost
}
