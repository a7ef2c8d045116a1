package store

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// Several instances choose at once, and end what they have begun; some lose their
// connections in between. What is held never conflicts, as another connection
// sees it, and all jobs end.
func TestLocks_NeverConflictUnderManyInstances(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	const jobs, instances = 150, 3
	random := rand.New(rand.NewPCG(1, 2))
	for range jobs {
		texts := map[string]string{}
		for range 1 + random.IntN(3) {
			texts[[]string{"db:a", "db:b", "db:c", "disk:x", "disk:*", "disk:?"}[random.IntN(6)]] = []string{"shared", "exclusive"}[random.IntN(2)]
		}
		var locks []string
		for name, mode := range texts {
			locks = append(locks, name+"="+mode)
		}
		if random.IntN(30) == 0 {
			locks = []string{"big"}
		}
		e.locked(locks...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range instances {
		me := e.register(fmt.Sprint("i", i), time.Minute)
		claimer := desk(e, NewClaimer)
		recorder := desk(e, NewRecorder)
		all.Go(func() { worksOff(ctx, t, claimer, recorder, me) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	seen := 0
	for {
		seen += e.looksForConflicts()
		select {
		case <-done:
			if left := e.one("select count(*) from bellhop.jobqueue where state <> 'succeeded'"); left != "0" || seen == 0 {
				t.Errorf("%s jobs have not ended; %d times something was held", left, seen)
			}
			return
		default:
		}
		if random.IntN(200) == 0 {
			e.exec(
				"select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'bellhop claimer' order by random() limit 1",
			)
		}
	}
}

// worksOff claims and ends until nothing is left.
func worksOff(ctx context.Context, t *testing.T, claimer *Claimer, recorder *Recorder, me scheduler.InstanceID) {
	mine := map[scheduler.JobID]scheduler.Job{}
	d := demand(3)
	d.Locked = true
	for ctx.Err() == nil {
		jobs, err := claimer.Claim(ctx, me, d)
		for _, j := range jobs {
			mine[j.Claim.Job] = j
		}
		if err != nil { // a connection was ended: what is committed is read again
			if _, err := claimer.Assert(ctx, me, nil); err != nil { // nothing was undone
				continue
			}
			holds, err := claimer.Claims(ctx, me, nil, true)
			if err != nil {
				continue
			}
			for _, h := range holds {
				if _, known := mine[h.Job]; !known {
					mine[h.Job] = scheduler.Job{Line: scheduler.Line{Claim: h.Claim, Attempt: 1}}
				}
			}
			continue
		}
		for _, j := range slices.Collect(maps.Values(mine)) {
			ended := scheduler.Batch{Records: []scheduler.Record{succeeded(j)}, MaybeCommitted: true}
			if _, _, err := recorder.Write(ctx, me, ended, time.Now()); err == nil {
				delete(mine, j.Claim.Job)
			}
		}
		if len(jobs) == 0 && len(mine) == 0 {
			var left int
			err := claimer.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
				return conn.QueryRow(ctx, "select count(*) from bellhop.jobqueue where state <> 'succeeded'").Scan(&left)
			})
			if err == nil && left == 0 {
				return
			}
		}
	}
	t.Errorf("instance %d: not done in time", me)
}

// looksForConflicts reads what is held at one time, and gives how much it was.
func (e *env) looksForConflicts() int {
	e.Helper()
	rows, err := e.conn.Query(
		e.Context(),
		`select job, array_agg(case level when 'big' then 'big' else format('%s:%s=%s', level, name, mode) end)
		from bellhop.lock where mode <> 'slot' group by job`,
	)
	if err != nil {
		e.Fatal(err)
	}
	sets := map[int64]lock.Set{}
	var job int64
	var texts []string
	if _, err := pgx.ForEachRow(rows, []any{&job, &texts}, func() error {
		sets[job] = must(lock.ParseAll(texts, nil))
		return nil
	}); err != nil {
		e.Fatal(err)
	}
	for a, x := range sets {
		for b, y := range sets {
			if is, why := lock.Conflicts(x, y); is && a < b {
				e.Errorf("jobs %d and %d run at once: %s", a, b, why)
			}
		}
	}
	return len(sets)
}
