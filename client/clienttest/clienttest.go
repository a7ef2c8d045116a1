// Package clienttest is for tests of apps that submit jobs, and of agents in
// Go: neither needs a `bellhop serve`.
//
//	func TestOrder_HasAnInvoice(t *testing.T) {
//		clienttest.Migrate(t, conn) // once for a database of the test's own
//		tx, err := conn.Begin(t.Context())
//		…
//		defer tx.Rollback(t.Context())
//		placeOrder(t.Context(), tx, 42)
//		clienttest.RequireSubmitted(t, tx, "invoice", Invoice{Order: 42})
//	}
//
//	func TestInvoice_IsMade(t *testing.T) {
//		r := clienttest.Work(t, makeInvoice, client.Job{JSON: Invoice{Order: 42}})
//		if !r.OK { t.Error(r.Error) }
//	}
package clienttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/client"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/triggers"
)

// Migrate puts bellhop's schema into a database, or brings it up to date. Its
// login has to own the database, or be allowed to create a schema in it.
func Migrate(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	plan, err := migrate.New(sql.Migrations, triggers.Scripts)
	if err == nil {
		_, err = plan.Run(t.Context(), conn)
	}
	if err != nil {
		t.Fatalf("clienttest: %v", err)
	}
}

// Submitted is a job that was submitted.
type Submitted[T any] struct {
	ID client.JobID
	// Args is what an agent with agent.Job[T] would be given.
	Args T
	// Job is what else was said of it. Args, MSQ and Key are there, JSON is not.
	Job client.Job
}

var submittedSQL = sql.Query("submitted")

// AllSubmitted gives the jobs of a type that were submitted in a transaction
// that is still open, in the order in which they were. Args that are no T end
// the test. The login has to own bellhop's schema, or be an operator's: only
// these see what others submitted.
func AllSubmitted[T any](t testing.TB, tx pgx.Tx, typ client.TypeName) []Submitted[T] {
	t.Helper()
	type row struct {
		ID          client.JobID
		Args        *string
		MSQ         *string
		Key         *string
		Priority    int
		RunOn       *string
		Held        bool
		MaxAttempts int
		Vars        map[string]string
		Traceparent *string
	}
	rows, err := tx.Query(t.Context(), submittedSQL, string(typ))
	if err != nil {
		t.Fatalf("clienttest: %v", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		t.Fatalf("clienttest: %v", err)
	}
	var jobs []Submitted[T]
	for _, r := range list {
		j := Submitted[T]{ID: r.ID, Job: client.Job{
			Type:        typ,
			Args:        orZero(r.Args),
			MSQ:         orZero(r.MSQ),
			Key:         orZero(r.Key),
			Priority:    r.Priority,
			RunOn:       orZero(r.RunOn),
			Held:        r.Held,
			MaxAttempts: r.MaxAttempts,
			Vars:        r.Vars,
			Traceparent: orZero(r.Traceparent),
		}}
		if text, is := any(&j.Args).(*string); is {
			*text = j.Job.Args
		} else if j.Job.Args != "" {
			if err := json.Unmarshal([]byte(j.Job.Args), &j.Args); err != nil {
				t.Fatalf("clienttest: job %d of type %s has args %q, which are not a %T: %v", r.ID, typ, j.Job.Args, j.Args, err)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// RequireSubmitted ends the test unless a job of a type with these args was
// submitted in a transaction that is still open, and gives the first such one.
func RequireSubmitted[T any](t testing.TB, tx pgx.Tx, typ client.TypeName, args T) Submitted[T] {
	t.Helper()
	jobs := AllSubmitted[T](t, tx, typ)
	have := ""
	for _, j := range jobs {
		if reflect.DeepEqual(j.Args, args) {
			return j
		}
		have += fmt.Sprintf("\n  job %d: %+v", j.ID, j.Args)
	}
	if jobs == nil {
		have = " no job of that type"
	}
	t.Fatalf("no job of type %s with args %+v was submitted in this transaction, but%s", typ, args, have)
	panic("Fatalf does not return")
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
