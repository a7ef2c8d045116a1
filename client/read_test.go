package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/client"
)

func TestChange_MovesJobs(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t", Held: true})
	for _, c := range []struct {
		verb string
		do   func() (client.Change, error)
		want client.Change
		err  error
	}{
		{"retry", func() (client.Change, error) { return a.Retry(t.Context(), id) }, client.Change{ID: id, Was: client.Held, State: client.Held}, client.ErrRefused},
		{"release", func() (client.Change, error) { return a.Release(t.Context(), id) }, client.Change{ID: id, Was: client.Held, State: client.Ready}, nil},
		{"release again", func() (client.Change, error) { return a.Release(t.Context(), id) }, client.Change{ID: id, Was: client.Ready, State: client.Ready}, nil},
		{"cancel", func() (client.Change, error) { return a.Cancel(t.Context(), id) }, client.Change{ID: id, Was: client.Ready, State: client.Cancelled}, nil},
		{"cancel again", func() (client.Change, error) { return a.CancelNow(t.Context(), id) }, client.Change{ID: id, Was: client.Cancelled, State: client.Cancelled}, nil},
		{"retry", func() (client.Change, error) { return a.Retry(t.Context(), id) }, client.Change{ID: id, Was: client.Cancelled, State: client.Ready}, nil},
		{"no such job", func() (client.Change, error) { return a.Cancel(t.Context(), 99) }, client.Change{}, client.ErrNotFound},
	} {
		got, err := c.do()
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.verb, got, err, c.want, c.err)
		}
	}
}

func TestChange_OfTheWhole(t *testing.T) {
	t.Parallel()
	a := setup(t)
	if err := errors.Join(a.Pause(t.Context(), "t"), a.Kick(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if was, err := a.Resume(t.Context(), "t"); was != want || err != nil {
			t.Errorf("was %v, %v", was, err)
		}
	}
	a.end(a.submit(client.Job{Type: "t"}), client.Succeeded, "")
	a.submit(client.Job{Type: "t"})
	if n, err := a.Prune(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("too young: %d, %v", n, err)
	}
	if n, err := a.Prune(t.Context(), 0, client.Failed); n != 0 || err != nil {
		t.Errorf("in another state: %d, %v", n, err)
	}
	if n, err := a.Prune(t.Context(), 0); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestRead_OneJob(t *testing.T) {
	t.Parallel()
	a := setup(t)
	job := full()
	id := a.submit(job)
	row, err := a.Job(t.Context(), id)
	if err != nil || *row.Key != job.Key || row.Type != job.Type || !row.RunAt.Equal(job.RunAt) ||
		row.Priority != job.Priority ||
		row.State != client.Held {
		t.Errorf("%+v, %v", row, err)
	}
	payload, err := a.Payload(t.Context(), id)
	if err != nil || *payload.Args != `{"title":"two\nlines","year":2026}` || payload.Vars["LANG"] != "de" ||
		!payload.Held {
		t.Errorf("%+v, %v", payload, err)
	}
	reasons, err := a.Explain(t.Context(), id)
	if err != nil || len(reasons) == 0 || reasons[0].Code != "held" {
		t.Errorf("%+v, %v", reasons, err)
	}
	a.end(id, client.Failed, ", exit_code = 2")
	attempts, err := a.Attempts(t.Context(), id)
	if err != nil || len(attempts) != 1 || *attempts[0].ExitCode != 2 {
		t.Errorf("%+v, %v", attempts, err)
	}
	a.exec("update bellhop.jobqueue set run_at = 'infinity'")
	if row, err = a.Job(t.Context(), id); err != nil || !row.RunAt.Equal(client.Never) {
		t.Errorf("never is %v, %v", row.RunAt, err)
	}
	text, err := json.Marshal(row)
	if err != nil || !strings.Contains(string(text), `"run_at":"infinity"`) || !strings.Contains(string(text), `"host":null`) {
		t.Errorf("%s, %v", text, err)
	}
	lost, err := a.Lost(t.Context(), id)
	if len(lost) != 0 || err != nil {
		t.Errorf("%v, %v", lost, err)
	}
	items, err := a.FailedItems(t.Context(), id, 10)
	if len(items) != 0 || err != nil {
		t.Errorf("%v, %v", items, err)
	}
}

// Law: what asks for one job says ErrNotFound where there is none.
func TestRead_NoSuchJob(t *testing.T) {
	t.Parallel()
	a := setup(t)
	_, job := a.Job(t.Context(), 99)
	_, payload := a.Payload(t.Context(), 99)
	_, explain := a.Explain(t.Context(), 99)
	_, graph := a.Graph(t.Context(), 99, 10)
	_, release := a.Release(t.Context(), 99)
	_, retry := a.Retry(t.Context(), 99)
	var logs error
	for _, logs = range a.Logs(t.Context(), 99, client.LogFilter{}) {
	}
	for what, err := range map[string]error{
		"job": job, "payload": payload, "explain": explain, "graph": graph, "release": release, "retry": retry, "logs": logs,
	} {
		if !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRead_ManyJobs(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first := a.submit(client.Job{Type: "a", Key: "first"})
	second := a.submit(client.Job{Type: "b", After: []client.JobID{first}})
	third := a.submit(client.Job{Type: "a"})
	a.end(third, client.Succeeded, "")
	for _, c := range []struct {
		filter client.Filter
		want   []client.JobID
	}{
		{client.Filter{}, []client.JobID{first, second, third}},
		{client.Filter{Limit: 2}, []client.JobID{second, third}},
		{client.Filter{Types: []client.TypeName{"a"}}, []client.JobID{first, third}},
		{client.Filter{States: []client.State{client.Blocked, client.Succeeded}}, []client.JobID{second, third}},
	} {
		rows, err := a.Jobs(t.Context(), c.filter)
		var ids []client.JobID
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%+v: %v, %v; want %v", c.filter, ids, err, c.want)
		}
	}
	graph, err := a.Graph(t.Context(), second, 10)
	if err != nil || len(graph.Nodes) != 2 || len(graph.Edges) != 1 || graph.Edges[0].Needs != first {
		t.Errorf("%+v, %v", graph, err)
	}
	backlog, err := a.Backlog(t.Context())
	if err != nil || !slices.Contains(backlog, client.Backlog{State: client.Ready, Type: "a", Jobs: 1}) ||
		!slices.Contains(backlog, client.Backlog{State: client.Blocked, Jobs: 1}) {
		t.Errorf("%+v, %v", backlog, err)
	}
}

// Law: each line comes once, those that are written while they are followed too,
// and a follower ends when the job is over.
func TestLogs_Followed(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t"})
	say := func(n int, level client.Level) {
		a.exec("insert into bellhop.log (job, attempt, level, line) values ($1, $2, $3, $4)", id, n, level, fmt.Sprint(n))
	}
	say(1, client.LevelInfo)
	say(1, client.LevelErr)
	var lines []string
	for line, err := range a.Logs(t.Context(), id, client.LogFilter{Follow: true,
		Levels: []client.Level{client.LevelInfo}}) {
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, line.Line); len(lines) < 3 {
			say(len(lines)+1, client.LevelInfo)
		} else {
			a.end(id, client.Succeeded, "")
		}
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(lines, want) {
		t.Errorf("%v, want %v", lines, want)
	}
	n := 0
	for range a.Logs(t.Context(), id, client.LogFilter{Attempt: 1}) {
		n++
	}
	if n != 2 {
		t.Errorf("%d lines of the first attempt", n)
	}
}

func TestSystem_NothingRuns(t *testing.T) {
	t.Parallel()
	a := setup(t)
	instances, err1 := a.Instances(t.Context())
	hosts, err2 := a.Hosts(t.Context())
	agents, err3 := a.Agents(t.Context())
	children, err4 := a.Children(t.Context())
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(instances)+len(hosts)+len(agents)+len(children) != 0 {
		t.Errorf("%v, %v %v %v %v", err, instances, hosts, agents, children)
	}
}
