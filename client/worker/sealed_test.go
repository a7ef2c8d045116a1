package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
	"bellhop/pgdev/pgtest"
	"bellhop/seal"
)

func keysOf(t *testing.T, id string) *client.Keys {
	t.Helper()
	line, err := seal.NewKey(id)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := seal.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// Handlers get plain text; a job whose key is missing holds up none of the others, alone and in batches.
func TestKeys_HandlersGetPlainText(t *testing.T) {
	t.Parallel()
	a := setup(t)
	keys := keysOf(t, "here")
	echo := func(_ context.Context, job *agent.Job[string]) error {
		job.Result(job.Args + " " + job.Vars["A"])
		return nil
	}
	many := func(ctx context.Context, jobs []*agent.Job[string]) []error {
		for _, job := range jobs {
			_ = echo(ctx, job) // it gives no error
		}
		return nil
	}
	a.run(worker.Handle("one", echo), worker.HandleBatch("many", 10, 50*time.Millisecond, many), worker.Keys(keys))
	for _, typ := range []client.TypeName{"one", "many"} {
		job := client.Job{Type: typ, Args: "text", Vars: map[string]string{"A": "var"}, MaxAttempts: 2}
		submit := func(c *client.Client) client.JobID {
			t.Helper()
			id, err := c.Submit(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		lacks := submit(a.WithKeys(keysOf(t, "elsewhere")))
		sealed, plain := submit(a.WithKeys(keys)), submit(a.Client)
		for _, id := range []client.JobID{sealed, plain} {
			o, err := a.Wait(t.Context(), id)
			if err != nil || o.State != client.Succeeded || string(o.Result) != `"text var"` {
				t.Errorf("%s, job %d: %+v, %v", typ, id, o, err)
			}
		}
		pgtest.Eventually(t, time.Minute, "the job waits for its key", func() bool {
			row, err := a.Job(t.Context(), lacks)
			return err == nil && row.State == client.Scheduled && row.Attempt == 0 && row.WaitingFor != nil &&
				strings.HasPrefix(*row.WaitingFor, "no_key: sealed with key elsewhere, and the keys here are here")
		})
	}
}
