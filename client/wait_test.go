package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/client"
)

func TestWait_TellsHowAJobEnded(t *testing.T) {
	t.Parallel()
	a := setup(t)
	good, bad := a.submit(client.Job{Type: "t"}), a.submit(client.Job{Type: "t", Key: "bad"})
	a.end(good, client.Succeeded, ", exit_code = 0")
	a.end(bad, client.Failed, ", exit_code = 3, error = 'disk full'")
	o, err := a.Wait(t.Context(), good)
	if err != nil || o.Err() != nil || o.State != client.Succeeded || o.Attempt != 1 {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = a.Wait(t.Context(), bad)
	var failed *client.JobError
	if err != nil || !errors.As(o.Err(), &failed) || *failed.Outcome.Key != "bad" || *o.ExitCode != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	if want := "job 2 failed, exit code 3: disk full"; o.Err().Error() != want {
		t.Errorf("%q, want %q", o.Err(), want)
	}
	if _, err := a.Wait(t.Context(), 99); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

// Law: each job is given once, when it is over, in the order of their ends.
func TestWaitEach_InTheOrderOfTheirEnds(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var ids []client.JobID
	for range 3 {
		ids = append(ids, a.submit(client.Job{Type: "t"}))
	}
	order := []client.JobID{ids[1], ids[2], ids[0]}
	a.end(order[0], client.Succeeded, "")
	var came []client.JobID
	for o, err := range a.WaitEach(t.Context(), append(ids, ids[0])...) {
		if err != nil {
			t.Fatal(err)
		}
		if came = append(came, o.ID); len(came) < len(order) {
			a.end(order[len(came)], client.Cancelled, "")
		}
	}
	if !slices.Equal(came, order) {
		t.Errorf("%v, want %v", came, order)
	}
}

func TestWait_Ends(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Wait(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no time left: %v", err)
	}
	err := pgx.BeginFunc(t.Context(), a.pool, func(tx pgx.Tx) error {
		_, err := a.In(tx).Wait(t.Context(), id)
		return err
	})
	if !errors.Is(err, client.ErrRefused) {
		t.Errorf("in a transaction: %v", err)
	}
	a.exec("delete from bellhop.jobqueue")
	if _, err := a.Wait(t.Context(), id); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// A connection that breaks ends no wait of a pool's.
func TestWait_GoesOnOverAnotherConnection(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t"})
	done := make(chan error, 1)
	go func() {
		_, err := a.Wait(context.Background(), id)
		done <- err
	}()
	conn, err := pgx.Connect(t.Context(), a.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for range 3 {
		if _, err := conn.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "update bellhop.jobqueue set state = 'succeeded', ended_at = now()"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Law: whatever changes is told, the end last and once.
func TestWatch_TellsHowFarAndTheEnd(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t"})
	var told []client.Outcome
	for o, err := range a.Watch(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		switch told = append(told, o); len(told) {
		case 1:
			a.exec("update bellhop.jobqueue set progress = 0.5, progress_text = 'half' where id = $1", id)
		case 2:
			a.end(id, client.Succeeded, ", result = '7'")
		}
	}
	if len(told) != 3 || told[0].HowFar() != 0 || told[1].HowFar() != 0.5 || told[1].Says() != "half" ||
		told[2].State != client.Succeeded || string(told[2].Result) != "7" {
		t.Errorf("%+v", told)
	}
	for _, err := range a.Watch(t.Context(), 99) {
		if !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range a.Watch(ctx, a.submit(client.Job{Type: "t"})) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
}
