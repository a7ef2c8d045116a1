package store

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// arrivals is an env with a table whose column k names the events of the workflow import; k = 1 and 2 have been.
func arrivals(t *testing.T) *env {
	t.Helper()
	e := openEnv(t)
	e.exec("create table arrivals (id serial primary key, k text)")
	e.applyPath("import", `{"table":"public.arrivals","event":"k"}`)
	e.exec("insert into arrivals (k) values (1), (2)")
	e.remarks("") // both are new
	return e
}

// again inserts a row whose key has started a run.
const again = "insert into arrivals (k) values (1)"

// remarks: what explain says of rows that the sensor has passed over.
func (e *env) remarks(want string) {
	e.Helper()
	got := e.one("select string_agg(sentence, '; ') from bellhop.explain_workflow('import') where code = 'sensor_remark'")
	if want == "" && got != "" || !strings.Contains(got, want) {
		e.Errorf("it says %q, want %q", got, want)
	}
}

// A key that comes again starts no run; explain says so, for one of them each hour.
func TestTableSensor_TellsOfAKeyThatComesAgain(t *testing.T) {
	t.Parallel()
	e := arrivals(t)
	e.exec("delete from arrivals")
	e.exec(again)
	e.remarks("it has passed over a row of public.arrivals, since a row with k 1 has started a run before")
	e.exec("insert into arrivals (k) values (2)")
	e.remarks("with k 1 has")
	e.exec("update bellhop.sensor_place set remarked_at = remarked_at - interval '61 min'")
	e.exec("insert into arrivals (k) values (2)")
	e.remarks("with k 2 has")
	if n := e.one("select count(*) from bellhop.event"); n != "2" {
		t.Errorf("%s events", n)
	}
	long := strings.Repeat("long ", 50) + "\n"
	e.exec("insert into arrivals (k) values ($1)", "a\nb"+long)
	e.exec("update bellhop.sensor_place set remarked_at = remarked_at - interval '8 d'")
	e.remarks("") // after a week it is of no interest
	e.exec("insert into arrivals (k) values ($1)", "a\nb"+long)
	e.remarks("with k a blong long ")
}

// The remark holds up no app: one that inserts beside an open transaction does not wait for it.
func TestTableSensor_ARemarkIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	e := arrivals(t)
	release := e.holding(again)
	e.exec("set lock_timeout = '20s'") // it would wait for as long as the other one is open
	e.exec(again)
	e.remarks("")
	release() // and its remark with it
	e.remarks("")
	e.exec(again)
	e.remarks("with k 1 has")
}

// Nor does it fail one that began before another one has told.
func TestTableSensor_ARemarkFailsNoInsert(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			e := arrivals(t)
			err := pgx.BeginTxFunc(t.Context(), e.connect(), pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), "select count(*) from arrivals"); err != nil {
					return err
				}
				e.exec(again)
				e.remarks("with k 1 has")
				_, err := tx.Exec(t.Context(), "insert into arrivals (k) values (2)")
				return err
			})
			if err != nil {
				t.Error(err)
			}
			e.remarks("with k 1 has")
			if n := e.one("select count(*) from arrivals"); n != "4" {
				t.Errorf("%s rows", n)
			}
		})
	}
}
