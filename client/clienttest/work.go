package clienttest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
)

// Result is what became of a job that was worked on.
type Result struct {
	OK        bool
	Error     string // why it failed
	ExitCode  int    // of a failure, from 1
	Log       []Line
	Progress  []json.RawMessage
	Results   []json.RawMessage
	Successes int
	// What is to become of the job, if it failed: agent.NoRetry, agent.RetryIn, agent.Snooze.
	NoRetry bool
	RetryIn time.Duration
	Snooze  time.Duration
	EndedAs agent.EndedAs // of one that is OK: agent.NoData, agent.Skipped
	Rest    *agent.Rest   // its run is over, and it goes on later: Sleep, Await
	// Steps are those that were kept in this run.
	Steps map[string]json.RawMessage
}

// Line is one that was kept with the job.
type Line struct{ Level, Text string }

// Work does one job with work, as a process of its agent would: what it is given
// has gone through the protocol, and so has what it says. A panic of work's is a
// failure of the job. The context is the test's.
func Work[T any](t testing.TB, work func(ctx context.Context, job *agent.Job[T]) error, job client.Job) Result {
	t.Helper()
	if job.MSQ != "" {
		t.Fatal("clienttest: the items of a query are worked on one by one: WorkItem")
	}
	line := map[string]any{"id": 1, "attempt": 1, "fence": 1, "args": nil}
	switch {
	case job.JSON != nil:
		text, err := json.Marshal(job.JSON)
		if err != nil {
			t.Fatalf("clienttest: %v", err)
		}
		line["args"] = string(text)
	case job.Args != "":
		line["args"] = job.Args
	}
	return do(t, work, job, line)
}

// WorkItem does one item of a job with work, as Work does a job. The columns of
// the item are in PostgreSQL's text form; those that are NULL are left out.
func WorkItem[T any](
	t testing.TB, work func(ctx context.Context, job *agent.Job[T]) error, job client.Job, item map[string]string,
) Result {
	t.Helper()
	return do(t, work, job, map[string]any{"id": 1, "attempt": 1, "fence": 1, "args": nil, "item": item})
}

// do lets the agent do one line, and hears it out.
func do[T any](
	t testing.TB, work func(ctx context.Context, job *agent.Job[T]) error, job client.Job, line map[string]any,
) (r Result) {
	t.Helper()
	if job.Vars != nil {
		line["vars"] = job.Vars
	}
	if job.Key != "" {
		line["key"] = job.Key
	}
	if job.Traceparent != "" {
		line["traceparent"] = job.Traceparent
	}
	text, err := json.Marshal(line)
	if err != nil {
		t.Fatalf("clienttest: %v", err)
	}
	in, give := io.Pipe()
	hear, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := agent.Run(t.Context(), in, out, string(job.Type), work)
		_ = out.CloseWithError(io.EOF)
		ended <- err
	}()
	answered := false
	for lines := bufio.NewReader(hear); ; {
		said, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		switch r.hear(t, said) {
		case greeted:
			if _, err := give.Write(append(text, '\n')); err != nil {
				t.Fatalf("clienttest: %v", err)
			}
		case asked:
			if _, err := give.Write(grant(said)); err != nil {
				t.Fatalf("clienttest: %v", err)
			}
		case kept:
			if _, err := give.Write(append(r.keep(said), '\n')); err != nil {
				t.Fatalf("clienttest: %v", err)
			}
		case over:
			answered = true
			_ = give.Close()
		}
	}
	if err := <-ended; err != nil {
		t.Fatalf("clienttest: %v", err)
	}
	if !answered {
		r.Error = "it was stopped"
	}
	return r
}

// What a message is, besides something about the job.
const (
	greeted = iota + 1
	over
	asked // for locks
	kept  // a step
)

// hear puts what was said into the result.
func (r *Result) hear(t testing.TB, said []byte) int {
	t.Helper()
	var m struct {
		Bellhop  int             `json:"bellhop"`
		OK       bool            `json:"ok"`
		Fail     *string         `json:"fail"`
		ExitCode int             `json:"exit_code"`
		Log      *string         `json:"log"`
		Level    string          `json:"level"`
		Progress json.RawMessage `json:"progress"`
		Result   json.RawMessage `json:"result"`
		Success  bool            `json:"success"`
		Lock     json.RawMessage `json:"lock"`
		Unlock   json.RawMessage `json:"unlock"`
		Retry    any             `json:"retry"`
		Snooze   string          `json:"snooze"`
		EndedAs  agent.EndedAs   `json:"ended_as"`
	}
	if err := json.Unmarshal(said, &m); err != nil {
		t.Fatalf("clienttest: the agent says %q: %v", said, err)
	}
	switch {
	case m.Bellhop != 0:
		return greeted
	case m.OK:
		r.OK, r.EndedAs = true, m.EndedAs
		return over
	case m.Snooze != "":
		r.Error = "snoozed"
		r.Snooze, _ = time.ParseDuration(m.Snooze)
		return over
	case m.Fail != nil:
		r.Error, r.ExitCode = *m.Fail, m.ExitCode
		r.NoRetry = m.Retry == false
		if text, is := m.Retry.(string); is {
			r.RetryIn, _ = time.ParseDuration(text)
		}
		return over
	case m.Log != nil:
		r.Log = append(r.Log, Line{m.Level, *m.Log})
	case m.Progress != nil:
		r.Progress = append(r.Progress, m.Progress)
	case m.Result != nil:
		r.Results = append(r.Results, m.Result)
	case m.Lock != nil || m.Unlock != nil:
		return asked
	case m.Success:
		r.Successes++
	default:
		return r.hearSteps(said)
	}
	return 0
}
