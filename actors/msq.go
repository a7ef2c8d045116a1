package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/scheduler"
)

// readAhead bounds the rows that wait in memory for children, and readAheadBytes
// their size: nothing here grows with the number of rows.
const (
	readAhead      = 2000
	readAheadBytes = 1 << 20
)

// progressEvery is how often the job's row tells how far it has come.
const progressEvery = 500 * time.Millisecond

// msq streams the rows of one MSQ job to children. It deals items on demand
// and knows the state of each one in flight; scheduler.MSQ keeps the books.
type msq struct {
	h   *house
	job scheduler.Job
	// owned by Receive
	books    *scheduler.MSQ
	waiting  []scheduler.Line // items that want a child
	again    []scheduler.Line // and those to be tried again, which go first
	flight   map[int64]flight // items that were dealt
	rows     Rows
	reading  bool // a read is under way
	ended    bool // the last row of this round was read
	broken   error
	ending   *ending
	told     int  // what the dispatcher thinks is waiting
	toldRead bool // and whether it thinks that more comes
	began    time.Time
	progress *time.Timer
	deadline *time.Timer
	pause    *backoff.ExponentialBackOff
	ctx      context.Context
	cancel   context.CancelFunc
}

type flight struct {
	line scheduler.Line
	host scheduler.HostName
	to   *actor.PID // the host's actor then
}

// ending is how the job ends once nothing of it is in a child's hands.
type ending struct {
	outcome scheduler.Outcome
	why     string
	items   bool // the books are complete: record them
}

// Messages of an msq to itself.
type (
	opened struct {
		rows Rows
		err  error
	}
	read struct {
		rows [][]scheduler.Column
		err  error
	}
	reopen      struct{}
	progressDue struct{}
	timedOut    struct{}
)

func newMSQ(h *house, job scheduler.Job) *msq {
	return &msq{h: h, job: job, books: scheduler.NewMSQ(scheduler.RepeatOf(job.Repeat, job.MSQ)), flight: map[int64]flight{}, began: time.Now(),
		pause: backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))}
}

func (q *msq) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		q.ctx, q.cancel = context.WithCancel(context.Background())
		if q.job.Timeout > 0 {
			self := c.Self()
			q.deadline = time.AfterFunc(q.job.Timeout, func() { q.h.system.Root.Send(self, &timedOut{}) })
		}
		if q.job.Assigned {
			q.h.owe(scheduler.Record{Kind: scheduler.RecordStart, Claim: q.job.Claim})
		}
		q.open(c)
	case *opened:
		q.onOpened(c, m)
	case *read:
		q.onRead(m)
	case *reopen:
		q.books.Restart()
		q.open(c)
	case *grant:
		q.onGrant(m)
	case *answered:
		for i := range m.Results {
			q.onAnswer(&m.Results[i])
		}
	case *unplaced:
		q.onUnplaced(m.Lines)
	case *arrived:
		q.onArrived(m)
	case *cancelJob:
		if m.Claim == q.job.Claim {
			q.end(&ending{scheduler.OutcomeCancelled, "cancelled while it ran", true})
		}
	case *drop:
		for _, claim := range m.Claims {
			if claim == q.job.Claim {
				q.end(&ending{scheduler.OutcomeLost, "", false})
			}
		}
	case *timedOut:
		q.end(&ending{scheduler.OutcomeTimedOut, "timeout: not done within " + q.job.Timeout.String(), true})
		q.h.tell(roleHosts, &cancelJob{q.job.Claim, false})
	case *report:
		q.introduce()
	case *handIn:
		q.end(&ending{scheduler.OutcomeLost, "", false})
	case *progressDue:
		q.progress = nil
		q.tellProgress()
	case *actor.Stopping:
		q.stop()
		return
	default:
		return
	}
	q.next(c)
}

// next does what can be done now.
func (q *msq) next(c actor.Context) {
	if q.ending != nil {
		q.conclude()
		return
	}
	if q.broken != nil && len(q.flight) == 0 {
		// Nothing of the cut-off round is in a child's hands: run the query again.
		wait := q.pause.NextBackOff()
		q.h.Log.Warn("msq: the query was cut off; it runs again", "job", q.job.Claim.Job, "error", q.broken, "again_in", wait.Round(time.Millisecond))
		q.broken = nil
		q.forget()
		self := c.Self()
		time.AfterFunc(wait, func() { q.h.system.Root.Send(self, &reopen{}) })
	}
	q.read(c)
	q.tellRows()
	q.scheduleProgress(c)
	switch what, conclusion := q.books.Turn(); what {
	case scheduler.NextRound:
		q.ended = false
		q.open(c)
	case scheduler.NextFinish:
		outcome := scheduler.OutcomeSucceeded
		if !conclusion.OK {
			outcome = scheduler.OutcomeFailed
		}
		q.end(&ending{outcome, conclusion.Error, true})
		q.conclude()
	}
}

func (q *msq) open(c actor.Context) {
	q.reading = true
	h, ctx, text, self := q.h, q.ctx, q.job.MSQ, c.Self()
	go func() {
		rows, err := h.Queries.Open(ctx, text)
		if err == nil && ctx.Err() != nil { // nobody waits for it any more
			rows.Close()
			return
		}
		h.system.Root.Send(self, &opened{rows, err})
	}()
}

func (q *msq) onOpened(c actor.Context, m *opened) {
	q.reading = false
	if m.err != nil {
		q.cutOff(m.err)
		return
	}
	if q.ending != nil {
		m.rows.Close()
		return
	}
	q.rows = m.rows
}

// read asks for more rows when half of the read-ahead is used up.
func (q *msq) read(c actor.Context) {
	if q.reading || q.rows == nil || q.ended || len(q.waiting) > readAhead/2 || q.waitingBytes() > readAheadBytes/2 {
		return
	}
	q.reading = true
	h, ctx, rows, self := q.h, q.ctx, q.rows, c.Self()
	go func() {
		list, err := rows.Next(ctx)
		h.system.Root.Send(self, &read{list, err})
	}()
}

func (q *msq) waitingBytes() int {
	// Rows of one query are much alike: the first and the last tell enough.
	if n := len(q.waiting); n > 0 {
		return n * max(len(q.waiting[0].Args), len(q.waiting[n-1].Args))
	}
	return 0
}

func (q *msq) onRead(m *read) {
	q.reading = false
	if q.ending != nil {
		q.closeRows()
		return
	}
	if m.err != nil {
		q.closeRows()
		q.cutOff(m.err)
		return
	}
	q.pause.Reset()
	if len(m.rows) == 0 {
		q.ended = true
		q.books.End()
		q.closeRows() // its snapshot ends as early as can be
		return
	}
	for _, columns := range m.rows {
		line := scheduler.Line{Claim: q.job.Claim, Instance: q.job.Instance, Attempt: q.job.Attempt, Priority: q.job.Priority, HasArgs: true, Args: scheduler.Pairs(columns),
			Columns: columns, Key: q.job.Key, Vars: q.job.Vars, Trace: q.job.Trace}
		if item, ok := q.books.Row(line.Args); ok {
			line.Item = item
			q.waiting = append(q.waiting, line)
		}
	}
}

// cutOff handles the end of a query before its last row: the query's own fault
// ends the job; a lost connection does not.
func (q *msq) cutOff(err error) {
	if errors.Is(err, scheduler.ErrQuery) {
		q.end(&ending{scheduler.OutcomeFailed, err.Error(), true}) // what children have in hand they may finish
		return
	}
	q.broken = err
}

func (q *msq) onGrant(m *grant) {
	now, spawn, to := m.Now, m.Spawn, q.h.pid(roleHost(m.Host))
	var lines []scheduler.Line
	for now+spawn > 0 && q.wanting() > 0 && q.ending == nil && q.broken == nil {
		l := q.pop()
		if l.Assigned = now <= 0; l.Assigned {
			spawn--
		} else {
			now--
		}
		q.flight[l.Item] = flight{l, m.Host, to}
		lines = append(lines, l)
	}
	if len(lines) > 0 {
		if to != nil {
			q.h.system.Root.Send(to, &deal{Epoch: m.Epoch, Type: q.job.Type, Lines: lines})
		}
	}
	if now+spawn > 0 {
		q.h.tell(roleDispatcher, &ungrant{Host: m.Host, Type: q.job.Type, Epoch: m.Epoch, Now: now, Spawn: spawn})
	}
	q.told -= m.Now + m.Spawn
}

// wanting is how many items want a child.
func (q *msq) wanting() int { return len(q.again) + len(q.waiting) }

func (q *msq) pop() scheduler.Line {
	if n := len(q.again); n > 0 {
		l := q.again[n-1]
		q.again = q.again[:n-1]
		return l
	}
	l := q.waiting[0]
	if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
		q.waiting = nil // let go of what the slice has left behind
	}
	return l
}

// forget drops the items that no child has.
func (q *msq) forget() {
	for _, list := range [][]scheduler.Line{q.again, q.waiting} {
		for _, l := range list {
			q.books.Drop(l.Item)
		}
	}
	q.again, q.waiting = nil, nil
}

func (q *msq) onAnswer(r *scheduler.Result) {
	f, ours := q.flight[r.Line.Item]
	if !ours || r.Line.Claim != q.job.Claim {
		return
	}
	delete(q.flight, r.Line.Item)
	if q.ending != nil {
		if r.Outcome == scheduler.OutcomeSucceeded {
			q.books.Answer(*r)
		} else {
			q.books.Drop(r.Line.Item)
		}
		return
	}
	switch fate, tries := q.books.Answer(*r); fate {
	case scheduler.ItemAgain:
		q.again = append(q.again, f.line)
	case scheduler.ItemFailed:
		if q.h.outbox.failed([]scheduler.FailedItem{{Claim: q.job.Claim, Item: r.Line.Item, Line: r.Line.Args, Tries: tries, ExitCode: r.ExitCode, Error: r.Error}}) {
			q.h.tell(roleLedger, flush)
		}
	}
}

// onUnplaced takes back items that no child has seen.
func (q *msq) onUnplaced(lines []scheduler.Line) {
	for _, l := range lines {
		if f, ours := q.flight[l.Item]; ours && l.Claim == q.job.Claim {
			delete(q.flight, l.Item)
			q.again = append(q.again, f.line)
		}
	}
}

// onArrived: a host's actor died, and another is there. Processes of its
// children have answered for what they had in hand; what the dead one itself
// held, or was on its way to it, would never come back, so it is tried again.
func (q *msq) onArrived(m *arrived) {
	var lines []scheduler.Line
	for _, f := range q.flight {
		if f.host == m.Host && !m.At.Equal(f.to) {
			lines = append(lines, f.line)
		}
	}
	q.onUnplaced(lines)
}

// tellRows keeps the dispatcher's idea of what waits here near enough to the
// truth that children never idle, without a message for each item.
func (q *msq) tellRows() {
	more := q.reading || !q.ended
	n := q.wanting()
	if n == q.told && more == q.toldRead {
		return
	}
	q.told, q.toldRead = n, more
	if q.rows == nil && n == 0 && more {
		return // nothing to say before the first rows: the place is kept
	}
	q.h.tell(roleDispatcher, &rows{Claim: q.job.Claim, Waiting: n, Reading: more})
}

// introduce tells a dispatcher that may not know of this job all that matters.
func (q *msq) introduce() {
	if q.ending != nil {
		return
	}
	q.told, q.toldRead = q.wanting(), q.reading || !q.ended
	q.h.tell(roleDispatcher, &rows{Claim: q.job.Claim, Waiting: q.told, Reading: q.toldRead,
		Opening: q.rows == nil && q.told == 0 && q.toldRead, Job: &q.job})
}

func (q *msq) scheduleProgress(c actor.Context) {
	if q.progress == nil {
		self := c.Self()
		q.progress = time.AfterFunc(progressEvery, func() { q.h.system.Root.Send(self, &progressDue{}) })
	}
}

func (q *msq) tellProgress() {
	if q.ending == nil && q.h.outbox.progress(scheduler.Progress{Claim: q.job.Claim, Items: q.books.Items}) {
		q.h.tell(roleLedger, flush)
	}
}

// end begins the end: nothing is dealt any more, and what children have in
// hand is waited for, or killed.
func (q *msq) end(e *ending) {
	if q.ending != nil {
		return
	}
	q.ending = e
	q.forget()
	q.told, q.toldRead = 0, false
	q.h.tell(roleDispatcher, &rows{Claim: q.job.Claim})
	q.cancel() // an endless query ends here
	if !q.reading {
		q.closeRows()
	}
	if e.outcome == scheduler.OutcomeLost {
		q.h.tell(roleHosts, &drop{[]scheduler.Claim{q.job.Claim}})
	}
}

// conclude settles the job when nothing of it is in a child's hands.
func (q *msq) conclude() {
	if len(q.flight) > 0 || q.ending == nil {
		return
	}
	e := q.ending
	now := time.Now()
	r := scheduler.Result{Line: q.job.Line, Outcome: e.outcome, Error: e.why, Host: q.job.Host, Began: q.began, Ended: now}
	if e.outcome != scheduler.OutcomeSucceeded && e.outcome != scheduler.OutcomeCancelled {
		r.ExitCode = 1
	}
	rec := judged(q.h, r)
	if e.items {
		items := q.books.Items // the total is known only when the last row was read
		rec.Items = &items
	}
	q.h.owe(rec)
	q.h.tell(roleMSQs, &over{q.job.Claim})
}

func (q *msq) closeRows() {
	if q.rows != nil {
		rows := q.rows
		q.rows = nil
		go rows.Close() // a second at most, and nobody has to wait for it
	}
}

func (q *msq) stop() {
	q.cancel()
	for _, t := range []*time.Timer{q.progress, q.deadline} {
		if t != nil {
			t.Stop()
		}
	}
	if !q.reading {
		q.closeRows()
	}
}
