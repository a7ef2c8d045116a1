package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// history is one run of all kinds of work under one kind of fault.
type history struct {
	number  int
	fault   fault
	strokes int
	again   int // the number of a repetition, whose files stand beside those of the first try
}

// outcome is what a history showed.
type outcome struct {
	history
	lag     time.Duration // of its instances
	jobs    int
	strokes int
	took    time.Duration // until the queue worked again
	found   []violation
	story   []string
	// unrecorded says why there is no recording that was asked for.
	unrecorded string
}

// instancesEach is how many instances a history begins with.
const instancesEach = 2

// workersEach is how many apps take jobs in a history.
const workersEach = 2

// luckOf is what a history does: the same seed and number do the same harm, though not at the same moments.
func luckOf(seed uint64, number int) *rand.Rand {
	return rand.New(&shared{source: rand.NewPCG(seed, uint64(number))})
}

// shared is a source of luck that several may draw from at once.
type shared struct {
	mu     sync.Mutex
	source rand.Source
}

func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

// play runs one history and holds it against the invariants.
func (t *torture) play(ctx context.Context, h history) (out outcome, err error) {
	out.history = h
	dir := filepath.Join(t.dir, fmt.Sprintf("history-%d-%s", h.number, h.fault.name))
	if h.again > 0 {
		dir += fmt.Sprintf("-again-%d", h.again)
	}
	s := &stage{program: t.program, lag: t.lag, dir: dir, luck: luckOf(t.seed, h.number), recorded: t.record}
	if err := os.RemoveAll(dir); err != nil { // of an earlier run with --keep
		return out, err
	}
	where, err := t.places.database(ctx, h.fault.needs)
	defer func() {
		last, cancel := lastly(ctx)
		defer cancel()
		err = errors.Join(err, where.drop(last))
	}()
	if err != nil {
		return out, err
	}
	s.database, s.servers = where.url, where.list
	defer s.close()
	if err := s.prepare(ctx, instancesEach, h.fault.lines); err != nil {
		return out, err
	}
	e, err := s.suffer(ctx, h)
	if err != nil {
		return out, err
	}
	out.lag, out.jobs, out.strokes, out.took, out.story = s.lag, len(e.rows), s.strokes, e.took, s.story
	out.found = check(e)
	if s.recorded {
		out.unrecorded, err = s.record(ctx, h, e.journal)
	}
	return out, err
}

// suffer puts the work under the fault, heals what is broken, and gathers what is left to read.
func (s *stage) suffer(ctx context.Context, h history) (e evidence, err error) {
	if s.lag > quickLag {
		s.did("lag %s", s.lag)
	}
	l := &load{lag: s.lag, luck: rand.New(rand.NewPCG(s.luck.Uint64(), 0)), told: newExpectation()}
	config, err := pgxpool.ParseConfig(s.database)
	if err != nil {
		return e, err
	}
	config.MaxConns = 2
	config.ConnConfig.RuntimeParams["application_name"] = "a client"
	if l.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return e, err
	}
	defer l.pool.Close()
	working, stop := context.WithCancel(ctx)
	defer stop()
	e.seen = map[int64]int64{}
	watched := s.watch(working, e.seen)
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		l.run(working, 25*time.Millisecond)
	}()
	employed, dismiss := context.WithCancel(ctx)
	defer dismiss()
	workers, err := s.employ(employed)
	if err != nil {
		return e, err
	}
	for range h.strokes {
		s.pause(ctx, s.between(300*time.Millisecond, 900*time.Millisecond))
		if err := h.fault.stroke(ctx, s); err != nil {
			return e, fmt.Errorf("fault %s: %w", h.fault.name, err)
		}
		s.strokes++
	}
	if err := s.heal(ctx); err != nil {
		return e, err
	}
	s.did("all is healed")
	e.took, err = s.recovers(ctx, probe)
	if err != nil {
		return e, err
	}
	s.pause(ctx, 300*time.Millisecond)
	stop()
	<-idle
	<-watched
	over := s.over(ctx)
	dismiss()
	<-workers
	return e, s.gather(ctx, over, l, &e)
}

// watch looks at the queue as a client does, until ctx ends: what it sees there has happened.
func (s *stage) watch(ctx context.Context, seen map[int64]int64) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			var id, fence int64
			if found, err := s.admin.Query(ctx, seenSQL); err == nil {
				_, _ = pgx.ForEachRow(found, []any{&id, &fence}, func() error {
					if _, known := seen[id]; !known {
						seen[id] = fence
					}
					return nil
				}) // the server may go away
			}
			s.pause(ctx, 20*time.Millisecond)
		}
	}()
	return over
}

// recovers measures how long it takes until a job that is submitted now has ended.
func (s *stage) recovers(ctx context.Context, token int64) (time.Duration, error) {
	defer s.comparesPace(ctx)()
	since := time.Now()
	key := fmt.Sprintf("torture_probe/%d", token) // a submission whose answer is lost is repeated: it is one job
	var id int64
	err := s.again(ctx, "submit a job after the fault", func() error {
		return s.admin.QueryRow(ctx, submitSQL, "warm", fmt.Sprintf("n=%d ms=1", token), key, nil, attempts).Scan(&id)
	})
	if err != nil {
		return 0, err
	}
	end := time.Now().Add(s.stretched(patience))
	for time.Now().Before(end) && ctx.Err() == nil {
		var state string
		if err := s.admin.QueryRow(ctx, "select state from bellhop.jobqueue where id = $1", id).Scan(&state); err == nil &&
			state == "succeeded" {
			break
		}
		s.pause(ctx, 10*time.Millisecond)
	}
	return time.Since(since), ctx.Err()
}

// probe is the token of the job that tells when the queue works again.
const probe = 9_000_000

// slack is what a machine may take beyond the promise: a lease and a heartbeat, counted from the last fault. On a busy
// machine it grows with what a start takes there: an instance that was killed starts again. The first start is known,
// and how much slower the machine has become since, by a start that no fault of bellhop's makes slower.
func (s *stage) slack() time.Duration {
	return max(10*time.Second, time.Duration(5*max(1, s.slower)*float64(s.startup)))
}

// gather is called when the work is over, or stands still (over). It ends the instances, and reads what the history
// left behind.
func (s *stage) gather(ctx context.Context, over error, l *load, e *evidence) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if over != nil {
		s.did("%v", over) // the rows tell which work is open
		if n := s.leasesLost(); n > 0 {
			s.did("%d leases were lost in all: where no fault explains them, the machine needs a --lag above %s", n, s.lag)
		}
	} else if e.idle, over = s.afterRest(ctx); over != nil {
		return over
	}
	for _, i := range s.instances {
		if i.over() {
			e.left = append(e.left, "an instance has ended without an order: "+i.dir)
		} else if i.end() {
			e.left = append(e.left, "an instance did not end within a minute of SIGTERM: "+i.dir)
		}
	}
	gone := s.until(ctx, "no agent is left", func() (bool, error) { return len(marked(s.journal())) == 0, nil })
	if gone != nil {
		e.left = append(e.left, fmt.Sprintf("processes %d are left of agents", marked(s.journal())))
	}
	n, err := s.number(ctx, "select count(*) from bellhop.jobqueue where state in ('assigned', 'running')")
	if err != nil {
		return err
	}
	if n > 0 {
		e.left = append(e.left, fmt.Sprintf("%d jobs are still in the hands of instances", n))
	}
	e.told, e.kills, e.lostTail, e.promise = l.told, s.kills, s.lostTail, s.lag+s.lag/6+s.slack()
	if e.journal, err = readJournal(s.journal()); err != nil {
		return err
	}
	if e.rows, err = s.rows(ctx); err != nil {
		return err
	}
	if e.runs, err = s.counts(ctx, eventsSQL); err != nil {
		return err
	}
	if e.written, err = s.written(ctx); err != nil {
		return err
	}
	e.ledger, err = s.counts(ctx, ledgerSQL)
	return err
}

// over waits until no work is open, or as many pieces as before for so long that nothing explains it.
func (s *stage) over(ctx context.Context) error {
	var n, before int64
	since := time.Now()
	err := s.until(ctx, "all work is over", func() (bool, error) {
		err := s.admin.QueryRow(ctx, openSQL).Scan(&n)
		if n != before {
			before, since = n, time.Now()
		}
		return n == 0 || time.Since(since) > s.stretched(standstill), err
	})
	if err == nil && n > 0 {
		err = fmt.Errorf("%d pieces of work stand still", n)
	}
	return err
}

// standstill is far longer than any pause of a queue that works.
const standstill = 30 * time.Second

// rest is how long a queue has nothing to do until its instances sleep.
const rest = 300 * time.Millisecond

// afterRest measures how long a job takes that finds the instances asleep.
func (s *stage) afterRest(ctx context.Context) (time.Duration, error) {
	s.pause(ctx, rest)
	return s.recovers(ctx, probe+1)
}

func (s *stage) written(ctx context.Context) (map[int64]string, error) {
	outcomes := map[int64]string{}
	found, err := s.admin.Query(ctx, outcomesSQL)
	if err != nil {
		return nil, err
	}
	var n int64
	var status string
	_, err = pgx.ForEachRow(found, []any{&n, &status}, func() error { outcomes[n] = status; return nil })
	return outcomes, err
}

func (s *stage) rows(ctx context.Context) ([]row, error) {
	found, err := s.admin.Query(ctx, rowsSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, func(c pgx.CollectableRow) (r row, err error) {
		err = c.Scan(&r.id, &r.typ, &r.state, &r.fence, &r.attempt, &r.args, &r.msq, &r.key, &r.total, &r.done, &r.failed,
			&r.problem, &r.waits, &r.successes)
		r.known()
		return r, err
	})
}

// counts reads how often each number is there.
func (s *stage) counts(ctx context.Context, query string) (map[int64]int, error) {
	all := map[int64]int{}
	found, err := s.admin.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	var id int64
	var n int
	_, err = pgx.ForEachRow(found, []any{&id, &n}, func() error { all[id] = n; return nil })
	return all, err
}
