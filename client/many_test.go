package client_test

import (
	"errors"
	"testing"
	"time"

	"bellhop/client"
)

func TestEdit_ChangesWhatWaits(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t", Args: "old", MaxAttempts: 2})
	priority, args, yes, no := -5, "new", true, false
	is := func(want string) {
		t.Helper()
		got := value[string](a, `select concat_ws(' ', state, priority, args, max_attempts, timeout,
			case when run_at > now() then 'later' end, case when held then 'held' end) from bellhop.jobqueue where id = $1`, id)
		if got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		edit client.Edit
		want string
	}{
		{client.Edit{Priority: &priority}, "ready -5 old 2"},
		{client.Edit{Args: &args, MaxAttempts: 1, Timeout: time.Minute}, "ready -5 new 1 00:01:00"},
		{client.Edit{RunIn: time.Hour}, "scheduled -5 new 1 00:01:00 later"},
		{client.Edit{Hold: &yes}, "held -5 new 1 00:01:00 later held"},
		{client.Edit{RunAt: time.Now()}, "held -5 new 1 00:01:00 held"},
		{client.Edit{Hold: &no}, "ready -5 new 1 00:01:00"},
	} {
		if _, err := a.Edit(t.Context(), id, c.edit); err != nil {
			t.Errorf("%+v: %v", c.edit, err)
		}
		is(c.want)
	}
	host, until := "srv:7", time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	has := func(want string) {
		t.Helper()
		got := value[string](a, `select concat_ws(' ', run_on, vars, on_failure, not_after at time zone 'UTC',
			(select 'due' from bellhop.deadline d where d.job = id and d.at = not_after)) from bellhop.jobqueue where id = $1`, id)
		if got != want {
			t.Errorf("it has %q, want %q", got, want)
		}
	}
	nowhere := ""
	for _, c := range []struct {
		edit client.Edit
		want string
	}{
		{client.Edit{NotAfter: until}, "fail 2100-01-02 03:04:05 due"},
		{client.Edit{RunOn: &host, Vars: map[string]string{"A": "1"}}, `srv:7 {"A": "1"} fail 2100-01-02 03:04:05 due`},
		{client.Edit{RunOn: &nowhere, Vars: map[string]string{}, OnFailure: "run"}, "{} run 2100-01-02 03:04:05 due"},
		{client.Edit{Forever: true}, "{} run"},
	} {
		if _, err := a.Edit(t.Context(), id, c.edit); err != nil {
			t.Errorf("%+v: %v", c.edit, err)
		}
		has(c.want)
	}
	query := "select 1"
	if _, err := a.Edit(t.Context(), id, client.Edit{MSQ: &query}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("a query for a job that has none: %v", err)
	}
	// What it needs has failed already: it runs when that is no matter any more.
	bad := a.submit(client.Job{Type: "t"})
	a.end(bad, client.Failed, "")
	below := a.submit(client.Job{Type: "t", After: []client.JobID{bad}, OnFailure: "block"})
	change, err := a.Edit(t.Context(), below, client.Edit{OnFailure: "run"})
	if change.State != client.Ready || err != nil {
		t.Errorf("it is %s, %v", change.State, err)
	}
	worst := 20
	if _, err := a.Edit(t.Context(), id, client.Edit{Priority: &worst}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("priority 20: %v", err)
	}
	two := "a\nb"
	if _, err := a.Edit(t.Context(), id, client.Edit{Args: &two}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("two lines: %v", err)
	}
	is("ready -5 new 1 00:01:00")
	if _, err := a.Edit(t.Context(), 99, client.Edit{Args: &args}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	a.end(id, client.Succeeded, "")
	if _, err := a.Edit(t.Context(), id, client.Edit{Args: &args}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("one that is over: %v", err)
	}
}

// An order by filter reaches all that were there, however many transactions it takes, and nothing else.
func TestAll_ByFilter(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at)
		select case when g % 5 = 0 then 'other' else 'mail' end, case when g % 3 = 0 then 'succeeded' else 'failed' end, 1, now(), now()
		  from generate_series(1, 3000) g`)
	mail := client.Filter{Types: []client.TypeName{"mail"}, States: []client.State{client.Failed}}
	if n, err := a.Count(t.Context(), mail); n != 1600 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := a.RetryAll(t.Context(), mail); n != 1600 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	count := func(where string) int {
		t.Helper()
		return value[int](a, "select count(*) from bellhop.jobqueue where "+where)
	}
	if ready, other := count("state = 'ready'"), count("state = 'ready' and type <> 'mail'"); ready != 1600 || other != 0 {
		t.Errorf("%d are ready, %d of another type", ready, other)
	}
	priority := 7
	if n, err := a.EditAll(t.Context(), client.Filter{}, client.Edit{Priority: &priority}); n != 1600 || err != nil ||
		count("priority = 7") != 1600 {
		t.Errorf("%d, %v; %d have it", n, err, count("priority = 7"))
	}
	n, err := a.CancelAll(t.Context(), client.Filter{})
	if are := count("state = 'cancelled'"); n != 1600 || err != nil || are != 1600 {
		t.Errorf("%d, %v; %d are", n, err, are)
	}
}
