package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"bellhop/client/agent"
)

// heard is a voice that keeps what it hears.
type heard struct{ said []string }

func (h *heard) Log(level, text string)   { h.said = append(h.said, level+" "+text) }
func (h *heard) Give(field string, _ any) { h.said = append(h.said, field) }
func (h *heard) Ask(_ context.Context, r agent.LockRequest) ([]string, error) {
	return append(r.Lock, r.Unlock...), nil
}

func (h *heard) Keep(_ context.Context, name string, output json.RawMessage) error {
	h.said = append(h.said, "step "+name+" "+string(output))
	return nil
}

// Law: what Serve does with a line, Do does without a process.
func TestDo_GivesTheVerdict(t *testing.T) {
	t.Parallel()
	args := `{"Note":"hello"}`
	line := agent.Line{ID: 7, Attempt: 1, Fence: 3, Args: &args}
	for name, c := range map[string]struct {
		err  error
		want agent.Verdict
	}{
		"done":        {nil, agent.Verdict{}},
		"failed":      {errors.New("disk full"), agent.Verdict{ExitCode: 1}},
		"its code":    {badCode{}, agent.Verdict{ExitCode: 7}},
		"never again": {agent.NoRetry(badCode{}), agent.Verdict{ExitCode: 7, Never: true}},
		"later":       {agent.RetryIn(time.Minute, badCode{}), agent.Verdict{ExitCode: 7, After: time.Minute}},
		"put off":     {agent.Snooze(time.Hour), agent.Verdict{Snooze: time.Hour}},
	} {
		got := agent.Do(t.Context(), line, &heard{}, func(_ context.Context, job *agent.Job[invoice]) error {
			if job.Args.Note != "hello" {
				t.Errorf("args are %+v", job.Args)
			}
			return c.err
		})
		if !errors.Is(got.Err, c.err) || (got.Err == nil) != (c.err == nil) {
			t.Errorf("%s: error %v, want %v", name, got.Err, c.err)
		}
		if got.Err = nil; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestDo_HearsWhatIsSaid(t *testing.T) {
	t.Parallel()
	var v heard
	agent.Do(t.Context(), agent.Line{Item: map[string]string{"order": "17"}}, &v,
		func(ctx context.Context, job *agent.Job[invoice]) error {
			job.Logf("order %d", job.Args.Order)
			job.At(0.5, "half")
			job.Result(1)
			_, err := job.Lock(ctx, "db:orders", agent.Shared)
			return err
		})
	if want := []string{"info order 17", "progress", "result"}; !slices.Equal(v.said, want) {
		t.Errorf("heard %q, want %q", v.said, want)
	}
}

// Giving up when the context has ended fails nothing.
func TestDo_StoppedIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(agent.ErrStopped)
	got := agent.Do(ctx, agent.Line{}, &heard{}, func(ctx context.Context, _ *agent.Job[string]) error {
		return context.Cause(ctx)
	})
	if !got.Stopped || !errors.Is(got.Err, agent.ErrStopped) {
		t.Errorf("%+v", got)
	}
}
