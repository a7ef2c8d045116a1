package agent_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"bellhop/client/agent"
)

// A job has locks for as long as it wants them, and is told why it has none.
func TestLock_AsksAndIsAnswered(t *testing.T) {
	t.Parallel()
	k := start(t, func(ctx context.Context, job *agent.Job[invoice]) error {
		unlock, err := job.Lock(ctx, "db:orders", agent.Exclusive)
		if err != nil {
			return err
		}
		if err := unlock(); err != nil {
			return err
		}
		if _, err := job.Lock(ctx, "db", agent.Shared); !errors.Is(err, agent.ErrRefused) {
			t.Errorf("a malformed one gives %v", err)
		}
		got, err := job.LockAny(ctx, 1, "node:a=exclusive", "node:b=exclusive")
		if err == nil {
			job.Logf("has %s", got)
		}
		return err
	})
	for _, job := range []string{`{"granted":["node:b=exclusive"]}`, `{"failed":"no_resources: 1 of 2"}`} {
		ends := map[string]string{
			`{"granted":["node:b=exclusive"]}`:  `{"ok":true}`,
			`{"failed":"no_resources: 1 of 2"}`: `{"fail":"the attempt has failed: no_resources: 1 of 2","exit_code":1}`,
		}[job]
		for _, c := range []struct{ write, reads string }{
			{`{"id":7,"attempt":1,"fence":3,"args":null}`, `{"lock":["db:orders=exclusive"]}`},
			{`{"granted":["db:orders=exclusive"]}`, `{"unlock":["db:orders"]}`},
			{`{"unlocked":["db:orders"]}`, `{"lock":["db=shared"]}`},
			{`{"refused":"write db:NAME=shared"}`, `{"lock":{"any":1,"of":["node:a=exclusive","node:b=exclusive"]}}`},
			{job, ends},
		} {
			if _, err := io.WriteString(k.in, c.write+"\n"); err != nil {
				t.Fatal(err)
			}
			got := k.line()
			if got == `{"log":"has [node:b=exclusive]","level":"info"}` {
				got = k.line()
			}
			if got != c.reads {
				t.Fatalf("to %s it says %s, want %s", c.write, got, c.reads)
			}
		}
	}
	k.end()
}
