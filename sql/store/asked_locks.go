package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

// AskedLocks answers what running jobs ask of locks: in transactions that come in
// turn with the passes, and are committed synchronously.
type AskedLocks struct {
	session
	// Policy reads locks. Set before the first use.
	Policy  lock.Policy
	silence passSilence // used under the connection's lock
}

// NewAskedLocks returns a session for locks that jobs ask for; it connects at its first use.
func NewAskedLocks(url string) (*AskedLocks, error) {
	conn, err := newConnection(url, "locks", upkeepByIndex())
	return &AskedLocks{session: session{conn}, Policy: lock.AnyLevel, silence: passSilence(silenceLeast)}, err
}

var (
	locksAskedSQL    = sql.Query("locks_asked")
	locksGrantNowSQL = sql.Query("locks_grant_now")
	locksWaitNowSQL  = sql.Query("locks_wait_now")
	locksWaitOverSQL = sql.Query("locks_wait_over")
	locksFreeSQL     = sql.Query("locks_free")
	locksStateSQL    = sql.Query("locks_state")
)

// Ask carries out what jobs of this instance ask. A job without an answer waits; over are those that this instance
// does not run any more.
func (a *AskedLocks) Ask(ctx context.Context, me scheduler.InstanceID, asks []scheduler.LockAsk) (
	answers map[scheduler.Claim]scheduler.LockAnswer, over []scheduler.Claim, err error,
) {
	err = a.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		began := time.Now()
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			q := &askedPass{me: me, asks: asks, silence: a.silence, fence: map[lock.ID]int64{}, runs: map[lock.ID]bool{}}
			if err := q.read(ctx, tx); err != nil {
				return err
			}
			answers, over = q.answer(a.Policy)
			return tx.SendBatch(ctx, q.writes()).Close()
		})
		a.silence.learn(began, conn, err)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return answers, over, nil
}

// askedPass is one transaction.
type askedPass struct {
	me      scheduler.InstanceID
	asks    []scheduler.LockAsk
	silence passSilence
	fence   map[lock.ID]int64
	runs    map[lock.ID]bool
	held    []lock.Grant
	waiting []lock.Awaiting
	said    []lock.Answer
}

func (q *askedPass) read(ctx context.Context, tx pgx.Tx) error {
	var ids, fences []int64
	for _, ask := range q.asks {
		ids, fences = append(ids, int64(ask.Job)), append(fences, int64(ask.Fence))
		q.fence[lock.ID(ask.Job)] = int64(ask.Fence)
	}
	batch := &pgx.Batch{}
	inTurnFor(batch, q.silence)
	batch.Queue("select pg_advisory_xact_lock($1)", int64(lockKey))
	asserted := false
	batch.Queue(locksAskedSQL, int64(q.me), ids, fences).Query(func(rows pgx.Rows) error {
		var what string
		var g lock.Grant
		var instance *int64
		var since time.Time
		_, err := pgx.ForEachRow(rows, []any{&what, (*int64)(&g.Job), &g.Level, &g.Name, &g.Mode, &instance, &since},
			func() error {
				switch what {
				case "holds":
					q.held = append(q.held, g)
				case "waits", "items":
					q.waiting = append(q.waiting, lock.Awaiting{Grant: g, Since: since, Items: what == "items"})
				case "own":
					q.waiting = append(q.waiting, lock.Awaiting{Grant: lock.Grant{Job: g.Job}, Items: true, Own: g.Level})
				case "asks":
					q.runs[g.Job] = true
				case "asserted":
					asserted = true
				}
				return nil
			})
		return err
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if !asserted { // a crash of the database may have undone the claim of the asking job: that does not end it
		return &scheduler.Unreachable{Err: errNotAsserted}
	}
	return nil
}

func (q *askedPass) answer(p lock.Policy) (answers map[scheduler.Claim]scheduler.LockAnswer, over []scheduler.Claim) {
	var asked []lock.Ask
	for _, ask := range q.asks {
		if !q.runs[lock.ID(ask.Job)] {
			over = append(over, ask.Claim)
			continue
		}
		asked = append(asked, lock.Ask{Job: lock.ID(ask.Job), Locks: ask.Locks, Any: ask.Any, Unlock: ask.Unlock})
	}
	q.said = p.Answer(asked, q.held, q.waiting)
	answers = map[scheduler.Claim]scheduler.LockAnswer{}
	for _, said := range q.said {
		if !said.Done() {
			continue
		}
		a := scheduler.LockAnswer{Granted: said.Granted, Refused: said.Refused}
		for _, g := range said.Freed {
			if g.Level == lock.Big {
				a.Unlocked = append(a.Unlocked, lock.Big)
				continue
			}
			a.Unlocked = append(a.Unlocked, g.Level+":"+g.Name)
		}
		switch {
		case said.TooFew != "":
			a.Failed, a.Again = scheduler.NoResources+": "+said.TooFew, true
		case said.Cycle != "":
			a.Failed = "deadlock: " + said.Cycle
		}
		answers[scheduler.Claim{Job: scheduler.JobID(said.Job), Fence: scheduler.Fence(q.fence[said.Job])}] = a
	}
	return answers, over
}

// writes are what the answers change.
func (q *askedPass) writes() *pgx.Batch {
	var granted, waits, freed grantRows
	var over, ids, fences []int64
	var whys []string
	for _, said := range q.said {
		fence := q.fence[said.Job]
		granted.add(fence, said.Grants)
		waits.add(fence, said.Waits)
		freed.add(fence, said.Freed)
		if said.Done() {
			over = append(over, int64(said.Job))
		}
		why := ""
		if !said.Done() {
			why = string(lock.LockHeld) + ": " + text(said.Why)
		}
		ids, fences, whys = append(ids, int64(said.Job)), append(fences, fence), append(whys, why)
	}
	batch := &pgx.Batch{}
	batch.Queue(locksWaitOverSQL, over)
	if len(granted.jobs) > 0 {
		batch.Queue(locksGrantNowSQL, int64(q.me),
			granted.jobs, granted.fences, granted.levels, granted.names, granted.modes)
	}
	if len(waits.jobs) > 0 {
		batch.Queue(locksWaitNowSQL, int64(q.me), waits.jobs, waits.fences, waits.levels, waits.names, waits.modes)
	}
	if len(freed.jobs) > 0 {
		batch.Queue(locksFreeSQL, freed.jobs, freed.fences, freed.levels, freed.names)
		batch.Queue(ringLocksSQL, false)
	}
	if len(ids) > 0 {
		batch.Queue(locksStateSQL, int64(q.me), ids, fences, whys)
	}
	return batch
}

// grantRows are grants, column by column.
type grantRows struct {
	jobs, fences         []int64
	levels, names, modes []string
}

func (r *grantRows) add(fence int64, grants []lock.Grant) {
	for _, g := range grants {
		r.jobs, r.fences = append(r.jobs, int64(g.Job)), append(r.fences, fence)
		r.levels, r.names, r.modes = append(r.levels, g.Level), append(r.names, g.Name), append(r.modes, g.Mode)
	}
}
