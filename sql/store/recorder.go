package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Recorder is the only writer of outcomes. Its commits are synchronous: what
// is recorded done, is.
type Recorder struct {
	session
	// Since which fence the database is on the server that this connection leads to; used under the connection's lock.
	met   *pgx.Conn
	floor scheduler.Fence
}

// rowWait is how long a write waits for a row that another session has locked: longer than statements take, but not
// as long as a forgotten transaction may stay open.
const rowWait = "300ms"

// busyTries is how often a write waits for a lock that is not on a row.
const busyTries = 5

// NewRecorder returns a session for outcomes; it connects at its first use.
func NewRecorder(url string) (*Recorder, error) {
	settings := map[string]string{"synchronous_commit": "on", "lock_timeout": rowWait}
	maps.Copy(settings, byIndex)
	maps.Copy(settings, byHash)
	conn, err := newConnection(url, "recorder", settings)
	return &Recorder{session: session{conn}}, err
}

var (
	succeededSQL = sql.Query("settle_succeeded")
	settleSQL    = sql.Query("settle")
	requeueSQL   = sql.Query("requeue")
	restSQL      = sql.Query("rest")
	startSQL     = sql.Query("start")
	resultSQL    = sql.Query("settle_result")
	howFarSQL    = sql.Query("how_far")
	ringOverSQL  = sql.Query("ring_over")
	alreadySQL   = sql.Query("settled_already")
	progressSQL  = sql.Query("progress")
	logSQL       = sql.Query("log")
	itemSQL      = sql.Query("item_failed")
	lockedSQL    = sql.Query("locked")
)

// Write records a batch in one transaction and one round trip. It returns the
// claims among its records that are not ours any more: their rows were
// deleted, changed by hand, or taken over, and nothing was written to them;
// and whether jobs that waited for those that ended are ready now.
// After an error nothing is known; write the same batch again with Again set,
// unless the error wraps scheduler.ErrRefused: then nothing was written, and
// never will be; or scheduler.ErrBusy: nothing was written.
func (r *Recorder) Write(
	ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time,
) (stale []scheduler.Claim, released bool, err error) {
	b.Records = startOnce(b.Records)
	for range busyTries {
		if stale, released, err = r.write(ctx, me, b, now); !errors.Is(err, scheduler.ErrBusy) || !notARow(err) {
			break
		}
	}
	return stale, released, err
}

func (r *Recorder) write(
	ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time,
) (stale []scheduler.Claim, released bool, err error) {
	wrote := make([]scheduler.JobID, 0, len(b.Records)+1) // one for each record that was written
	err = r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := r.meet(ctx, conn); err != nil {
			return err
		}
		b, err := r.onlyKnown(ctx, conn, b)
		if err != nil {
			return err
		}
		batch := batchOf(me, b, now, func(id int64) {
			if job := scheduler.JobID(id); job == released0 {
				released = true
			} else {
				wrote = append(wrote, job)
			}
		})
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		if len(wrote) == len(b.Records) { // as nearly always: nothing is counted by job then
			return nil
		}
		done := make(map[scheduler.JobID]int, len(wrote))
		for _, job := range wrote {
			done[job]++
		}
		stale = missing(b.Records, done)
		if len(stale) == 0 {
			return nil
		}
		if err := addAlready(ctx, conn, me, b, stale, done); err != nil {
			return err
		}
		stale = missing(b.Records, done)
		return nil
	})
	var lost *scheduler.Unreachable
	switch {
	case err == nil:
		return stale, released, nil
	case busy(err):
		return nil, false, fmt.Errorf("record outcomes: %w: %w", scheduler.ErrBusy, err)
	case errors.As(err, &lost) || transient(err):
		return nil, false, fmt.Errorf("record outcomes: %w", err)
	default:
		return nil, false, fmt.Errorf("record outcomes: %w: %w", scheduler.ErrRefused, err)
	}
}

// batchOf queues the statements of a batch. wrote gets the id of each written record, and released0 if jobs became
// ready.
func batchOf(me scheduler.InstanceID, b scheduler.Batch, now time.Time, wrote func(id int64)) *pgx.Batch {
	batch := &pgx.Batch{}
	if len(b.Entries) > 0 {
		batch.Queue(logSQL, logArgs(b.Entries, now)...)
	}
	// Before the outcomes: the last that an agent said of a job must find it running.
	if len(b.Progress) > 0 {
		batch.Queue(progressSQL, progressArgs(me, b.Progress)...)
	}
	if len(b.HowFar) > 0 {
		batch.Queue(howFarSQL, howFarArgs(me, b.HowFar)...)
	}
	queueRecords(batch, me, b.Records, now, wrote)
	if len(b.Failed) > 0 {
		batch.Queue(itemSQL, itemArgs(b.Failed)...)
	}
	if len(b.Ring) > 0 {
		batch.Queue(ringOverSQL, scheduler.JobIDLists(b.Ring))
	}
	return batch
}

// addAlready counts those of the stale records that are written already: by agents in their own transactions
// (bellhop.finish), or by an earlier try of the batch.
func addAlready(ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, b scheduler.Batch,
	stale []scheduler.Claim, done map[scheduler.JobID]int,
) error {
	var ids, fences []int64
	for _, c := range stale {
		ids, fences = append(ids, int64(c.Job)), append(fences, int64(c.Fence))
	}
	rows, err := conn.Query(ctx, alreadySQL, int64(me), ids, fences, b.MaybeCommitted)
	if err != nil {
		return err
	}
	var id int64
	var runs bool
	starts := starts(b.Records)
	if _, err := pgx.ForEachRow(rows, []any{&id, &runs}, func() error {
		job := scheduler.JobID(id)
		if !runs {
			done[job] += 2 // a start and an ending
		} else {
			done[job] = max(done[job], starts[job])
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range b.Records { // given back, it may belong to another instance by now
		if r := &b.Records[i]; b.MaybeCommitted && r.Kind == scheduler.RecordRequeue && slices.Contains(stale, r.Claim) {
			done[r.Claim.Job] += 2 // with its start
		}
	}
	return nil
}

// Busy names those of the jobs whose row another session has locked now, or an edge of the graph behind it. An
// error: no session can write now.
func (r *Recorder) Busy(ctx context.Context, jobs []scheduler.JobID) (inHand []scheduler.JobID, err error) {
	err = r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// A lock that blocks all writers (CREATE INDEX) locks no row.
			if _, err := tx.Exec(ctx, "lock table bellhop.jobqueue in row exclusive mode"); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, lockedSQL, column(jobs, func(j *scheduler.JobID) int64 { return int64(*j) }))
			if err != nil {
				return err
			}
			inHand, err = pgx.CollectRows(rows, pgx.RowTo[scheduler.JobID])
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("look for locked rows: %w", err)
	}
	return inHand, nil
}

// startOnce leaves out a job's second start: a line can be taken back before its agent has seen it, and be fed to
// another child before the first start is written. One row would answer for both, and the job would seem to have no
// owner.
func startOnce(records []scheduler.Record) []scheduler.Record {
	var told map[scheduler.Claim]bool
	twice := func(r *scheduler.Record) bool {
		if r.Kind != scheduler.RecordStart {
			return false
		}
		if told[r.Claim] {
			return true
		}
		if told == nil {
			told = map[scheduler.Claim]bool{}
		}
		told[r.Claim] = true
		return false
	}
	for i := range records {
		if twice(&records[i]) { // seldom: the caller's list stays as it is
			once := slices.Clone(records[:i])
			for j := i + 1; j < len(records); j++ {
				if !twice(&records[j]) {
					once = append(once, records[j])
				}
			}
			return once
		}
	}
	return records
}

// released0 is the id in a row that stands for no job of the batch: jobs that
// waited for some of it are ready.
const released0 scheduler.JobID = 0

// starts counts the starts among records.
func starts(records []scheduler.Record) map[scheduler.JobID]int {
	n := map[scheduler.JobID]int{}
	for i := range records {
		if records[i].Kind == scheduler.RecordStart {
			n[records[i].Claim.Job]++
		}
	}
	return n
}

// missing lists the claims with more records than rows that were written.
func missing(records []scheduler.Record, done map[scheduler.JobID]int) []scheduler.Claim {
	want := make(map[scheduler.JobID]int, len(records))
	for i := range records {
		want[records[i].Claim.Job]++
	}
	var stale []scheduler.Claim
	seen := map[scheduler.JobID]bool{}
	for i := range records {
		if c := records[i].Claim; done[c.Job] < want[c.Job] && !seen[c.Job] {
			seen[c.Job] = true
			stale = append(stale, c)
		}
	}
	return stale
}

// Records by the statements that write them.
const (
	ofStarts    = iota
	ofReturns   // what goes back
	ofRests     // of that, what sleeps or awaits an event
	ofSuccesses // plain ones
	ofResults   // of those, such as bring something
	ofOthers
	ofKinds // how many there are
)

// sorted takes records apart, in their order.
func sorted(records []scheduler.Record) (of [ofKinds][]scheduler.Record) {
	for i := range records {
		r, to := &records[i], ofOthers
		switch {
		case r.Kind == scheduler.RecordStart:
			to = ofStarts
		case r.Rest != nil:
			to = ofRests
		case r.Kind == scheduler.RecordRequeue:
			to = ofReturns
		case r.Plain() && (r.Result.Given() != nil || r.EndedAs() != ""):
			to = ofResults
		case r.Plain():
			to = ofSuccesses
		}
		if n := len(of[to]); n == i { // nearly always all are of one kind: those are not copied
			of[to] = records[: i+1 : i+1]
		} else {
			of[to] = append(of[to], *r)
		}
	}
	return of
}

func queueRecords(
	batch *pgx.Batch, me scheduler.InstanceID, records []scheduler.Record, now time.Time, did func(int64),
) {
	of := sorted(records)
	start, back, plain, given, other := of[ofStarts], of[ofReturns], of[ofSuccesses], of[ofResults], of[ofOthers]
	queue := func(text string, args []any) {
		batch.Queue(text, args...).Query(func(rows pgx.Rows) error {
			var id int64
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error { did(id); return nil })
			return err
		})
	}
	// A job can start and end within one batch: the start comes first.
	if len(start) > 0 {
		ids, fences := claims(start)
		queue(startSQL, []any{int64(me), ids, fences,
			column(start, func(r *scheduler.Record) *int64 { return microseconds(r.Given, now) }),
			column(start, func(r *scheduler.Record) *int64 { return microseconds(r.Launched, now) })})
	}
	if len(back) > 0 {
		ids, fences := claims(back)
		queue(requeueSQL, []any{int64(me), ids, fences, column(back, func(r *scheduler.Record) string { return text(r.Why) }),
			column(back, func(r *scheduler.Record) string { return text(r.Lost) }),
			column(back, func(r *scheduler.Record) string { return string(r.Result.Host) }),
			column(back, func(r *scheduler.Record) string { return string(r.Result.Child) }),
			column(back, func(r *scheduler.Record) *int64 { return microseconds(r.Result.Began, now) }),
			column(back, func(r *scheduler.Record) *int64 { return microseconds(r.Result.Ended, now) }),
			column(back, func(r *scheduler.Record) int64 { return r.Verdict.Delay.Milliseconds() })})
	}
	if rests := of[ofRests]; len(rests) > 0 {
		queue(restSQL, restArgs(me, rests))
	}
	if len(plain) > 0 {
		queue(succeededSQL, succeededArgs(me, plain, now))
	}
	if len(given) > 0 {
		queue(resultSQL, append(succeededArgs(me, given, now), column(given, resultOf), column(given, endedAs),
			column(given, func(r *scheduler.Record) int32 { return int32(r.Result.ExitCode) })))
	}
	if len(other) > 0 {
		queue(settleSQL, settleArgs(me, other, now))
	}
}
