package failover

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev/pgtest"
)

// promotion is one change of the primary.
type promotion struct {
	synchronous bool
	kill        bool // SIGKILL to the primary's postmaster; else a switchover
	tail        bool // the standby first stops receiving
}

func (p promotion) String() string {
	how, mode := "a switchover", "asynchronous"
	if p.kill {
		how = "SIGKILL"
	}
	if p.synchronous {
		mode = "synchronous"
	}
	if p.tail {
		mode += ", a tail is lost"
	}
	return how + ", " + mode
}

// plan is what happens, through HAProxy first, and then by a URL with both servers.
var plan = [2][]promotion{{
	{synchronous: true, kill: true},
	{synchronous: true},
	{synchronous: true, kill: true},
	{},
	{kill: true},
	{kill: true, tail: true},
}, {
	{kill: true},
	{},
	{synchronous: true},
	{synchronous: true, kill: true},
}}

// Ten primaries are replaced under load. What is confirmed by two servers stays, nothing runs twice at once, no attempt
// is counted, and a tail that an asynchronous standby has lost is told.
func TestPatroni_TenPromotionsUnderLoad(t *testing.T) {
	t.Parallel()
	c, r := start(t), newRecord(t)
	at := func(hosts string) string { return "postgres://postgres:SECRET@" + hosts + "/app?sslmode=disable" }
	urls := [2]string{at(c.proxy), at(c.members[0].address+","+c.members[1].address) + "&target_session_attrs=read-write"}
	server := pool(t, strings.Replace(at(c.proxy), "/app", "/postgres", 1))
	pgtest.Eventually(t, patience, "HAProxy leads to the primary", func() bool {
		_, err := server.Exec(t.Context(), "create database app template template0")
		return err == nil
	})
	bellhop(t, binary, urls[0], "migrate")

	f := &failovers{cluster: c, record: r, app: pool(t, urls[1]), synchronous: true}
	for n, url := range urls {
		var instances []*instance
		for _, name := range []string{"a", "b"} {
			instances = append(instances, serve(t, binary, url, fmt.Sprint(name, n), r.journal))
		}
		stops := []func(){r.submit(t, url), r.submit(t, url)}
		for _, p := range plan[n] {
			f.carryOut(t, p, instances)
		}
		for _, stop := range stops {
			stop()
		}
		waitOver(t, f.app)
		for _, i := range instances {
			i.stop()
		}
	}
	gone := r.check(t, f.app, f.lost)
	slices.Sort(f.took)
	t.Logf("%d jobs confirmed, %d of them lost with an asynchronous primary; from a promotion to the first job that was "+
		"submitted after it and has ended: p50 %v, max %v", len(r.committed), gone, f.took[len(f.took)/2],
		f.took[len(f.took)-1])
}

// failovers carries out promotions, and keeps how long the queue took.
type failovers struct {
	*cluster
	*record
	app         *pgxpool.Pool // of the cluster's database, by both servers' addresses
	synchronous bool
	took        []time.Duration
	lost        [][2]time.Time // between these, a commit may have been lost
}

// carryOut does one promotion, and returns when the queue works again and the old primary follows.
func (f *failovers) carryOut(t *testing.T, p promotion, instances []*instance) {
	t.Helper()
	if p.synchronous != f.synchronous {
		f.configure(fmt.Sprintf(`{"synchronous_mode": %v, "maximum_lag_on_failover": 1000000000}`, p.synchronous))
		f.synchronous = p.synchronous
	}
	old, next := f.settle(p.synchronous)
	f.works(t, "clock_timestamp()") // nothing is left to do of the last promotion
	began := time.Now().Add(-time.Second)
	var runs int
	if p.tail {
		runs = f.cutTail(t, next)
	}
	if p.kill {
		if err := syscall.Kill(postmaster(old.dir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	} else {
		f.switchover(next)
	}
	if p.tail {
		f.signal(t, next, syscall.SIGCONT)
	}
	promoted := f.promoted(t, next)
	if !p.synchronous {
		f.lost = append(f.lost, [2]time.Time{began, time.Now()})
	}
	took := f.works(t, promoted)
	f.took = append(f.took, took)
	t.Logf("%v: %s leads since %s; %v later a new job had ended", p, next.name, promoted, took)
	if p.tail {
		f.told(t, next, runs, instances)
	}
}

// on runs one statement on a member, whichever leads.
func (f *failovers) on(t *testing.T, m member, statement string) (answer string, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), "postgres://postgres:SECRET@"+m.address+"/app?sslmode=disable")
	if err != nil {
		return "", err
	}
	defer conn.Close(t.Context())
	result, err := conn.PgConn().Exec(t.Context(), statement).ReadAll()
	if err == nil && len(result) > 0 && len(result[0].Rows) > 0 {
		answer = string(result[0].Rows[0][0])
	}
	return answer, err
}

// promoted waits until a member takes writes, and gives the time by its clock.
func (f *failovers) promoted(t *testing.T, m member) (at string) {
	t.Helper()
	pgtest.Eventually(t, patience, m.name+" is promoted", func() bool {
		said, err := f.on(t, m, "select case when not pg_is_in_recovery() then clock_timestamp()::text end")
		at = said
		return err == nil && at != ""
	})
	return at
}

// works waits until a job that was submitted after a time has ended, and gives how much later that was.
func (f *failovers) works(t *testing.T, since string) time.Duration {
	t.Helper()
	if since == "clock_timestamp()" {
		pgtest.Eventually(t, patience, "the server tells the time", func() bool {
			return f.app.QueryRow(t.Context(), "select clock_timestamp()::text").Scan(&since) == nil
		})
	}
	var seconds *float64
	pgtest.Eventually(t, patience, "a job that was submitted after "+since+" has ended", func() bool {
		err := f.app.QueryRow(t.Context(), `select extract(epoch from min(ended_at) - $1::text::timestamptz)::float8
			from bellhop.jobqueue where created_at > $1::text::timestamptz and ended_at is not null`, since).Scan(&seconds)
		return err == nil && seconds != nil
	})
	return time.Duration(*seconds * float64(time.Second)).Round(time.Millisecond)
}

// cutTail has the standby receive nothing more, until the primary has confirmed the ends of 30 jobs that only it knows.
func (f *failovers) cutTail(t *testing.T, standby member) (runs int) {
	t.Helper()
	f.signal(t, standby, syscall.SIGSTOP) // its Patroni would have it receive again
	for _, statement := range []string{"alter system set primary_conninfo = ''", "select pg_reload_conf()"} {
		if _, err := f.on(t, standby, statement); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Eventually(t, patience, "the standby receives nothing", func() bool {
		n, err := f.on(t, standby, "select count(*) from pg_stat_wal_receiver")
		return err == nil && n == "0"
	})
	count := func(m member) (n int) {
		said, err := f.on(t, m, "select count(*) from bellhop.jobqueue where state = 'succeeded'")
		if err != nil {
			return 0
		}
		_, _ = fmt.Sscan(said, &n)
		return n
	}
	has := count(standby)
	primary, _, _ := f.primary()
	pgtest.Eventually(t, patience, "the tail is long enough", func() bool {
		runs = count(primary) - has
		return runs >= 30
	})
	return runs
}

func (f *failovers) signal(t *testing.T, m member, signal syscall.Signal) {
	t.Helper()
	if err := m.patroni.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// told checks that the loss is told by the log, the table and the doctor, until an operator has read of it.
func (f *failovers) told(t *testing.T, primary member, runs int, instances []*instance) {
	t.Helper()
	pgtest.Eventually(t, patience, "an instance tells of the loss", func() bool {
		return slices.ContainsFunc(instances, func(i *instance) bool {
			return strings.Contains(i.said(), "it has lost what the one before it had confirmed")
		})
	})
	var gone int
	pgtest.Eventually(t, patience, "the table tells of the loss", func() bool {
		err := f.app.QueryRow(t.Context(), "select coalesce(sum(gone + again), 0) from bellhop.loss where seen_at is null").Scan(&gone)
		return err == nil && gone >= runs
	})
	said, _ := command(binary, f.app.Config().ConnString(), "doctor")
	if !strings.Contains(said, "have no row any more") {
		t.Errorf("doctor does not tell of the loss:\n%s", said)
	}
	t.Logf("the standby lacked the ends of at least %d jobs; told: %d", runs, gone)
	for _, statement := range []string{"select bellhop.loss_seen()", "alter system reset primary_conninfo", "select pg_reload_conf()"} {
		if _, err := f.on(t, primary, statement); err != nil {
			t.Fatal(err)
		}
	}
}
