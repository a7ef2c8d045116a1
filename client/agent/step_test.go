package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"bellhop/client/agent"
)

// order is a job of three parts, with a sleep and an event between them.
func order(did *[]string) func(context.Context, *agent.Job[string]) error {
	return func(ctx context.Context, job *agent.Job[string]) error {
		part := func(name string) error {
			_, err := agent.Step(ctx, job, name, func(context.Context) (int, error) {
				*did = append(*did, name)
				return len(*did), nil
			})
			return err
		}
		if err := part("charge"); err != nil {
			return err
		}
		if err := job.Sleep(72 * time.Hour); err != nil {
			return err
		}
		payload, err := job.Await("parcel.42", time.Hour)
		if err != nil {
			return err
		}
		job.Logf("parcel %s", payload)
		return part("mail")
	}
}

// Law: a run goes on where the last one ended, and what is kept is not done again.
func TestStep_IsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kept string
		did  []string
		rest *agent.Rest
		err  error
	}{
		{`{}`, []string{"charge"}, &agent.Rest{Pause: 72 * time.Hour}, nil},
		{`{"charge": 1}`, nil, &agent.Rest{Pause: 72 * time.Hour}, nil},
		{`{"charge": 1, "sleep.1": {}}`, nil, &agent.Rest{Event: "parcel.42", Pause: time.Hour}, nil},
		{`{"charge": 1, "sleep.1": {}, "event.parcel.42": {"timed_out": 1}}`, nil, nil, agent.ErrTimedOut},
		{`{"charge": 1, "sleep.1": {}, "event.parcel.42": {"payload": null}}`, []string{"mail"}, nil, nil},
	} {
		var did []string
		line, v := agent.Line{ID: 7}, &heard{}
		if err := json.Unmarshal([]byte(c.kept), &line.Steps); err != nil {
			t.Fatal(err)
		}
		got := agent.Do(t.Context(), line, v, order(&did))
		if !slices.Equal(did, c.did) || (got.Rest == nil) != (c.rest == nil) || !reflect.DeepEqual(got.Rest, c.rest) {
			t.Errorf("of %s it did %q, and rests %+v", c.kept, did, got.Rest)
		}
		if done := c.rest == nil && c.err == nil; done != (got.Err == nil) || c.err != nil && !errors.Is(got.Err, c.err) {
			t.Errorf("of %s came %v", c.kept, got.Err)
		}
		for _, name := range c.did {
			if !slices.Contains(v.said, "step "+name+" 1") {
				t.Errorf("of %s it said %q", c.kept, v.said)
			}
		}
	}
}

// An output of another kind than the one that is kept stops the job, and says so.
func TestStep_AnotherKindIsAnError(t *testing.T) {
	t.Parallel()
	line := agent.Line{Steps: map[string]json.RawMessage{"charge": json.RawMessage(`"seven"`)}}
	got := agent.Do(t.Context(), line, &heard{}, order(new([]string)))
	if got.Err == nil || got.Rest != nil || got.ExitCode != 1 {
		t.Errorf("%+v", got)
	}
}

// A handler says that the job keeps its locks while it rests. Any other error stays what it is.
func TestKeepLocks_IsSaid(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	if agent.KeepLocks(nil) != nil || agent.KeepLocks(other) != other {
		t.Error("another error has changed")
	}
	for want, rest := range map[string]func(job *agent.Job[string]) error{
		`{"keep_locks":true,"sleep":"1h0m0s"}`: func(job *agent.Job[string]) error { return job.Sleep(time.Hour) },
		`{"await":{"event":"paid.1"},"keep_locks":true}`: func(job *agent.Job[string]) error {
			_, err := job.Await("paid.1", 0)
			return err
		},
	} {
		k := start(t, func(_ context.Context, job *agent.Job[string]) error { return agent.KeepLocks(rest(job)) })
		if _, err := io.WriteString(k.in, `{"id":7,"attempt":1,"fence":3,"args":""}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := k.line(); got != want {
			t.Errorf("it says %s, want %s", got, want)
		}
		k.end()
	}
}

// A handler makes children, and gets their ends in its next run. Without any it goes on.
func TestChildren_AreSaid(t *testing.T) {
	t.Parallel()
	k := start(t, func(_ context.Context, job *agent.Job[string]) error {
		if ends, err := job.Children(); len(ends) > 0 || err != nil {
			return errors.New("no children have ends")
		}
		ends, err := job.Children(
			agent.Child{Type: "cut", Args: map[string]int{"n": 1}, Timeout: agent.Seconds(14 * 24 * time.Hour)},
			agent.Child{Type: "cut", Args: "two", MaxAttempts: 2})
		if err != nil {
			return err
		}
		job.Result(ends)
		return nil
	})
	for _, c := range []struct{ give, hear string }{
		{`{"id":7,"attempt":1,"fence":3,"args":""}`,
			`{"children":[{"type":"cut","args":{"n":1},"timeout":"1209600 seconds"},{"type":"cut","args":"two","max_attempts":2}]}`},
		{`{"id":7,"attempt":1,"fence":4,"args":"","steps":{"children.1":[{"job":8,"state":"failed","error":"no"},{"job":9,"state":"succeeded","result":{"w":2}}]}}`,
			`{"result":[{"job":8,"state":"failed","result":null,"error":"no"},{"job":9,"state":"succeeded","result":{"w":2},"error":""}]}`},
	} {
		if _, err := io.WriteString(k.in, c.give+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := k.line(); got != c.hear {
			t.Errorf("it says %s, want %s", got, c.hear)
		}
	}
	if got := k.line(); got != `{"ok":true}` {
		t.Errorf("it ends with %s", got)
	}
	k.end()
}

// Law: a step's function has returned before it is kept, and Step returns when it is.
func TestRun_SaysItsSteps(t *testing.T) {
	t.Parallel()
	k := start(t, order(new([]string)))
	give := func(line string) {
		t.Helper()
		if _, err := io.WriteString(k.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		if got := k.line(); got != want {
			t.Errorf("it says %s, want %s", got, want)
		}
	}
	give(`{"id":7,"attempt":1,"fence":3,"args":""}`)
	hear(`{"step":{"name":"charge","output":1}}`)
	give(`{"step":"charge"}`)
	hear(`{"sleep":"72h0m0s"}`)
	give(`{"id":7,"attempt":1,"fence":4,"args":"","steps":{"charge":1,"sleep.1":{"until":"2026-11-30"}}}`)
	hear(`{"await":{"event":"parcel.42","timeout":"1h0m0s"}}`)
	give(`{"id":7,"attempt":1,"fence":5,"args":"","steps":{"charge":1,"sleep.1":{},"event.parcel.42":{"payload":7}},"event":7}`)
	hear(`{"log":"parcel 7","level":"info"}`)
	hear(`{"step":{"name":"mail","output":2}}`)
	give(`{"failed":"step_refused: too many"}`)
	hear(`{"fail":"step \"mail\" of job 7: the attempt has failed: step_refused: too many","exit_code":1}`)
	k.end()
}
