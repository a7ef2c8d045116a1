package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

var (
	locksBehindSQL    = sql.Query("locks_behind")
	locksItemsFreeSQL = sql.Query("locks_items_free")
	locksItemsOverSQL = sql.Query("locks_items_over")
)

// ReadLocks reads what an item says of locks.
func (a *AskedLocks) ReadLocks(texts []string) (lock.Set, error) { return a.Policy.Read(texts) }

// OwnLocks are those that a job holds before anything was asked for its items.
func (a *AskedLocks) OwnLocks(ctx context.Context, me scheduler.InstanceID, job scheduler.Claim) (
	own lock.Set, err error,
) {
	err = a.itemsPass(ctx, me, job, func(_ context.Context, _ pgx.Tx, q *itemsPass) error {
		own = lock.HeldBy(lock.ID(job.Job), q.held)
		return nil
	})
	return own, err
}

// AskForItems has a job hold what its items need, those that run and as many of the
// others as there are slots for, and give back the rest.
func (a *AskedLocks) AskForItems(ctx context.Context, me scheduler.InstanceID, job scheduler.Claim, ask lock.ItemsAsk) (
	said lock.ItemsAnswer, err error,
) {
	err = a.itemsPass(ctx, me, job, func(ctx context.Context, tx pgx.Tx, q *itemsPass) error {
		said = a.Policy.AnswerItems(ask, q.held, q.waiting)
		batch := q.writes(ask, said)
		for _, b := range q.behind {
			set, err := a.Policy.Read(b.locks)
			if err != nil || set.Empty() { // its agent says which locks it needs
				set = lock.HeldBy(0, []lock.Grant{{Level: b.Level, Name: b.Name, Mode: lock.Exclusive.String()}})
			}
			if is, _ := lock.Conflicts(set, said.Has); is {
				said.Before = append(said.Before, set)
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return lock.ItemsAnswer{}, err
	}
	return said, nil
}

// itemsPass is one transaction, in turn with the passes.
type itemsPass struct {
	me  scheduler.InstanceID
	job scheduler.Claim
	askedPass
	behind []waitedFor
}

// waitedFor is a lock behind which a ready job waits.
type waitedFor struct {
	lock.Grant
	locks []string
}

func (a *AskedLocks) itemsPass(ctx context.Context, me scheduler.InstanceID, job scheduler.Claim,
	do func(context.Context, pgx.Tx, *itemsPass) error,
) error {
	return a.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			q := &itemsPass{me: me, job: job}
			q.askedPass = askedPass{me: me, asks: []scheduler.LockAsk{{Claim: job}},
				fence: map[lock.ID]int64{}, runs: map[lock.ID]bool{}}
			if err := q.read(ctx, tx); err != nil {
				return err
			}
			if !q.runs[lock.ID(job.Job)] {
				return fmt.Errorf("job %d is not run by this instance any more", job.Job)
			}
			rows, err := tx.Query(ctx, locksBehindSQL, int64(job.Job), int64(job.Fence))
			if err != nil {
				return err
			}
			var w waitedFor
			if _, err := pgx.ForEachRow(rows, []any{&w.Level, &w.Name, &w.locks}, func() error {
				q.behind = append(q.behind, w)
				w = waitedFor{}
				return nil
			}); err != nil {
				return err
			}
			return do(ctx, tx, q)
		})
	})
}

// writes are what the answer changes. Jobs that wait for what is given back, or is not waited for any more, have a
// turn: the next pass hands it on.
func (q *itemsPass) writes(ask lock.ItemsAsk, said lock.ItemsAnswer) *pgx.Batch {
	fence := int64(q.job.Fence)
	var granted, freed, waits, left grantRows
	granted.add(fence, said.Grants)
	freed.add(fence, said.Freed)
	still := lock.Rows(ask.Job, said.Waits)
	waits.add(fence, still)
	for _, w := range q.waiting {
		same := func(g lock.Grant) bool { return g.Level == w.Level && g.Name == w.Name }
		if w.Job == ask.Job && !slices.ContainsFunc(still, same) {
			left.add(fence, []lock.Grant{w.Grant})
		}
	}
	batch := &pgx.Batch{}
	if len(freed.jobs) > 0 {
		batch.Queue(locksItemsFreeSQL, int64(q.job.Job), fence, freed.levels, freed.names)
	}
	if len(granted.jobs) > 0 {
		batch.Queue(locksGrantNowSQL, int64(q.me), granted.jobs, granted.fences, granted.levels, granted.names, granted.modes)
	}
	if ask.InLine {
		left = grantRows{}
	} else {
		if len(left.jobs) > 0 {
			batch.Queue(locksItemsOverSQL, int64(q.job.Job), waits.levels, waits.names)
		}
		if len(waits.jobs) > 0 {
			batch.Queue(locksWaitNowSQL, int64(q.me), waits.jobs, waits.fences, waits.levels, waits.names, waits.modes)
		}
	}
	var levels, names []string
	for _, b := range q.behind {
		if freed.has(b.Level, b.Name) || left.has(b.Level, b.Name) {
			levels, names = append(levels, b.Level), append(names, b.Name)
		}
	}
	if len(levels) > 0 {
		batch.Queue(locksShareSQL, levels, names)
	}
	others := slices.ContainsFunc(q.waiting, func(w lock.Awaiting) bool { return w.Job != ask.Job })
	if len(levels) > 0 || others && len(freed.jobs)+len(left.jobs) > 0 {
		batch.Queue(ringLocksSQL, false)
	}
	return batch
}

func (r *grantRows) has(level, name string) bool {
	for i := range r.levels {
		if r.levels[i] == level && r.names[i] == name {
			return true
		}
	}
	return false
}
