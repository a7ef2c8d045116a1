package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/scheduler/position"
	"bellhop/sql"
	"bellhop/sql/view"
)

// Claimer takes jobs. Its commits are asynchronous: if a crash of the database loses a claim, the job runs again,
// and its end was never announced.
type Claimer struct {
	conn *connection
	// Since which opening of the connection all that runs here is known to be ours, and in which era that was;
	// used under the connection's lock.
	asserted int
	era      scheduler.Era
	position *position.Position
	below    *below
	// Policy chooses among jobs with locks. Set before the first use.
	Policy lock.Policy
	// Templates are what agents say of their jobs' locks. Set before the first use.
	Templates lock.Templates
	// Log is told of filters that cannot be read; nil: they are not logged.
	Log     *slog.Logger
	told    map[string]string // of which filters it was told what; used under the connection's lock
	later   later
	brought int           // by the last claim: the next is likely to bring as much
	passes  time.Duration // passesFor; tests on a slow machine take longer
	reads   atomic.Int64  // nanoseconds that the last read of all that this instance holds took
	// What its passes may take without a word; used under the connection's lock.
	silence passSilence
	shares  sharedTypes
	// Until when passes take it that no waiting job of a type has a share, where they have found none.
	turnless map[string]time.Time
}

// Later is when another claim may bring more than the last one did: how long after one of jobs with locks a limit per
// time, which is used up, lets the next one start (0: none is used up); when the first of the jobs at which it has
// looked is to be reserved for (zero: none); and what closes when a look is over for jobs that claims leave out (nil:
// they leave none out). Called by the claiming goroutine.
func (c *Claimer) Later() (limit time.Duration, ages time.Time, looked <-chan struct{}) {
	return c.later.limit, c.later.ages, c.below.pending()
}

// later is what the last claim of jobs with locks said.
type later struct {
	limit time.Duration
	ages  time.Time
}

// NewClaimer returns a session for claims; it connects at its first use.
func NewClaimer(url string) (*Claimer, error) {
	settings := map[string]string{"synchronous_commit": "off", "lock_timeout": lockWait}
	maps.Copy(settings, byIndex)
	conn, err := newConnection(url, "claimer", settings)
	c := &Claimer{
		conn:     conn,
		asserted: -1,
		Policy:   lock.AnyLevel,
		passes:   passesFor,
		silence:  passSilence(silenceLeast),
		position: position.New(),
		below:    newBelow(url),
	}
	c.shares.hear(conn)
	return c, err
}

// Close ends the session's connection, and a look that is under way.
func (c *Claimer) Close() {
	c.below.close()
	c.conn.close()
}

var (
	claimSQL      = sql.Query("claim")
	claimManySQL  = sql.Query("claim_many")
	claimAboveSQL = sql.Query("claim_above")
	claimOnlySQL  = sql.Query("claim_only")
)

var errNotAsserted = errors.New("a new connection: running jobs must be asserted first")

// Claim takes what the demand asks for, in the order in which it shall start.
// It takes nothing on a connection on which Assert has not been called: behind
// a lost one the database may have crashed, and jobs that run here be ready.
// Beside an error come the jobs that were taken before it: they are ours.
func (c *Claimer) Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	var jobs []scheduler.Job
	inTurn := false
	err := c.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		c.later = later{}
		c.below.tell(c.position, time.Now())
		if c.asserted != c.conn.opened {
			return &scheduler.Unreachable{Err: errNotAsserted}
		}
		if d.Locked {
			jobs, err = c.claimLocked(ctx, conn, me, d)
			return err
		}
		c.shares.took = false
		defer func() { inTurn = c.shares.took }()
		for rest, more := d, true; more; {
			var got []scheduler.Job
			if got, rest, more, err = c.claimFrom(ctx, conn, me, rest); err != nil {
				return err
			}
			if jobs == nil {
				jobs = got
			} else {
				jobs = append(jobs, got...)
			}
		}
		return nil
	})
	if err != nil { // what a statement that failed took, if it did, only an audit finds out
		err = fmt.Errorf("claim jobs: %w", err)
	}
	if !inTurn { // else they have come in the order in which keys take turns
		sortJobs(jobs)
	}
	return jobs, err
}

// sortJobs puts jobs in the order in which they are to begin. Nearly always they
// have come so.
func sortJobs(jobs []scheduler.Job) {
	order := func(a, b *scheduler.Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Claim.Job, b.Claim.Job))
	}
	for i := 1; i < len(jobs); i++ {
		if order(&jobs[i-1], &jobs[i]) > 0 {
			slices.SortFunc(jobs, func(a, b scheduler.Job) int { return order(&a, &b) })
			return
		}
	}
}

// claimFrom makes one claim, from where it has to begin.
func (c *Claimer) claimFrom(
	ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, d scheduler.Demand,
) (jobs []scheduler.Job, rest scheduler.Demand, more bool, err error) {
	began := time.Now()
	if c.shares.among(d, began) {
		jobs, err = c.claimShared(ctx, conn, me, d)
		return jobs, d, false, err
	}
	from := c.position.From(d, began)
	if from.Look != nil {
		c.below.begin(from.Look)
	}
	var snapshot position.Taken
	if from.Snapshot {
		if err := conn.QueryRow(ctx, "select pg_current_snapshot()::text").Scan(&snapshot.Text); err != nil {
			return nil, d, false, err
		}
		now := time.Now()
		snapshot.Took, began = now.Sub(began), now
	}
	text, args := claimStatement(me, d, from, c.era.Floor)
	if jobs, err = c.claim(ctx, conn, me, d, text, args); err != nil {
		return nil, d, false, err
	}
	if c.shares.heard(time.Now()) { // what it has not brought says nothing of where the next claim may begin
		d.Total -= len(jobs)
		return jobs, d, d.Total > 0, nil
	}
	rest, more = c.position.Next(d, from, snapshot, jobs, began, time.Now())
	return jobs, rest, more, nil
}

// claimStatement is the statement that claims from there.
func claimStatement(
	me scheduler.InstanceID, d scheduler.Demand, from position.From, floor scheduler.Fence,
) (text string, args []any) {
	if from.Above == nil && d.Only == nil && len(d.Types) == 1 && !d.Assigned && len(d.Localities) == 0 &&
		len(d.Preemptors) == 0 {
		return claimSQL, claimArgs(me, d, from.Behind, floor)
	}
	types, most, worst := columns(d.Types)
	if s := from.Above; s != nil {
		return claimAboveSQL, []any{int64(me), string(d.Host), types, most, d.Total, s.Xmax, s.InProgress, int64(floor),
			from.Upto.Priority, int64(from.Upto.ID)}
	}
	args = []any{int64(me), string(d.Host), types, most, d.Localities, worst, d.MSQ, d.Total, d.Assigned}
	placed, turns := make([]bool, len(d.Types)), make([]int32, len(d.Types))
	for i, t := range d.Types {
		placed[i], turns[i] = t.Placed, int32(t.Turn)
	}
	if d.Only != nil {
		return claimOnlySQL, append(args, sql.OrNull(d.Only.RJM), sql.OrNull(d.Only.Names), d.Only.Priorities, placed,
			int64(floor), turns)
	}
	return claimManySQL, append(args, d.Preemptors, placed, int64(floor), turns)
}

func claimArgs(me scheduler.InstanceID, d scheduler.Demand, after position.Key, floor scheduler.Fence) []any {
	t := d.Types[0]
	return []any{
		int64(me),
		string(d.Host),
		string(t.Type),
		int64(t.Limit),
		int16(t.MaxPriority),
		d.MSQ,
		after.Priority,
		int64(after.ID),
		int64(floor),
	}
}

func columns(demands []scheduler.TypeDemand) (types []string, most, worst []int32) {
	for _, t := range demands {
		types, most, worst = append(types, string(t.Type)), append(most, int32(t.Limit)), append(worst, int32(t.MaxPriority))
	}
	return types, most, worst
}

func (c *Claimer) claim(
	ctx context.Context, conn view.Querier, me scheduler.InstanceID, d scheduler.Demand, text string, values []any,
) ([]scheduler.Job, error) {
	asked := time.Now()
	rows, err := conn.Query(ctx, text, values...)
	if err != nil {
		return nil, err
	}
	jobs, err := claimedJobs(rows, me, d, asked, c.brought)
	c.brought = len(jobs)
	return jobs, err
}

// claimedJobs reads what a claim brings that was asked for then.
func claimedJobs(
	rows pgx.Rows, me scheduler.InstanceID, d scheduler.Demand, asked time.Time, likely int,
) ([]scheduler.Job, error) {
	defer rows.Close()
	jobs := make([]scheduler.Job, 0, min(d.Total, likely+likely/8+8))
	origins := make([]scheduler.Origin, 0, cap(jobs)) // of all in one piece
	for rows.Next() {
		j := scheduler.Job{Host: d.Host}
		j.Instance, j.Assigned = me, d.Assigned
		var args, msq, repeat, kept *string
		var timeout int64
		var created, due, now time.Time
		if err := rows.Scan((*int64)(&j.Claim.Job), (*int64)(&j.Fence), &j.Attempt, &j.Priority, (*string)(&j.Type), &args,
			&msq, &repeat,
			&j.Key, (*string)(&j.Vars), &j.Trace, &timeout, &j.MaxAttempts, &j.Deaths, &j.Places,
			&created, &due, &now, &kept); err != nil {
			return nil, err
		}
		if kept != nil { // seldom: jobs without steps have none
			var err error
			if j.Kept, err = scheduler.ReadEarlier(*kept); err != nil {
				return nil, err
			}
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
		origins = append(origins, scheduler.Origin{Traceparent: j.Trace, Type: j.Type, CreatedAt: created, Asked: asked,
			// How long ago that was, the database says: its clock may show another time than ours.
			Created: asked.Add(created.Sub(now)), Due: asked.Add(due.Sub(now))})
	}
	back := time.Now()
	for i := range jobs {
		o := &origins[i]
		// The statement ran at some time between.
		half := back.Sub(asked) / 2
		o.Claimed, o.Created, o.Due = back, o.Created.Add(half), o.Due.Add(half)
		jobs[i].Origin = o
	}
	return jobs, rows.Err()
}
