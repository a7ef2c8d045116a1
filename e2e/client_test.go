package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/client/agent"
)

// goWork is what jobs of the test's own agent say.
type goWork struct {
	Do    string
	Order int64
}

// goAgent is an agent written with client/agent: the test binary is one too.
func goAgent() {
	err := agent.Serve("invoice", func(ctx context.Context, job *agent.Job[goWork]) error {
		fmt.Println("printed by", os.Getpid())
		switch job.Args.Do {
		case "panic":
			panic("no paper")
		case "fail":
			return errors.New("no ink")
		case "wait":
			job.Logf("begun")
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if job.Item != nil {
			job.Logf("item %s of %s", job.Item["n"], job.Key)
			return nil
		}
		job.Progress(map[string]int{"of": 2, "done": 1})
		job.Progress("half of it")
		job.Result(job.Args)
		job.Logf("order %d, attempt %d, shop %s", job.Args.Order, job.Attempt, job.Vars["SHOP"])
		job.Success()
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestClient_FromSubmitToLogs: an app and an agent in Go, with the scheduler
// between them.
func TestClient_FromSubmitToLogs(t *testing.T) {
	t.Parallel()
	e := setup(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e.serve(agents(fmt.Sprintf("type: invoice, command: [%q, go-agent], max: 1, vars: [SHOP]", self)))
	c := client.New(e.pool)
	submit := func(job client.Job) client.JobID {
		t.Helper()
		job.Type = "invoice"
		id, err := c.Submit(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	wait := func(id client.JobID, want client.State) client.Outcome {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		o, err := c.Wait(ctx, id)
		if err != nil || o.State != want {
			t.Fatalf("job %d: %+v, %v; want %s\n%s", id, o, err, want, e.logged(int64(id)))
		}
		return o
	}
	log := func(id client.JobID) string {
		t.Helper()
		var text strings.Builder
		for line, err := range c.Logs(t.Context(), id, client.LogFilter{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%s: %s\n", line.Level, line.Line)
		}
		return text.String()
	}

	first := submit(client.Job{JSON: goWork{Order: 42}, Vars: map[string]string{"SHOP": "here"}})
	has(t, log(first), `progress "half of it"`, "info: order 42, attempt 1, shop here", "printed by ")
	done, back := wait(first, client.Succeeded), goWork{}
	if err := done.Into(&back); err != nil || back.Order != 42 || done.Progress == nil || *done.Progress != 1 {
		t.Errorf("it gave back %+v, %v; it is %+v", back, err, done)
	}
	if attempts, err := c.Attempts(t.Context(), first); err != nil || len(attempts) != 1 || *attempts[0].Successes != 1 {
		t.Errorf("%+v, %v", attempts, err)
	}

	if o := wait(submit(client.Job{JSON: goWork{Do: "fail"}}), client.Failed); !strings.Contains(fmt.Sprint(o.Err()), "no ink") ||
		*o.ExitCode != 1 {
		t.Errorf("%+v", o)
	}
	broken := submit(client.Job{JSON: goWork{Do: "panic"}})
	if o := wait(broken, client.Failed); !strings.Contains(fmt.Sprint(o.Err()), "panic: no paper") {
		t.Errorf("%+v", o)
	}
	has(t, log(broken), "client_test.go")
	if o := wait(submit(client.Job{Args: "no JSON"}), client.Failed); *o.ExitCode != 2 {
		t.Errorf("%+v", o)
	}

	items := submit(client.Job{MSQ: "select n from generate_series(1, 3) n", Key: "items"})
	wait(items, client.Succeeded)
	has(t, log(items), "item 1 of items", "item 3 of items")

	// One process has done all of it: neither an error nor a panic has ended it.
	pids := column[string](e, "select distinct line from bellhop.log where line like 'printed by %'")
	if len(pids) != 1 {
		t.Errorf("several processes: %q", pids)
	}

	long := submit(client.Job{JSON: goWork{Do: "wait"}})
	e.eventually("it has begun", "select exists (select from bellhop.log where job = $1 and line = 'begun')", long)
	if change, err := c.Cancel(t.Context(), long); err != nil || change.State != client.Running {
		t.Errorf("%+v, %v", change, err)
	}
	wait(long, client.Cancelled)

	instances, err1 := c.Instances(t.Context())
	hosts, err2 := c.Hosts(t.Context())
	agents, err3 := c.Agents(t.Context())
	if err := errors.Join(err1, err2, err3); err != nil || len(instances) != 1 || len(hosts) != 1 || len(agents) == 0 {
		t.Errorf("%v: %+v %+v %+v", err, instances, hosts, agents)
	}
	wait(submit(client.Job{JSON: goWork{}}), client.Succeeded) // and another process is there
	e.eventually("its child is told of", "select exists (select from bellhop.child where type = 'invoice')")
	if children, err := c.Children(t.Context()); err != nil || len(children) != 1 || children[0].Type != "invoice" {
		t.Errorf("%+v, %v", children, err)
	}
}
