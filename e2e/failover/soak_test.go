package failover

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev/pgtest"
)

// tenth is what one tenth of a soak has shown.
type tenth struct {
	jobs          int
	p50, p99      float64 // ms from the commit of a job to its end
	memory, files int     // kB and descriptors of the instance
	table, dead   int64   // kB of the queue with its indexes, and dead rows in it
}

// soak says how long, in minutes, and how many jobs a second. `make soak` sets them.
func soak() (minutes, rate float64) {
	minutes, rate = 1, 20
	if n, err := strconv.ParseFloat(os.Getenv("BELLHOP_SOAK_MINUTES"), 64); err == nil && n > 0 {
		minutes = n
	}
	if n, err := strconv.ParseFloat(os.Getenv("BELLHOP_SOAK_RATE"), 64); err == nil && n > 0 {
		rate = n
	}
	return minutes, rate
}

// A steady rate beside a snapshot that is held all the time: every job ends, and latency, memory and descriptors stay
// what they were. The bounds are those of a busy machine; the table that is printed has the figures.
func TestSoak_BesideAHeldSnapshot(t *testing.T) {
	t.Parallel()
	minutes, rate := soak()
	r, url := newRecord(t), pgtest.Cluster(t).URL()
	bellhop(t, binary, url, "migrate")
	p := pool(t, url)
	i := serve(t, binary, url, "soak", r.journal)
	held, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), "set transaction isolation level repeatable read; select count(*) from bellhop.jobqueue"); err != nil {
		t.Fatal(err)
	}
	var all []tenth
	for range 10 {
		all = append(all, i.soak(t, p, time.Duration(minutes*float64(time.Minute))/10, rate))
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitOver(t, p)
	var failed int
	if err := p.QueryRow(t.Context(), "select count(*) from bellhop.jobqueue where state <> 'succeeded'").Scan(&failed); err != nil || failed > 0 {
		t.Errorf("%d jobs have not succeeded, %v", failed, err)
	}
	text := "tenth  jobs  p50 ms  p99 ms  memory MB  descriptors  table MB  dead rows\n"
	for n, x := range all {
		text += fmt.Sprintf("%5d %5d %7.1f %7.1f %10d %12d %9.1f %10d\n", n+1, x.jobs, x.p50, x.p99, x.memory/1024, x.files,
			float64(x.table)/1024, x.dead)
	}
	first, last := all[0], all[9]
	t.Logf("%g minutes at %g jobs a second; p99 of the last tenth is %.2f of the first one's\n%s", minutes, rate, last.p99/first.p99, text)
	if last.files > first.files+20 || last.memory > 2*first.memory+50<<10 || last.p99 > 20*math.Max(first.p99, 500) {
		t.Errorf("it does not stay as it was: %+v, and at last %+v", first, last)
	}
}

// soak submits at a rate, and looks what came of it.
func (i *instance) soak(t *testing.T, p *pgxpool.Pool, span time.Duration, rate float64) (x tenth) {
	t.Helper()
	var since time.Time
	if err := p.QueryRow(t.Context(), "select clock_timestamp()").Scan(&since); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); {
		<-tick.C // the rate
		x.jobs++
		if _, err := p.Exec(t.Context(), "insert into bellhop.jobqueue (type, args) values ('work', 'ms=1')"); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Eventually(t, patience, "the jobs of this tenth are over", func() bool {
		var open int
		return p.QueryRow(t.Context(), "select count(*) from bellhop.jobqueue where ended_at is null").Scan(&open) == nil && open == 0
	})
	if err := p.QueryRow(t.Context(), `select percentile_cont(0.5) within group (order by ms), percentile_cont(0.99) within group (order by ms),
		pg_total_relation_size('bellhop.jobqueue') / 1024, (select n_dead_tup from pg_stat_user_tables where relid = 'bellhop.jobqueue'::regclass)
		from (select extract(epoch from ended_at - created_at)::float8 * 1000 as ms from bellhop.jobqueue where created_at >= $1) s`, since).
		Scan(&x.p50, &x.p99, &x.table, &x.dead); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(rest, &x.memory)
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", i.cmd.Process.Pid))
	x.files = len(files)
	return x
}
