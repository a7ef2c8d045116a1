package clienttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/clienttest"
	"bellhop/pgdev/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type invoice struct {
	Order int64 `json:"order"`
}

// heard is a test that may fail without failing this one.
type heard struct {
	testing.TB
	said string
}

func (h *heard) Helper() {}
func (h *heard) Fatalf(format string, args ...any) {
	h.said = fmt.Sprintf(format, args...)
	panic(h)
}

func (h *heard) hear(f func()) (said string) {
	defer func() {
		if p := recover(); p != nil && p != any(h) {
			panic(p)
		}
		said = h.said
	}()
	f()
	return
}

func TestSubmitted_InThisTransactionOnly(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	clienttest.Migrate(t, conn)
	clienttest.Migrate(t, conn) // again does nothing
	c := client.New(conn)
	if _, err := c.Submit(t.Context(), client.Job{Type: "invoice", JSON: invoice{1}}); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if jobs := clienttest.AllSubmitted[invoice](t, tx, "invoice"); jobs != nil {
		t.Errorf("before this: %+v", jobs)
	}
	job := client.Job{
		Type:        "invoice",
		Key:         "42",
		Priority:    3,
		MaxAttempts: 2,
		Vars:        map[string]string{"A": "b"},
		JSON:        invoice{42},
	}
	id, err := c.In(tx).Submit(t.Context(), job)
	if err == nil { // in a savepoint too
		err = pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			_, err := c.In(tx).Submit(t.Context(), client.Job{Type: "mail", Args: "bob"})
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	got := clienttest.RequireSubmitted(t, tx, "invoice", invoice{42})
	job.JSON, job.Args = nil, `{"order":42}`
	if got.ID != id || !reflect.DeepEqual(got.Job, job) {
		t.Errorf("%+v, want %+v", got, job)
	}
	clienttest.RequireSubmitted(t, tx, "mail", "bob")
	h := &heard{TB: t}
	if said := h.hear(func() { clienttest.RequireSubmitted(h, tx, "invoice", invoice{1}) }); !strings.Contains(said, "Order:42") {
		t.Errorf("it says %q", said)
	}
	if said := h.hear(func() { clienttest.RequireSubmitted(h, tx, "nothing", invoice{1}) }); !strings.Contains(said, "no job of that type") {
		t.Errorf("it says %q", said)
	}
	if said := h.hear(func() { clienttest.AllSubmitted[invoice](h, tx, "mail") }); !strings.Contains(said, "bob") {
		t.Errorf("it says %q", said)
	}
}

func TestWork_Inline(t *testing.T) {
	t.Parallel()
	work := func(_ context.Context, job *agent.Job[invoice]) error {
		job.Logf("order %d for %s", job.Args.Order, job.Vars["WHO"])
		job.Progress(1)
		job.Result(job.Item)
		job.Success()
		switch job.Args.Order {
		case 2:
			return errors.New("no ink")
		case 3:
			panic("no paper")
		}
		return nil
	}
	r := clienttest.Work(t, work, client.Job{JSON: invoice{42}, Vars: map[string]string{"WHO": "bob"}})
	if !r.OK || !reflect.DeepEqual(r.Log, []clienttest.Line{{Level: "info", Text: "order 42 for bob"}}) ||
		string(r.Progress[0]) != "1" ||
		r.Successes != 1 {
		t.Errorf("%+v", r)
	}
	if r := clienttest.Work(t, work, client.Job{JSON: invoice{2}}); r.OK || r.Error != "no ink" || r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
	if r := clienttest.Work(t, work, client.Job{JSON: invoice{3}}); r.OK || r.Error != "panic: no paper" {
		t.Errorf("%+v", r)
	}
	if r := clienttest.Work(t, work, client.Job{Args: "no JSON"}); r.OK || r.ExitCode != 2 {
		t.Errorf("%+v", r)
	}
	again := map[string]error{
		"never": agent.NoRetry(errors.New("x")),
		"soon":  agent.RetryIn(time.Minute, errors.New("x")),
		"later": agent.Snooze(time.Hour),
	}
	for text, err := range again {
		r := clienttest.Work(t, func(context.Context, *agent.Job[string]) error { return err }, client.Job{})
		if r.OK || r.Error == "" || r.NoRetry != (text == "never") || (r.RetryIn == time.Minute) != (text == "soon") ||
			(r.Snooze == time.Hour) != (text == "later") {
			t.Errorf("%s: %+v", text, r)
		}
	}
	text := func(_ context.Context, job *agent.Job[string]) error {
		job.Result(job.Item)
		return nil
	}
	if r := clienttest.WorkItem(t, text, client.Job{}, map[string]string{"id": "1"}); !r.OK || string(r.Results[0]) != `{"id":"1"}` {
		t.Errorf("%+v", r)
	}
}
