package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
)

// full is a job that says all that a job can say by COPY too.
func full() client.Job {
	return client.Job{
		Type:        "report",
		JSON:        map[string]any{"year": 2026, "title": "two\nlines"},
		Key:         "report.2026",
		Priority:    -5,
		RunOn:       "big",
		Share:       "customer-42",
		RunAt:       time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		Held:        true,
		MaxAttempts: 3,
		Timeout:     90 * time.Second,
		Vars:        map[string]string{"LANG": "de"},
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		OnFailure:   "block",
		NotAfter:    time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC),
		Locks:       []string{"db:orders=exclusive"},
		Reasons:     []string{"import:2026"},
	}
}

// notFull are the fields that full leaves out: others stand in their place, or COPY does not take them. Plain is for
// clients with keys.
var notFull = []string{
	"Args", "MSQ", "Repeat", "PriorityName", "RunIn", "Once", "Per", "Replace", "After", "AfterKeys", "Wanted", "Batch",
	"Plain",
}

// A field that is new is part of what the tests below compare.
func TestSubmit_FullIsFull(t *testing.T) {
	t.Parallel()
	job := reflect.ValueOf(full())
	for i := range job.NumField() {
		if name := job.Type().Field(i).Name; job.Field(i).IsZero() != slices.Contains(notFull, name) {
			t.Errorf("%s: full sets it, or notFull says why not", name)
		}
	}
}

const fullRow = `select concat_ws('|', type, args, key, priority, run_on, run_at at time zone 'utc', held, max_attempts, timeout, vars, traceparent,
	on_failure, state) from bellhop.jobqueue where key = $1`

// Law: what is submitted by COPY becomes the row that Submit makes of it, and a submitter's rights are enough.
func TestSubmit_OneAndManyMakeTheSameRow(t *testing.T) {
	t.Parallel()
	a := setup(t)
	config := a.pool.Config()
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set role bellhop_submitter")
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	a.Client = client.New(pool)
	job := full()
	a.submit(job)
	want := strings.Join([]string{
		"report", `{"title":"two\nlines","year":2026}`, job.Key, "-5", "big", "2030-01-02 03:04:05", "t", "3", "00:01:30", `{"LANG": "de"}`,
		job.Traceparent, "block", "held",
	}, "|")
	if got := value[string](a, fullRow, job.Key); got != want {
		t.Errorf("Submit made\n%s, want\n%s", got, want)
	}
	many := job
	many.Key = "report.many"
	if n, err := a.SubmitMany(t.Context(), of(many)); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := value[string](a, fullRow, many.Key); got != strings.Replace(want, job.Key, many.Key, 1) {
		t.Errorf("SubmitMany made\n%s, want\n%s", got, want)
	}
	told := job
	told.Key = "report.told"
	if ids, err := a.SubmitManyIDs(t.Context(), of(told)); len(ids) != 1 || err != nil {
		t.Fatalf("%d, %v", ids, err)
	}
	if got := value[string](a, fullRow, told.Key); got != strings.Replace(want, job.Key, told.Key, 1) {
		t.Errorf("SubmitManyIDs made\n%s, want\n%s", got, want)
	}
	const other = `select string_agg(distinct (to_jsonb(j) - '{id,key,created_at,txid}'::text[])::text, e'\n') from bellhop.jobqueue j`
	if rows := value[string](a, other); strings.Contains(rows, "\n") {
		t.Errorf("different rows of the same job:\n%s", rows)
	}
	// One that never starts by itself, and never expires: infinity, however it comes.
	never := client.Job{Type: "never", RunAt: client.Never, NotAfter: client.Never}
	a.submit(never)
	if n, err := a.SubmitMany(t.Context(), of(never)); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if ids, err := a.SubmitManyIDs(t.Context(), of(never)); len(ids) != 1 || err != nil {
		t.Fatalf("%d, %v", ids, err)
	}
	if n := value[int](a, "select count(*) from bellhop.jobqueue where run_at = 'infinity' and not_after = 'infinity'"); n != 3 {
		t.Errorf("%d of 3 have infinite times", n)
	}
	// And one that says nothing.
	if ids, err := a.SubmitManyIDs(t.Context(), of(client.Job{Type: "nothing"})); len(ids) != 1 || err != nil {
		t.Fatalf("%d, %v", ids, err)
	}
	a.submit(client.Job{Type: "nothing"})
	if n, err := a.SubmitMany(t.Context(), of(client.Job{Type: "nothing"})); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	const content = `select string_agg(distinct (to_jsonb(j) - '{id,created_at,txid}'::text[])::text, e'\n') from bellhop.jobqueue j where type = 'nothing'`
	if rows := value[string](a, content); strings.Contains(rows, "\n") {
		t.Errorf("different rows of the same job:\n%s", rows)
	}
}

// Ids come in the order of the jobs, and of many of which one cannot be there is none.
func TestSubmitManyIDs_InTheirOrderOrNone(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var jobs []client.Job
	for i := range 3000 {
		jobs = append(jobs, client.Job{Type: "mail", Key: fmt.Sprint("k", i), Priority: i%40 - 20})
	}
	ids, err := a.SubmitManyIDs(t.Context(), of(jobs...))
	if err != nil || len(ids) != len(jobs) {
		t.Fatalf("%d ids, %v", len(ids), err)
	}
	for _, i := range []int{0, 1, 1234, 2999} {
		if key := value[string](a, "select key from bellhop.jobqueue where id = $1", ids[i]); key != jobs[i].Key {
			t.Errorf("job %d has the id of %s", i, key)
		}
	}
	for _, bad := range []client.Job{
		{Type: "mail", Key: "k7"},
		{Type: "mail", Args: "two\nlines"},
		{Type: "mail", Batch: 1},
	} {
		if ids, err := a.SubmitManyIDs(t.Context(), of(client.Job{Type: "mail"}, bad)); err == nil || ids != nil {
			t.Errorf("%+v: %d, %v", bad, ids, err)
		}
	}
	if ids, err := a.SubmitManyIDs(t.Context(), of()); len(ids) != 0 || err != nil {
		t.Errorf("of none: %d, %v", ids, err)
	}
	if n := value[int](a, "select count(*) from bellhop.jobqueue"); n != len(jobs) {
		t.Errorf("there are %d", n)
	}
}

func of(jobs ...client.Job) iter.Seq[client.Job] {
	return func(yield func(client.Job) bool) {
		for _, j := range jobs {
			if !yield(j) {
				return
			}
		}
	}
}

// Law: a job of a transaction is there if, and only if, that commits.
func TestSubmit_WithTheTransaction(t *testing.T) {
	t.Parallel()
	a := setup(t)
	broken := errors.New("the order is refused")
	for _, end := range []error{nil, broken} {
		err := pgx.BeginFunc(t.Context(), a.pool, func(tx pgx.Tx) error {
			if _, err := a.In(tx).Submit(t.Context(), client.Job{Type: "invoice", Key: fmt.Sprint(end)}); err != nil {
				return err
			}
			if _, err := a.In(tx).SubmitMany(t.Context(), of(client.Job{Type: "invoice"},
				client.Job{Type: "invoice"})); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	if n := value[int](a, "select count(*) from bellhop.jobqueue"); n != 3 {
		t.Errorf("%d jobs, want those of the transaction that was committed", n)
	}
}

// Law: what the queue refuses has a class, and the name of the rule.
func TestSubmit_Refused(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.submit(client.Job{Type: "t", Key: "taken", Args: "1"})
	for _, c := range []struct {
		name  string
		job   client.Job
		class client.Class
		rule  string
	}{
		{"no type", client.Job{}, client.ErrInvalid, "jobqueue_type_named"},
		{"two lines", client.Job{Type: "t", Args: "a\nb"}, client.ErrInvalid, "jobqueue_args_one_line"},
		{"args and query", client.Job{Type: "t", Args: "a", MSQ: "select 1"}, client.ErrInvalid, "jobqueue_args_or_msq"},
		{"args and JSON", client.Job{Type: "t", Args: "a", JSON: 1}, client.ErrInvalid, "jobqueue_args_or_msq"},
		{"no JSON", client.Job{Type: "t", JSON: make(chan int)}, client.ErrInvalid, "jobqueue_args_or_msq"},
		{"repeat", client.Job{Type: "t", MSQ: "select 1", Repeat: "often"}, client.ErrInvalid, "jobqueue_repeat_known"},
		{"priority", client.Job{Type: "t", Priority: 20}, client.ErrInvalid, "jobqueue_priority_range"},
		{"attempts", client.Job{Type: "t", MaxAttempts: -1}, client.ErrInvalid, "jobqueue_max_attempts"},
		{"timeout", client.Job{Type: "t", Timeout: time.Microsecond}, client.ErrInvalid, "jobqueue_timeout_positive"},
		{"on failure", client.Job{Type: "t", OnFailure: "weep"}, client.ErrInvalid, "jobqueue_on_failure_known"},
		{"not UTF-8", client.Job{Type: "t", Args: "\xff"}, client.ErrInvalid, ""},
		{"key with other content", client.Job{Type: "t", Key: "taken", Args: "2"}, client.ErrKeyTaken, "jobqueue_key"},
	} {
		check := func(how string, err error) {
			t.Helper()
			var e *client.Error
			if !errors.Is(err, c.class) || !errors.As(err, &e) || e.Rule != c.rule || e.Message == "" {
				t.Errorf("%s, %s: %#v (%v), want %q by rule %q", c.name, how, e, err, c.class, c.rule)
			}
		}
		_, err := a.Submit(t.Context(), c.job)
		check("Submit", err)
		_, err = a.SubmitMany(t.Context(), of(client.Job{Type: "first"}, c.job))
		check("SubmitMany", err)
	}
	if _, err := a.Submit(t.Context(), client.Job{Type: "t", Key: "taken", Args: "2"}); !errors.Is(err,
		client.ErrRefused) {
		t.Errorf("a key that is taken is refused in this state: %v", err)
	}
	for _, job := range []client.Job{{Type: "t", After: []client.JobID{1}}, {Type: "t", AfterKeys: []string{"taken"}}} {
		if _, err := a.SubmitMany(t.Context(), of(job)); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("by COPY, after others: %v", err)
		}
	}
	if _, err := a.Submit(t.Context(), client.Job{Type: "t", AfterKeys: []string{"nobody"}}); !errors.Is(err,
		client.ErrNotFound) {
		t.Errorf("after one that is not there: %v", err)
	}
	if n := value[int](a, "select count(*) from bellhop.jobqueue"); n != 1 {
		t.Errorf("%d jobs: something that was refused is there", n)
	}
}

// A key gives the id of the job that has it, if the content is the same.
func TestSubmit_TwiceUnderAKey(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first := a.submit(full())
	if again := a.submit(full()); again != first {
		t.Errorf("%d, then %d", first, again)
	}
	if id, err := a.Find(t.Context(), "report.2026"); id != first || err != nil {
		t.Errorf("%d, %v", id, err)
	}
	if _, err := a.Find(t.Context(), "nobody"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

// What a job needs, and when it may start, is as Submit was told.
func TestSubmit_AfterOthersAndLater(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first := a.submit(client.Job{Type: "t", Key: "first"})
	second := a.submit(client.Job{Type: "t"})
	third := a.submit(client.Job{
		Type: "t", After: []client.JobID{second}, AfterKeys: []string{"first"},
		Wanted: []client.State{client.Failed, client.Cancelled},
	})
	needs := value[string](a, "select string_agg(needs || ' ' || wanted::text, ', ' order by needs) from bellhop.dependency where job = $1", third)
	if want := fmt.Sprintf("%d {failed,cancelled}, %d {failed,cancelled}", first, second); needs != want {
		t.Errorf("needs %s, want %s", needs, want)
	}
	later := a.submit(client.Job{Type: "t", RunIn: time.Hour})
	if n, err := a.SubmitMany(t.Context(), of(client.Job{Type: "t", Key: "later", RunIn: time.Hour})); n != 1 ||
		err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	const inAnHour = `select bool_and(state = 'scheduled' and run_at - clock_timestamp() between '50 min' and '1 h') from bellhop.jobqueue
		where id = $1 or key = 'later'`
	if !value[bool](a, inAnHour, later) {
		t.Error("not in an hour")
	}
}

// Law: a client gives the caller's own context back as it is.
func TestErrors_OfAContext(t *testing.T) {
	t.Parallel()
	a := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Submit(ctx, client.Job{Type: "t"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := a.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
