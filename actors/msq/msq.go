package msq

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/actors/lasting"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// progressEvery is how often the job's row tells how far it has come.
const progressEvery = 500 * time.Millisecond

// msq streams the rows of one MSQ job to children. It deals items on demand
// and knows the state of each one in flight; scheduler.MSQ keeps the books.
type msq struct {
	Ports
	job  scheduler.Job
	file string // the column that places its rows; empty: none does
	// owned by Receive
	books     *scheduler.MSQ
	waiting   itemPool           // items that want a child
	retries   itemPool           // and those to be tried again, which go first
	inFlight  map[int64]inFlight // items that were dealt
	locks     *msqLocks          // nil: no row has said which locks it needs
	rows      port.Rows
	reading   bool // a read is under way
	ended     bool // the last row of this round was read
	broken    error
	ending    *ending
	concluded bool
	told      int            // what the dispatcher thinks is waiting
	toldAt    map[string]int // and where
	toldRead  bool           // and whether it thinks that more comes
	began     time.Time
	progress  *time.Timer
	stuck     map[string]time.Time // places of which items wait and none runs, and since when
	deadline  *time.Timer
	pause     *backoff.ExponentialBackOff
	ctx       context.Context
	cancel    context.CancelFunc
}

type inFlight struct {
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
		rows port.Rows
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

func New(h Ports, job scheduler.Job) *msq {
	return &msq{Ports: h, job: job, file: job.Vars.Map()[scheduler.VarRunOnFile],
		books: scheduler.NewMSQ(scheduler.RepeatOf(job.Repeat, job.MSQ)), inFlight: map[int64]inFlight{}, began: time.Now(),
		pause: backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond),
			backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))}
}

func (q *msq) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		q.onStarted(c)
	case *opened:
		q.onOpened(c, m)
	case *read:
		q.onRead(m)
	case *reopen:
		q.books.Restart()
		q.open(c)
	case *message.Grant:
		q.onGrant(m)
	case *message.Answered:
		for i := range m.Results {
			q.onAnswer(&m.Results[i])
		}
	case *message.Nowhere:
		q.onNowhere(m)
	case *message.Returned:
		q.onReturned(m.Lines)
	case *message.HostRestarted:
		q.onHostRestarted(m)
	case *message.CancelJob:
		q.onCancel(m)
	case *message.Drop:
		q.onDrop(m)
	case *timedOut:
		q.end(&ending{scheduler.OutcomeTimedOut, "timeout: not done within " + q.job.Timeout.String(), true})
		q.Tell(message.RoleHosts, &message.CancelJob{Claim: q.job.Claim, Now: false})
	case *message.TryLocks:
		if q.locks == nil {
			return
		}
		q.tryItems(time.Now())
	case *itemTick:
		q.onItemTick(time.Now())
	case *itemLinger:
		q.locks.linger, q.locks.lingered = nil, true
	case *itemLocked:
		q.onItemLocked(m, time.Now())
	case *message.Describe:
		m.Tell(q.describe())
		return
	case *message.Report:
		q.announce()
	case *message.DrainMSQs:
		q.end(&ending{scheduler.OutcomeLost, "its instance was stopped", false})
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

func (q *msq) onStarted(c actor.Context) {
	q.ctx, q.cancel = context.WithCancel(context.Background())
	if q.job.Timeout > 0 {
		q.deadline = q.Later(c.Self(), q.job.Timeout, &timedOut{})
	}
	if q.job.Assigned {
		q.Outbox.Owe(scheduler.Record{Kind: scheduler.RecordStart, Claim: q.job.Claim, Attempt: q.job.Attempt,
			Host: q.job.Host, CreatedAt: q.job.Submitted(), Given: q.began})
	}
	q.open(c)
}

func (q *msq) onCancel(m *message.CancelJob) {
	if m.Claim == q.job.Claim {
		q.end(&ending{scheduler.OutcomeCancelled, "cancelled while it ran", true})
	}
}

func (q *msq) onDrop(m *message.Drop) {
	if slices.Contains(m.Claims, q.job.Claim) {
		q.end(&ending{scheduler.OutcomeLost, "", false})
	}
}

// next does what can be done now.
func (q *msq) next(c actor.Context) {
	if q.ending != nil {
		q.conclude()
		return
	}
	if q.broken != nil && len(q.inFlight) == 0 {
		// Nothing of the cut-off round is in a child's hands: run the query again.
		wait := q.pause.NextBackOff()
		q.Log.Warn(
			"msq: the query was cut off; it runs again",
			tree.Traced(q.job.Trace, "job", q.job.Claim.Job, "error", q.broken, "again_in", wait)...)
		q.broken = nil
		q.forget()
		self := c.Self()
		q.Later(self, wait, &reopen{})
	}
	if q.locks != nil {
		q.stepLocks(c)
	}
	q.read(c)
	left := q.takeSlots()
	q.tellRows() // first: else they would be granted again
	q.giveBack(left)
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

// tellRows keeps the dispatcher's idea of what waits here near enough to the
// truth that children never idle, without a message for each item.
func (q *msq) tellRows() {
	more := q.reading || !q.ended
	n := q.wanting()
	at := q.places()
	if n == q.told && more == q.toldRead && maps.Equal(at, q.toldAt) {
		return
	}
	q.told, q.toldRead, q.toldAt = n, more, at
	if q.rows == nil && n == 0 && more {
		return // nothing to say before the first rows: the place is kept
	}
	q.Tell(message.RoleDispatcher, &message.MSQWaiting{Claim: q.job.Claim, Waiting: n, Names: maps.Clone(at),
		Reading: more})
}

// announce tells a dispatcher that may not know of this job all that matters.
func (q *msq) announce() {
	if q.ending != nil {
		return
	}
	q.told, q.toldRead, q.toldAt = q.wanting(), q.reading || !q.ended, q.places()
	q.Tell(message.RoleDispatcher,
		&message.MSQWaiting{Claim: q.job.Claim, Waiting: q.told, Names: maps.Clone(q.toldAt), Reading: q.toldRead,
			Opening: q.rows == nil && q.told == 0 && q.toldRead, Job: &q.job})
}

func (q *msq) scheduleProgress(c actor.Context) {
	if q.progress == nil {
		self := c.Self()
		q.progress = q.Later(self, progressEvery, &progressDue{})
	}
}

func (q *msq) tellProgress() {
	p := scheduler.Progress{Claim: q.job.Claim, Items: q.books.Items, Waits: q.waits(time.Now())}
	if q.ending == nil {
		q.Outbox.Progress(p)
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
	q.told, q.toldRead, q.toldAt = 0, false, nil
	q.Tell(message.RoleDispatcher, &message.MSQWaiting{Claim: q.job.Claim})
	q.cancel() // an endless query ends here
	q.giveBack(q.takeSlots())
	if !q.reading {
		q.closeRows()
	}
	if e.outcome == scheduler.OutcomeLost {
		q.Tell(message.RoleHosts, &message.Drop{Claims: []scheduler.Claim{q.job.Claim}, Ends: e.why})
	}
}

// conclude settles the job when nothing of it is in a child's hands.
func (q *msq) conclude() {
	if len(q.inFlight) > 0 || q.ending == nil || q.concluded {
		return
	}
	q.concluded = true
	e := q.ending
	now, line := time.Now(), q.job.Line
	r := scheduler.Result{Line: &line, Outcome: e.outcome, Error: e.why, Host: q.job.Host, Began: q.began, Ended: now}
	if e.outcome != scheduler.OutcomeSucceeded && e.outcome != scheduler.OutcomeCancelled {
		r.ExitCode = 1
	}
	rec := lasting.Judged(q.Retry(q.job.Type), r)
	if e.items {
		items := q.books.Items // the total is known only when the last row was read
		rec.Result.Successes = q.books.Successes
		rec.Items = &items
	}
	q.Outbox.Owe(rec)
	q.Tell(message.RoleMSQs, &Done{q.job.Claim})
}

func (q *msq) closeRows() {
	if q.rows != nil {
		rows := q.rows
		q.rows = nil
		go rows.Close() // a second at most, and nothing has to wait for it
	}
}

func (q *msq) stop() {
	q.cancel()
	for _, t := range []*time.Timer{q.progress, q.deadline} {
		if t != nil {
			t.Stop()
		}
	}
	if q.locks != nil {
		q.locks.stop()
	}
	if !q.reading {
		q.closeRows()
	}
}
