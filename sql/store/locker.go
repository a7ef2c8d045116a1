package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

// Jobs with locks are claimed in passes. All instances make theirs in turn, under an advisory lock that is kept to
// the end of the pass's transaction: the holders that one has read stay true until it has written its choice.

// lockKey is that advisory lock, "bellhop\2".
const lockKey = 0x62656c6c_686f7002

const (
	// A pass looks at so many jobs besides those that it could start; at more when
	// all that it looked at have to wait.
	passFew, passMany = 32, 256
)

// passSettings are for the transactions that come in turn under lockKey. A claim is committed asynchronously
// elsewhere; the holder of a lock must not be forgotten in a crash while its job runs on. A session that stops in
// the midst of one keeps all others waiting no longer than $1 ms; those wait for their turn for $2 ms.
const passSettings = `select set_config('synchronous_commit', 'on', true),
	set_config('idle_in_transaction_session_timeout', $1::bigint::text, true), set_config('lock_timeout', $2::bigint::text, true)`

// inTurnFor sets a pass's transaction up.
func inTurnFor(batch *pgx.Batch, s passSilence) {
	batch.Queue(passSettings, time.Duration(s).Milliseconds(), passWait.Milliseconds())
}

// passesFor is how long a claim makes passes one after the other, while what it looked at
// only had to be told behind which lock it waits: other claims wait for it.
const passesFor = 50 * time.Millisecond

var (
	locksTurnSQL   = sql.Query("locks_turn")
	locksWaitedSQL = sql.Query("locks_waited")
	locksHeldSQL   = sql.Query("locks_held")
	locksWantedSQL = sql.Query("locks_wanted")
	locksClaimSQL  = sql.Query("locks_claim")
	locksWaitSQL   = sql.Query("locks_wait")
	locksRuledSQL  = sql.Query("locks_ruled")
	locksRulesSQL  = sql.Query("locks_rules")
	locksRunSQL    = sql.Query("locks_running")
	locksKeepSQL   = sql.Query("locks_keep")
	locksParkSQL   = sql.Query("locks_park")
	locksShareSQL  = sql.Query("locks_share")
	locksRejectSQL = sql.Query("locks_reject")
	locksAdoptSQL  = sql.Query("locks_adopt")
	locksTurnsSQL  = sql.Query("locks_turns")
	locksTakenSQL  = sql.Query("locks_turns_taken")
	ringLocksSQL   = sql.Query("locks_ring")
)

// claimLocked makes passes until it has found what the demand asks for, or has
// looked at all there is.
func (c *Claimer) claimLocked(
	ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, d scheduler.Demand,
) (jobs []scheduler.Job, err error) {
	if len(d.Types) == 0 { // it is to hand on what is free: the next pass that takes something clears up as well
		var waited bool
		if err := conn.QueryRow(ctx, locksWaitedSQL).Scan(&waited); err != nil || !waited {
			return nil, err
		}
	}
	left := d
	left.Types = slices.Clone(d.Types)
	look, began := passFew, time.Now()
	for {
		p := pass{claimer: c, me: me, demand: left, look: look + left.Total}
		if err := p.make(ctx, conn); err != nil {
			return jobs, err
		}
		jobs, c.later.limit, c.later.ages = append(jobs, p.jobs...), p.again, lock.Earliest(c.later.ages, p.ages)
		left = without(left, p.jobs)
		switch {
		case !p.more || left.Total == 0 || len(left.Types) == 0:
			return jobs, nil
		case time.Since(began) > c.passes: // others have to come to their turn, too
			_, err := conn.Exec(ctx, ringLocksSQL, false)
			return jobs, err
		}
		look = min(2*look, passMany)
	}
}

// without is what is still asked for when some of it has come.
func without(d scheduler.Demand, jobs []scheduler.Job) scheduler.Demand {
	d.Total -= len(jobs)
	got := map[scheduler.TypeName]int{}
	for i := range jobs {
		got[jobs[i].Type]++
	}
	types := d.Types[:0]
	for _, t := range d.Types {
		if t.Limit -= got[t.Type]; t.Limit > 0 {
			types = append(types, t)
		}
	}
	d.Types = types
	return d
}

// pass is one of them: a transaction of two round trips, the second of which commits;
// with filters or shares, of three.
type pass struct {
	claimer *Claimer
	me      scheduler.InstanceID
	demand  scheduler.Demand
	look    int // at so many jobs of each type at most
	jobs    []scheduler.Job
	more    bool                     // there may be jobs that it has not looked at
	agents  map[lock.ID]string       // whose room jobs take that wait
	turns   map[lock.ID][]lock.Grant // which locks are free for a job that waited behind them
	known   lock.Pass
	again   time.Duration // until a limit per time lets another start; 0: none is used up
	ages    time.Time     // when a job that waits is to be reserved for; zero: none
}

func (p *pass) make(ctx context.Context, conn *pgx.Conn) error {
	began := time.Now()
	err := p.inTurn(ctx, conn)
	p.claimer.silence.learn(began, conn, err)
	if err != nil && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
		if _, failed := conn.Exec(ctx, "rollback"); failed != nil {
			hangUp(conn)
		}
	}
	return err
}

func (p *pass) inTurn(ctx context.Context, conn *pgx.Conn) error {
	known, woken, err := p.read(ctx, conn)
	if err != nil {
		return err
	}
	p.known = known
	choice := p.claimer.Policy.Choose(known)
	if at := choice.Again(known); !at.IsZero() {
		p.again = at.Sub(known.Now)
	}
	if at := p.claimer.Policy.Ages(known, choice); !at.IsZero() {
		p.ages = time.Now().Add(at.Sub(known.Now))
	}
	p.more = p.handsOn(choice) || len(choice.Parked) > 0 ||
		len(choice.Wait)+len(choice.Reject) > 0 && len(known.Waiting) >= p.look
	var jobs []scheduler.Job
	batch := p.writes(choice, &jobs)
	if p.leaves(woken, known, choice) {
		batch.Queue(ringLocksSQL, true) // for the other instances
	}
	batch.Queue("commit")
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	p.jobs = jobs
	return nil
}

// handsOn reports whether a lock whose turn came to a job is left to the next in line: the job takes it shared or
// not at all, or waits behind another. A job that waits behind the same lock again hands on nothing: a pass made
// for it would end as this one.
func (p *pass) handsOn(choice lock.Choice) bool {
	for _, s := range choice.Start {
		for _, turn := range p.turns[s.Job] {
			alone := func(g lock.Grant) bool {
				return g.Level == turn.Level && g.Name == turn.Name && g.Mode != lock.Shared.String()
			}
			if !slices.ContainsFunc(s.Grants, alone) {
				return true
			}
		}
	}
	for _, w := range choice.Wait {
		if turns := p.turns[w.Job]; len(turns) > 0 && !slices.ContainsFunc(turns, func(g lock.Grant) bool {
			return g.Level+":"+g.Name == w.Behind
		}) {
			return true
		}
	}
	return slices.ContainsFunc(choice.Reject, func(r lock.Rejected) bool { return len(p.turns[r.Job]) > 0 })
}

// read waits for its turn, has what is free handed on, and reads the holders and the waiting jobs. woken are the
// types of the jobs whose turn it is now.
func (p *pass) read(ctx context.Context, conn *pgx.Conn) (known lock.Pass, woken []string, err error) {
	types, most := make([]string, len(p.demand.Types)), map[string]int{}
	placed, worst := make([]bool, len(types)), make([]int16, len(types))
	for i, t := range p.demand.Types {
		types[i], placed[i], most[string(t.Type)] = string(t.Type), t.Placed, t.Limit
		worst[i] = int16(t.MaxPriority)
	}
	var names, rjm *string
	var priorities []int
	if o := p.demand.Only; o != nil {
		names, priorities, rjm = sql.OrNull(o.Names), o.Priorities, sql.OrNull(o.RJM)
	}
	batch := &pgx.Batch{}
	var filtered bool
	batch.Queue("begin")
	inTurnFor(batch, p.claimer.silence)
	batch.Queue(locksTurnSQL, int64(lockKey), max(1, min(p.demand.Total, passFew))).
		QueryRow(func(row pgx.Row) error { return row.Scan(&woken) })
	templated := p.claimer.Templates.Types()
	host := []any{int64(p.me), types, p.demand.Localities, rjm, placed, p.demand.MSQ, names, priorities, templated, worst}
	batch.Queue(locksHeldSQL, host...).Query(func(rows pgx.Rows) error { return p.scanHeld(rows, &known) })
	if adopt := p.claimer.Templates.Among(types); len(adopt) > 0 {
		batch.Queue(locksAdoptSQL, adopt, p.look, p.demand.Localities)
	}
	if len(types) > 0 {
		batch.Queue(locksWantedSQL, append(host, p.look)...).
			Query(func(rows pgx.Rows) error { return scanJobs(rows, &known.Waiting, p.claimer.Templates, false) })
	}
	batch.Queue(locksRuledSQL).QueryRow(func(row pgx.Row) error { return row.Scan(&known.Now, &filtered) })
	if err = conn.SendBatch(ctx, batch).Close(); err != nil {
		return known, woken, err
	}
	more := &pgx.Batch{}
	if filtered {
		more.Queue(locksRulesSQL).Query(func(rows pgx.Rows) error { return p.claimer.rules(rows, &known) })
		more.Queue(locksRunSQL).Query(func(rows pgx.Rows) error { return scanJobs(rows, &known.Running, nil, false) })
	}
	p.turnsOf(more, host[:9], &known)
	if more.Len() > 0 {
		err = conn.SendBatch(ctx, more).Close()
	}
	p.agents = map[lock.ID]string{}
	for _, w := range slices.Concat(known.Waiting, known.Reserved) {
		p.agents[w.Job] = w.Agent
	}
	known.Most, known.Total = most, p.demand.Total
	return known, woken, err
}

// writes claim what was chosen, with its locks, and tell the others behind
// which lock they wait.
func (p *pass) writes(choice lock.Choice, jobs *[]scheduler.Job) *pgx.Batch {
	batch := &pgx.Batch{}
	if n := len(choice.Wait); n > 0 {
		ids, behind, why := make([]int64, n), make([]string, n), make([]*string, n)
		for i, w := range choice.Wait {
			ids[i], behind[i], why[i] = int64(w.Job), w.Behind, sql.OrNull(w.Why)
		}
		batch.Queue(locksWaitSQL, ids, behind, why)
		if levels, names, jobs := kept(choice.Wait); len(jobs) > 0 {
			batch.Queue(locksKeepSQL, levels, names, jobs)
		}
	}
	if n := len(choice.Parked); n > 0 {
		ids := make([]int64, n)
		for i, id := range choice.Parked {
			ids[i] = int64(id)
		}
		batch.Queue(locksParkSQL, ids)
	}
	if n := len(choice.Reject); n > 0 {
		ids, rules := make([]int64, n), make([]string, n)
		for i, r := range choice.Reject {
			ids[i], rules[i] = int64(r.Job), string(r.Rule)
		}
		batch.Queue(locksRejectSQL, ids, rules)
	}
	if len(choice.Start) > 0 {
		p.claims(batch, choice, jobs)
	}
	return batch
}

func (p *pass) claims(batch *pgx.Batch, choice lock.Choice, jobs *[]scheduler.Job) {
	var ids, of, ms []int64
	var levels, names, modes, agents []string
	rjm := slices.ContainsFunc(choice.Start, func(s lock.Start) bool { return p.agents[s.Job] == "rjm" })
	for _, s := range choice.Start {
		ids = append(ids, int64(s.Job))
		if rjm { // else a job takes its type's room
			agents = append(agents, p.agents[s.Job])
		}
		for _, g := range s.Grants {
			of, levels = append(of, int64(s.Job)), append(levels, g.Level)
			names, modes = append(names, g.Name), append(modes, g.Mode)
			ms = append(ms, g.For.Milliseconds())
		}
	}
	asked := time.Now()
	batch.Queue(locksClaimSQL, int64(p.me), string(p.demand.Host), ids, p.demand.Assigned, of, levels, names, modes, ms,
		agents, int64(p.claimer.era.Floor)).Query(func(rows pgx.Rows) (err error) {
		*jobs, err = claimedJobs(rows, p.me, p.demand, asked, 0)
		for i := range *jobs {
			(*jobs)[i].Locked = true
		}
		return err
	})
	p.taken(batch, choice)
	if levels, names := p.shared(choice); len(levels) > 0 {
		batch.Queue(locksShareSQL, levels, names)
	}
}

// kept are the locks that are kept free for jobs which are reserved for.
func kept(list []lock.Stay) (levels, names []string, jobs []int64) {
	for _, w := range list {
		if w.For != 0 {
			level, name, _ := strings.Cut(w.Behind, ":")
			levels, names, jobs = append(levels, level), append(names, name), append(jobs, int64(w.For))
		}
	}
	return levels, names, jobs
}

// shared are the locks that jobs take to share them, where others waited
// behind them too.
func (p *pass) shared(choice lock.Choice) (levels, names []string) {
	for _, s := range choice.Start {
		for _, turn := range p.turns[s.Job] {
			if slices.ContainsFunc(s.Grants, func(g lock.Grant) bool {
				return g.Level == turn.Level && g.Name == turn.Name && g.Mode == lock.Shared.String()
			}) {
				levels, names = append(levels, turn.Level), append(names, turn.Name)
			}
		}
	}
	return levels, names
}

// leaves reports whether a job whose turn it is stays for another instance:
// nothing else would tell those.
func (p *pass) leaves(woken []string, known lock.Pass, choice lock.Choice) bool {
	left := map[string]int{}
	for _, t := range woken {
		left[t]++
	}
	types := map[lock.ID]string{}
	for _, w := range known.Waiting {
		types[w.Job] = w.Type
	}
	for _, s := range choice.Start {
		left[types[s.Job]]--
	}
	for _, w := range choice.Wait {
		if w.Behind != "" {
			left[types[w.Job]]--
		}
	}
	for _, r := range choice.Reject {
		left[types[r.Job]]--
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(left)), func(n int) bool { return n > 0 })
}
