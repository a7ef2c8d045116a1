package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"bellhop/web/api"
)

// stream is an answer that goes on, read line by line.
type stream struct {
	*testing.T
	*http.Response
	lines *bufio.Scanner
}

// stream asks as a role for what goes on.
func (s *site) stream(role, path string) *stream {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.at+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tokens[role])
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = a.Body.Close() })
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s as %s: %d", path, role, a.StatusCode)
	}
	return &stream{s.t, a, bufio.NewScanner(a.Body)}
}

// event is the next one of a name, with what it says.
func (s *stream) event(name string, says any) {
	s.Helper()
	for at := ""; s.lines.Scan(); {
		if found, is := strings.CutPrefix(s.lines.Text(), "event: "); is {
			at = found
		}
		if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is && at == name {
			if err := json.Unmarshal([]byte(data), says); err != nil {
				s.Fatalf("%s: %v", data, err)
			}
			return
		}
	}
	s.Fatalf("no event %s: the stream ended: %v", name, s.lines.Err())
}

// Who looks is told of the queue as it is and as it becomes, and of jobs that begin and end; two are told the same.
func TestEvents_TellWhatHappens(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type, args) values ('sh', 'secret'), ('sh', 'secret')`)
	type queue []struct {
		Type  string `json:"type"`
		State string `json:"state"`
		N     int    `json:"n"`
	}
	ready := func(q queue) (n int) {
		for _, row := range q {
			if row.Type == "sh" && row.State == "ready" {
				n += row.N
			}
		}
		return n
	}
	one, other := s.stream("reader", "/events"), s.stream("operator", "/events")
	if as := one.Header.Get("Content-Type"); as != "text/event-stream" {
		t.Errorf("it is %s", as)
	}
	for _, who := range []*stream{one, other} {
		var q queue
		if who.event("queue", &q); ready(q) != 2 {
			t.Errorf("%d jobs are ready, not 2", ready(q))
		}
	}
	s.exec(`insert into bellhop.jobqueue (type) values ('sh')`)
	for _, who := range []*stream{one, other} {
		var q queue
		if who.event("queue", &q); ready(q) != 3 {
			t.Errorf("%d jobs are ready, not 3", ready(q))
		}
	}
	happened := make([]api.JobEvent, 250)
	for i := range happened {
		happened[i] = api.JobEvent{ID: 7, Type: "sh", State: "running"}
	}
	for _, c := range []struct {
		told []api.JobEvent
		n    int
		more bool
	}{{happened[:1], 1, false}, {happened, 200, true}} {
		s.hub.Happened(c.told)
		for _, who := range []*stream{one, other} {
			var e struct {
				Jobs []api.JobEvent `json:"jobs"`
				More bool           `json:"more"`
			}
			who.event("jobs", &e)
			if len(e.Jobs) != c.n || e.More != c.more || e.Jobs[0] != happened[0] {
				t.Errorf("of %d it tells of %d (more: %v): %v", len(c.told), len(e.Jobs), e.More, e.Jobs[0])
			}
		}
	}
}

// Who follows gets each line as it is committed, and the end with the job's last one; a level or an attempt alone is
// what was asked for.
func TestLogs_FollowUntilTheEnd(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at) values ('sh', 'running', 2, 2, now())`)
	say := func(attempt int, level, line string) {
		s.exec(`insert into bellhop.log (job, attempt, child, host, level, line) values (1, $1, 'sh.1', 'local', $2, $3)`,
			attempt, level, line)
	}
	say(1, "out", "of the attempt before")
	say(2, "out", "first")
	all := s.stream("operator", "/jobs/1/logs?follow=true")
	errors := s.stream("operator", "/jobs/1/logs?follow=true&level=err&attempt=2")
	next := func(from *stream, want string) {
		t.Helper()
		var row struct {
			Line string `json:"line"`
		}
		if !from.lines.Scan() {
			t.Fatalf("no %q: the stream ended: %v", want, from.lines.Err())
		}
		if err := json.Unmarshal(from.lines.Bytes(), &row); err != nil || row.Line != want {
			t.Fatalf("%s, not %q (%v)", from.lines.Text(), want, err)
		}
	}
	next(all, "of the attempt before")
	next(all, "first")
	say(2, "err", "second") // nobody asks anew
	next(all, "second")
	next(errors, "second")
	say(2, "out", "third")
	next(all, "third")
	s.exec(`with said as (insert into bellhop.log (job, attempt, child, host, level, line)
	        values (1, 2, 'sh.1', 'local', 'err', 'last'))
	        update bellhop.jobqueue set state = 'succeeded', ended_at = now() where id = 1`)
	for _, who := range []*stream{all, errors} {
		if next(who, "last"); who.lines.Scan() {
			t.Errorf("it goes on after the end: %s", who.lines.Text())
		}
		if err := who.lines.Err(); err != nil {
			t.Errorf("it breaks off: %v", err)
		}
	}
	if status, text := s.ask("reader", "GET", "/jobs/1/logs?follow=true", ""); status != http.StatusForbidden {
		t.Errorf("a reader is told %d: %s", status, text)
	}
}
