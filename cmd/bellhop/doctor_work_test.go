package main

import (
	"strings"
	"testing"
)

// TestDoctor_SeesHowJobsGo: types that fail, types that wait for an agent that
// nobody has, and rows that can go; each with the line that mends it.
func TestDoctor_SeesHowJobsGo(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	says := func() string { return s.run("doctor", "--finished", "100", "--data-dir", t.TempDir()).stdout }
	before := says()
	has(t, before, "no type fails", "0 rows of jobs finished three days ago")
	s.sql(`insert into bellhop.jobqueue (type, state, waiting_for) values ('nobody''s', 'ready', 'unknown_type')`)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select 'bad', 'failed', 1, 1, now(), now(), 1 from generate_series(1, 3)`)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select 'good', case when n < 3 then 'failed' else 'succeeded' end, 1, 1, now(), now(), 0 from generate_series(1, 9) n`)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select 'good', 'succeeded', 1, 1, now() - interval '9 d', now() - interval '9 d', 0 from generate_series(1, 100)`)
	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag) values ('x', 'x', 'x', 1, '', 'x', '1 h')`)
	s.sql(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble)
		select id, 'sick', 'warm', 'auto', 'cat', 1, 1, '{"local": "it never said OK"}' from bellhop.instance`)
	after := says()
	has(t, after, "1 job waits that is of type nobody's, which no instance serves", `bellhop ls -s ready -t 'nobody'\''s'`,
		"of the jobs of bad that ended in the last hour, 3 failed and 0 succeeded", "bellhop ls -s failed -t bad   #",
		"agents of sick do not come up", "it never said OK", "bellhop config check --spawn",
		"100 rows of jobs finished three days ago", "finished jobs: bellhop prune --older-than 3d")
	if strings.Contains(after, "jobs of good") || strings.Contains(after, "no type fails") {
		t.Errorf("too much:\n%s", after)
	}
	s.ok("prune", "--older-than", "3d")
	has(t, says(), "0 rows of jobs finished three days ago")
}
