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
	"bellhop/sql/migrate/migrated"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// env is a migrated database of the test's own with a set of sessions on it.
type env struct {
	testing.TB
	url         string
	conn        *pgx.Conn // the test's own look at it
	claimer     *Claimer
	recorder    *Recorder
	registry    *Registry
	maintenance *Maintenance
	me          scheduler.InstanceID
}

func openEnv(t testing.TB) *env {
	t.Helper()
	e := &env{TB: t, url: migrated.URL(t)}
	var err error
	if e.conn, err = pgx.Connect(t.Context(), e.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.conn.Close(context.Background()) })
	e.claimer, e.recorder = desk(e, NewClaimer), desk(e, NewRecorder)
	e.registry, e.maintenance = desk(e, NewRegistry), desk(e, NewMaintenance)
	e.claimer.passes = time.Minute
	e.me = e.register("first", time.Minute)
	e.assert(e.claimer, e.me)
	return e
}

// assert says that all that runs under a session is known to be its.
func (e *env) assert(desk *Claimer, me scheduler.InstanceID, holds ...scheduler.Hold) (n int, not []string) {
	e.Helper()
	a, err := desk.Assert(e.Context(), me, holds)
	if err != nil {
		e.Fatal(err)
	}
	return a.Again, a.Not
}

func desk[D interface{ Close() }](e *env, open func(string) (D, error)) D {
	e.Helper()
	d, err := open(e.url)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(d.Close)
	return d
}

func (e *env) register(name string, lag time.Duration) scheduler.InstanceID {
	e.Helper()
	id, err := e.registry.Register(e.Context(),
		Instance{Name: name, Hostname: "here", Machine: "m", Pid: 1, ProcessStart: "1", Version: "v", Lag: lag,
			Hosts: []Host{
				{Name: "local", Slots: 4},
			}, Agents: []Agent{{Type: "cat", Mode: "warm", Dialect: "auto", Command: "cat", Max: 4}}})
	if err != nil {
		e.Fatal(err)
	}
	return id
}

func (e *env) exec(text string, args ...any) {
	e.Helper()
	if _, err := e.conn.Exec(e.Context(), text, args...); err != nil {
		e.Fatalf("%s: %v", text, err)
	}
}

// one reads a single value, as text; empty for NULL.
func (e *env) one(text string, args ...any) string {
	e.Helper()
	var s *string
	if err := e.conn.QueryRow(e.Context(), "select ("+text+")::text", args...).Scan(&s); err != nil {
		e.Fatalf("%s: %v", text, err)
	}
	if s == nil {
		return ""
	}
	return *s
}

// insert submits a job and gives its id.
func (e *env) insert(columns, values string) scheduler.JobID {
	e.Helper()
	var id int64
	insert := "insert into bellhop.jobqueue (" + columns + ") values (" + values + ") returning id"
	if err := e.conn.QueryRow(e.Context(), insert).Scan(&id); err != nil {
		e.Fatalf("%s: %v", values, err)
	}
	return scheduler.JobID(id)
}

// row is a job's whole row, to be compared.
func (e *env) row(id scheduler.JobID) string {
	e.Helper()
	return e.one("select j::text from bellhop.jobqueue j where id = $1", int64(id))
}

// column is one column of a job.
func (e *env) column(id scheduler.JobID, name string) string {
	e.Helper()
	return e.one("select "+name+" from bellhop.jobqueue where id = $1", int64(id))
}

func (e *env) want(id scheduler.JobID, column, value string) {
	e.Helper()
	if got := e.column(id, column); got != value {
		e.Errorf("job %d: %s is %q, want %q", id, column, got, value)
	}
}

// demand asks for jobs of type cat whose children are up.
func demand(most int) scheduler.Demand {
	return scheduler.Demand{Host: "local", Localities: []string{"local"}, Total: most, MSQ: true,
		Types: []scheduler.TypeDemand{{Type: "cat", Limit: most, MaxPriority: 19}}}
}

// assigned asks for such whose children have to come up.
func assigned(most int) scheduler.Demand {
	d := demand(most)
	d.Assigned = true
	return d
}

func (e *env) claim(d scheduler.Demand) []scheduler.Job {
	e.Helper()
	jobs, err := e.claimer.Claim(e.Context(), e.me, d)
	if err != nil {
		e.Fatal(err)
	}
	return jobs
}

// running submits a job and claims it.
func (e *env) running() scheduler.Job {
	e.Helper()
	e.insert("type, max_attempts", "'cat', 3")
	jobs := e.claim(demand(1))
	if len(jobs) != 1 {
		e.Fatalf("%d jobs claimed, want one", len(jobs))
	}
	return jobs[0]
}

// settle is the record of an attempt's end.
func settle(j scheduler.Job, r scheduler.Result, v scheduler.Verdict) scheduler.Record {
	r.Line = &j.Line
	return scheduler.Record{
		Kind:    scheduler.RecordSettle,
		Claim:   j.Claim,
		Attempt: j.Attempt,
		Host:    "local",
		Result:  r,
		Verdict: v,
	}
}

func succeeded(j scheduler.Job) scheduler.Record {
	return settle(j, scheduler.Result{Child: "cat.1", Successes: 2, Ended: time.Now()},
		scheduler.Verdict{State: scheduler.Succeeded, Counts: true})
}

func (e *env) write(again bool, records ...scheduler.Record) (stale []scheduler.Claim) {
	e.Helper()
	stale, _, err := e.recorder.Write(e.Context(), e.me, scheduler.Batch{Records: records, MaybeCommitted: again},
		time.Now())
	if err != nil {
		e.Fatal(err)
	}
	return stale
}

func (e *env) mustWrite(records ...scheduler.Record) {
	e.Helper()
	if stale := e.write(false, records...); len(stale) > 0 {
		e.Fatalf("stale: %v", stale)
	}
}

// drop makes the server end a session's connection.
func (e *env) drop(name string) {
	e.Helper()
	e.exec("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and application_name = $1", fmt.Sprint("bellhop ", name))
}
