package store

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/triggers"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// office is a migrated database of the test's own with a set of desks on it.
type office struct {
	testing.TB
	url      string
	conn     *pgx.Conn // the test's own look at it
	claimer  *Claimer
	recorder *Recorder
	registry *Registry
	keeper   *Keeper
	me       scheduler.InstanceID
}

func openOffice(t testing.TB) *office {
	t.Helper()
	o := &office{TB: t, url: pgtest.URL(t)}
	var err error
	if o.conn, err = pgx.Connect(t.Context(), o.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.conn.Close(context.Background()) })
	plan, err := migrate.New(sql.Migrations, triggers.Scripts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Run(t.Context(), o.conn); err != nil {
		t.Fatal(err)
	}
	o.claimer, o.recorder = desk(o, NewClaimer), desk(o, NewRecorder)
	o.registry, o.keeper = desk(o, NewRegistry), desk(o, NewKeeper)
	o.me = o.register("first", time.Minute)
	o.assert(o.claimer, o.me)
	return o
}

// assert says that all that runs under a desk is known to be its.
func (o *office) assert(desk *Claimer, me scheduler.InstanceID, holds ...scheduler.Hold) (n int, not []string) {
	o.Helper()
	n, not, err := desk.Assert(o.Context(), me, holds)
	if err != nil {
		o.Fatal(err)
	}
	return n, not
}

func desk[D interface{ Close() }](o *office, open func(string) (D, error)) D {
	o.Helper()
	d, err := open(o.url)
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(d.Close)
	return d
}

func (o *office) register(name string, lag time.Duration) scheduler.InstanceID {
	o.Helper()
	id, err := o.registry.Register(o.Context(), Instance{Name: name, Hostname: "here", Machine: "m", Pid: 1, ProcessStart: "1", Version: "v", Lag: lag,
		Hosts: []Host{{Name: "local", Slots: 4}}, Agents: []Agent{{Type: "cat", Mode: "warm", Dialect: "auto", Command: "cat", Max: 4}}})
	if err != nil {
		o.Fatal(err)
	}
	return id
}

func (o *office) exec(text string, args ...any) {
	o.Helper()
	if _, err := o.conn.Exec(o.Context(), text, args...); err != nil {
		o.Fatalf("%s: %v", text, err)
	}
}

// one reads a single value, as text; empty for NULL.
func (o *office) one(text string, args ...any) string {
	o.Helper()
	var s *string
	if err := o.conn.QueryRow(o.Context(), "select ("+text+")::text", args...).Scan(&s); err != nil {
		o.Fatalf("%s: %v", text, err)
	}
	if s == nil {
		return ""
	}
	return *s
}

// insert submits a job and gives its id.
func (o *office) insert(columns, values string) scheduler.JobID {
	o.Helper()
	var id int64
	if err := o.conn.QueryRow(o.Context(), "insert into bellhop.jobqueue ("+columns+") values ("+values+") returning id").Scan(&id); err != nil {
		o.Fatalf("%s: %v", values, err)
	}
	return scheduler.JobID(id)
}

// row is a job's whole row, to be compared.
func (o *office) row(id scheduler.JobID) string {
	o.Helper()
	return o.one("select j::text from bellhop.jobqueue j where id = $1", int64(id))
}

// column is one column of a job.
func (o *office) column(id scheduler.JobID, name string) string {
	o.Helper()
	return o.one("select "+name+" from bellhop.jobqueue where id = $1", int64(id))
}

func (o *office) want(id scheduler.JobID, column, value string) {
	o.Helper()
	if got := o.column(id, column); got != value {
		o.Errorf("job %d: %s is %q, want %q", id, column, got, value)
	}
}

// demand asks for jobs of type cat whose children are up.
func demand(most int) scheduler.Demand {
	return scheduler.Demand{Host: "local", Answers: []string{"local"}, Total: most, MSQ: true,
		Types: []scheduler.TypeDemand{{Type: "cat", Most: most, Worst: 19}}}
}

// assigned asks for such whose children have to come up.
func assigned(most int) scheduler.Demand {
	d := demand(most)
	d.Assigned = true
	return d
}

func (o *office) claim(d scheduler.Demand) []scheduler.Job {
	o.Helper()
	jobs, err := o.claimer.Claim(o.Context(), o.me, d)
	if err != nil {
		o.Fatal(err)
	}
	return jobs
}

// running submits a job and claims it.
func (o *office) running() scheduler.Job {
	o.Helper()
	o.insert("type, max_attempts", "'cat', 3")
	jobs := o.claim(demand(1))
	if len(jobs) != 1 {
		o.Fatalf("%d jobs claimed, want one", len(jobs))
	}
	return jobs[0]
}

// settle is the record of an attempt's end.
func settle(j scheduler.Job, r scheduler.Result, v scheduler.Verdict) scheduler.Record {
	r.Line = j.Line
	return scheduler.Record{Kind: scheduler.RecordSettle, Claim: j.Claim, Attempt: j.Attempt, Host: "local", Result: r, Verdict: v}
}

func succeeded(j scheduler.Job) scheduler.Record {
	return settle(j, scheduler.Result{Child: "cat.1", Successes: 2, Ended: time.Now()}, scheduler.Verdict{State: scheduler.Succeeded, Counts: true})
}

func (o *office) write(again bool, records ...scheduler.Record) (stale []scheduler.Claim) {
	o.Helper()
	stale, _, err := o.recorder.Write(o.Context(), o.me, scheduler.Batch{Records: records, Again: again}, time.Now())
	if err != nil {
		o.Fatal(err)
	}
	return stale
}

func (o *office) mustWrite(records ...scheduler.Record) {
	o.Helper()
	if stale := o.write(false, records...); len(stale) > 0 {
		o.Fatalf("stale: %v", stale)
	}
}

// drop makes the server end a desk's connection.
func (o *office) drop(name string) {
	o.Helper()
	o.exec("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and application_name = $1", fmt.Sprint("bellhop ", name))
}
