package migrate_test

import (
	"context"
	"flag"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var upgradeRows = flag.Int("upgrade-rows", 20_000, "`rows` of the queue in TestUpgrade_BesideWork; the long form is 1000000")

// TestUpgrade_BesideWork: a queue with many rows goes from migration 0048 to this
// binary's while jobs run under an older instance and others submit. No table is
// written anew, so that what is locked is not locked for longer where there are more
// rows; what runs goes on under its owner. Locks and times are in the log.
func TestUpgrade_BesideWork(t *testing.T) {
	t.Parallel()
	admin, url := older(t, *upgradeRows)
	before := one[string](t, admin, whatRuns)
	file := one[uint32](t, admin, "select pg_relation_filenode('bellhop.jobqueue')")

	stop, locks := make(chan struct{}), make(chan map[string]time.Duration, 1)
	watcher, older := connect(t, url), connect(t, url)
	pid := int32(admin.PgConn().PID())
	go func() { locks <- locksOf(t.Context(), watcher, pid, stop) }()
	worst := make(chan longest, 1)
	go func() { worst <- workOn(t.Context(), older, stop) }()
	began := time.Now()
	steps, err := plan(t).Run(t.Context(), admin)
	took := time.Since(began)
	close(stop)
	held, other := <-locks, <-worst
	if err != nil || other.err != nil {
		t.Fatal(err, other.err)
	}
	t.Logf("%d rows: %d steps in %v; %d jobs were submitted meanwhile, each in at most %v",
		*upgradeRows, len(steps), took.Round(time.Millisecond), other.n, other.took.Round(time.Millisecond))
	for _, mode := range slices.Sorted(maps.Keys(held)) {
		t.Logf("jobqueue: %s for about %v in all", mode, held[mode].Round(time.Millisecond))
	}

	if now := one[uint32](t, admin, "select pg_relation_filenode('bellhop.jobqueue')"); now != file {
		t.Error("the queue was written anew")
	}
	if now := one[string](t, admin, whatRuns); now != before {
		t.Errorf("what ran was %s, and is %s", before, now)
	}
	if n := one[int](t, admin, "select count(*) from bellhop.jobqueue"); n != *upgradeRows+other.n {
		t.Errorf("%d rows, want %d and the %d that came", n, *upgradeRows, other.n)
	}
	// The older instance records as it did.
	exec(t, older, "update bellhop.jobqueue set state = 'succeeded', ended_at = clock_timestamp() where state = 'running'")
	exec(t, older, "update bellhop.instance set heartbeat_at = clock_timestamp()")
	if err := plan(t).Check(t.Context(), admin); err != nil {
		t.Error(err)
	}
}

const whatRuns = `select string_agg(concat_ws(' ', id, state, instance, fence, attempt), ', ' order by id)
	from bellhop.jobqueue where state = 'running'`

// older is a database as it was at migration 0048: of its rows nine of ten are over,
// and ten run under an instance that lives.
func older(t *testing.T, rows int) (admin *pgx.Conn, url string) {
	t.Helper()
	admin, url = setupAt(t, "0048")
	exec(t, admin, `insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('old', 'old', 'another', 1, '1', 'older', '10 s')`)
	exec(t, admin, "insert into bellhop.jobqueue (type, args) select 'cat', g::text from generate_series(1, $1::int) g", rows)
	exec(t, admin, `update bellhop.jobqueue set state = 'succeeded', attempt = 1, fence = 1, ended_at = clock_timestamp()
		where id % 10 <> 0`)
	exec(t, admin, `update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, instance = (select id from bellhop.instance),
		host = 'local', started_at = clock_timestamp(), attempt_at = clock_timestamp() where id % 10 = 0 and id <= 100`)
	exec(t, admin, "vacuum analyze bellhop.jobqueue")
	return admin, url
}

// locksOf looks again and again which locks on the queue a connection has, and adds up for how long.
func locksOf(ctx context.Context, conn *pgx.Conn, pid int32, stop chan struct{}) map[string]time.Duration {
	held := map[string]time.Duration{}
	last := time.Now()
	for {
		select {
		case <-stop:
			return held
		default:
		}
		rows, err := conn.Query(ctx, `select mode from pg_locks
			where pid = $1 and granted and relation = 'bellhop.jobqueue'::regclass`, pid)
		if err != nil {
			return held
		}
		modes, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return held
		}
		now := time.Now()
		for _, mode := range modes {
			held[mode] += now.Sub(last)
		}
		last = now
	}
}

// longest is what one who works beside a migration has met.
type longest struct {
	n    int
	took time.Duration
	err  error
}

// workOn submits, and sends heartbeats of the older instance.
func workOn(ctx context.Context, conn *pgx.Conn, stop chan struct{}) (l longest) {
	for {
		select {
		case <-stop:
			return l
		default:
		}
		began := time.Now()
		if _, l.err = conn.Exec(ctx, "insert into bellhop.jobqueue (type) values ('cat')"); l.err != nil {
			return l
		}
		l.n++
		l.took = max(l.took, time.Since(began))
		if _, l.err = conn.Exec(ctx, "update bellhop.instance set heartbeat_at = clock_timestamp()"); l.err != nil {
			return l
		}
	}
}
