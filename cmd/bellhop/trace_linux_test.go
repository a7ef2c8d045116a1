package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/report"
)

func TestTrace_ShowsWhatHappenedFromOwnRecords(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	first := s.id("billing")
	second := s.id("shipping", "--after", first, "--key", "order.7")
	s.sql(`update bellhop.jobqueue set state = 'succeeded', attempt = 2, fence = 2, exit_code = 0, host = 'local', child = 'billing.1',
	        created_at = '2026-01-02 10:00:00', started_at = '2026-01-02 10:00:01', attempt_at = '2026-01-02 10:00:06', ended_at = '2026-01-02 10:00:10',
	        traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' where id = $1::text::bigint`, first)
	s.sql(`insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error)
	        values ($1::text::bigint, 1, 1, 'local', 'billing.2', '2026-01-02 10:00:01', '2026-01-02 10:00:04', 3, 'no paper')`, first)
	out := s.ok("trace", first)
	has(t, out, "job "+first+" billing: succeeded", "trace 4bf92f3577b34da6a3ce929d0e0e4736", "attempt 1", "no paper", "exit code 3", "attempt 2", "by billing.1", "█", "░", "+6s", "4s")
	if n := strings.Count(out, "\nwait "); n != 2 {
		t.Errorf("%d waits in\n%s", n, out)
	}
	// Not started yet, and the link to a collector.
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	clitest.Write(t, file, "observability: {trace_url: \"http://localhost:16686/trace/{trace_id}\"}\n")
	out = s.ok("trace", "order.7", "-c", file)
	has(t, out, "job "+second+" shipping: blocked, key order.7", "needs "+first+" billing",
		"http://localhost:16686/trace/", "wait", "…")
	var w report.Waterfall
	if err := json.Unmarshal([]byte(s.ok("trace", "order.7", "-o", "json", "-c", file)), &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Steps) != 2 || w.Steps[0].Name != "needs" || w.Steps[1].Name != "wait" || w.Steps[1].To != nil ||
		w.TraceURL != "http://localhost:16686/trace/"+w.TraceID {
		t.Errorf("%+v", w)
	}
	s.fails(cli.ExitNotFound, "there is no job 99", "trace", "99")
	s.fails(cli.ExitUsage, "", "trace")
}

func TestTrace_OfAQueryTellsOfItsItems(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "--msq", "select 1")
	s.sql(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, host = 'local', started_at = clock_timestamp(), items_done = 5, items_failed = 1
	        where id = $1::text::bigint`, id)
	has(t, s.ok("trace", id), "attempt 1", "items: 5 done, 1 failed, of ?", "…")
}
