package client_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
)

// Law: everything works however pgx sends its statements, as apps behind
// PgBouncer choose.
func TestModes_EveryMethod(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for name, mode := range map[string]pgx.QueryExecMode{
		"cache": pgx.QueryExecModeCacheStatement, "describe": pgx.QueryExecModeDescribeExec,
		"exec": pgx.QueryExecModeExec, "simple": pgx.QueryExecModeSimpleProtocol,
	} {
		config := a.pool.Config()
		config.ConnConfig.DefaultQueryExecMode = mode
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		c, ctx := client.New(pool), t.Context()
		check := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		job := full()
		job.Type, job.Key, job.Held = client.TypeName(name), name, false
		first, err := c.Submit(ctx, job)
		check("submit", err)
		job.Key += " after it"
		job.After, job.AfterKeys, job.Wanted = []client.JobID{
			first,
		}, []string{
			name,
		}, []client.State{
			client.Succeeded,
			client.Cancelled,
		}
		second, err := c.Submit(ctx, job)
		check("submit one that needs another", err)
		many := full()
		many.Key = name + " by copy"
		n, err := c.SubmitMany(ctx, of(many))
		if check("submit many", err); n != 1 {
			t.Errorf("%s: %d by copy", name, n)
		}
		many.Key = name + " with ids"
		ids, err := c.SubmitManyIDs(ctx, of(many))
		if check("submit many with ids", err); len(ids) != 1 {
			t.Errorf("%s: %d with ids", name, ids)
		}
		found, err := c.Find(ctx, name)
		if check("find", err); found != first {
			t.Errorf("%s: %d, not %d", name, found, first)
		}
		_, err = c.Release(ctx, first)
		check("release", err)
		_, err = c.Cancel(ctx, first)
		check("cancel", err)
		outcome, err := c.Wait(ctx, first)
		if check("wait", err); outcome.State != client.Cancelled {
			t.Errorf("%s: %+v", name, outcome)
		}
		rows, err := c.Jobs(ctx,
			client.Filter{Types: []client.TypeName{job.Type}, States: []client.State{client.Cancelled}, Limit: 3})
		if check("jobs", err); len(rows) != 1 {
			t.Errorf("%s: %+v", name, rows)
		}
		_, err = c.Job(ctx, second)
		check("job", err)
		payload, err := c.Payload(ctx, second)
		if check("payload", err); payload.Args == nil || payload.Vars["LANG"] != "de" {
			t.Errorf("%s: %+v", name, payload)
		}
		_, err1 := c.Attempts(ctx, first)
		_, err2 := c.Lost(ctx, first)
		_, err3 := c.FailedItems(ctx, first, 3)
		_, err4 := c.Explain(ctx, first)
		check("one job", errors.Join(err1, err2, err3, err4))
		graph, err := c.Graph(ctx, first, 10)
		if check("graph", err); len(graph.Edges) != 1 || len(graph.Edges[0].Wanted) != 2 {
			t.Errorf("%s: %+v", name, graph)
		}
		for _, err := range c.Logs(ctx, first, client.LogFilter{}) {
			check("logs", err)
		}
		_, err1 = c.Instances(ctx)
		_, err2 = c.Hosts(ctx)
		_, err3 = c.Agents(ctx)
		_, err4 = c.Children(ctx)
		check("system", errors.Join(err1, err2, err3, err4))
		_, err1 = c.Backlog(ctx)
		_, err2 = c.Retry(ctx, first)
		_, err3 = c.CancelNow(ctx, first)
		_, err4 = c.Resume(ctx, "")
		check("more", errors.Join(err1, err2, err3, err4, c.Pause(ctx, ""), c.Kick(ctx)))
		_, err = c.Prune(ctx, 0)
		check("prune", err)
	}
}
