package main

import (
	"slices"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestLs_ListsWhatIsUnfinishedAndWhatFailed(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	ids := map[string]string{}
	for _, state := range []string{"held", "blocked", "scheduled", "ready", "assigned", "running", "succeeded", "failed", "cancelled", "quarantined"} {
		ids[state] = s.id("type_"+state, "x")
		s.sql("update bellhop.jobqueue set state = $2 where id = $1::text::bigint", ids[state], state)
	}
	out := s.ok("ls")
	for state, id := range ids {
		hidden := state == "succeeded" || state == "cancelled"
		if strings.Contains(out, "type_"+state) == hidden {
			t.Errorf("%s listed: %v", state, !hidden)
		}
		if got := objects(t, s.ok("ls", "-s", state, "-o", "json")); len(got) != 1 || got[0]["id"] == id {
			t.Errorf("-s %s gave %v", state, got)
		}
	}
	all := objects(t, s.ok("ls", "-s", "succeeded,failed", "-s", "ready", "-t", "type_failed", "-t", "type_ready", "-o", "json"))
	if len(all) != 2 || all[0]["type"] != "type_ready" || all[1]["type"] != "type_failed" {
		t.Errorf("got %v", all)
	}
	s.fails(cli.ExitUsage, "held, blocked, scheduled", "ls", "-s", "done")
	s.fails(cli.ExitUsage, "below 0", "ls", "--limit", "-1")
	s.fails(cli.ExitUsage, "takes no argument", "ls", "42")
}

func TestLs_LimitKeepsTheNewest(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.id("old")
	newest := s.id("new", strings.Repeat("long ", 100))
	r := s.run("ls", "--limit", "1")
	if strings.Contains(r.stdout, "old") || !strings.Contains(r.stderr, "there are more") {
		t.Errorf("got %+v", r)
	}
	list := objects(t, s.ok("ls", "--limit", "1", "-o", "json"))
	if len(list) != 1 || list[0]["args"] != strings.Repeat("long ", 100) {
		t.Errorf("JSON does not have the whole of %s: %v", newest, list)
	}
	if got := objects(t, s.ok("ls", "--limit", "0", "-o", "json")); len(got) != 2 {
		t.Errorf("--limit 0 gave %d", len(got))
	}
}

func TestTables_ShowControlCharactersAsEscapes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "red\x1b[31m\ttab", "--key", "line\nbreak")
	for _, out := range []string{s.ok("ls"), s.ok("show", id),
		s.fails(cli.ExitNotFound, `\x1b`, "show", "no\x1b[2J").stderr} {
		if strings.ContainsAny(out, "\x1b\t") {
			t.Errorf("control characters got through: %q", out)
		}
	}
	has(t, s.ok("ls"), `red\x1b[31m\ttab`, `line\nbreak`)
}

func TestShow_HasAttemptsAndFailedItems(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "--msq", "select 1", "--key", "k", "--var", "A=b")
	s.over(id, "failed", 9)
	s.sql("update bellhop.jobqueue set error = 'boom', items_total = 10, items_done = 9, items_failed = 1, run_at = 'infinity'")
	s.sql("insert into bellhop.item (job, fence, item, line, tries, exit_code, error) values ($1::text::bigint, 1, 4, 'p=\"/x\"', 3, 9, 'bad item')", id)
	has(t, s.ok("show", "k"), "select 1", "boom", "ATTEMPT", "a.1", "bad item", `p="/x"`, "A=b", "infinity")
	if out := s.ok("show", id); strings.Contains(out, "max_attempts") {
		t.Errorf("attempt N of M says it already:\n%s", out)
	}
	has(t, s.ok("show", id, "-o", "json"), `"attempts": [`, `"line": "p=\"/x\""`, `"msq": "select 1"`, `"A": "b"`, `"exit_code": 9`)
	s.fails(cli.ExitNotFound, "no job 77", "show", "77")
	s.fails(cli.ExitNotFound, "no job 99999999999999999999", "show", "99999999999999999999")
	s.fails(cli.ExitUsage, "which job", "show")
	s.fails(cli.ExitUsage, "one job", "show", "1", "2")
}

func TestSystem_TellsOfLiveInstancesOnly(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, command := range []string{"hosts", "agents", "instances"} {
		if r := s.run(command); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, "bellhop serve") {
			t.Errorf("%s without an instance: %+v", command, r)
		}
		if out := s.ok(command, "-o", "json"); out != "[]\n" {
			t.Errorf("%s without an instance: %s", command, out)
		}
	}
	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag, state)
	       values ('one', 'h', 'm', 1, 'x', 'v', '10 s', 'live'), ('two', 'h', 'm', 2, 'x', 'v', '10 s', 'gone')`)
	s.sql(`insert into bellhop.host select id, 'host_' || name, 4, '{srv:7}' from bellhop.instance`)
	s.sql(`insert into bellhop.agent select id, 'type_' || name, 'warm', 'classic', './a', 4, 2, '{"local": "no such file"}' from bellhop.instance`)
	s.sql(`insert into bellhop.child select id, 'host_' || name, 'type_' || name || '.1', 'type_' || name, 'RUNNING', 7, 42, now(), 12, 1 from bellhop.instance`)
	for command, parts := range map[string][]string{
		"hosts": {"host_one", "srv:7"}, "agents": {"type_one.1", "RUNNING", "local: no such file", "42"}, "instances": {"one"},
	} {
		out := s.ok(command)
		has(t, out, parts...)
		if strings.Contains(out, "two") {
			t.Errorf("%s tells of the dead:\n%s", command, out)
		}
	}
	has(t, s.ok("agents", "-o", "json"), `"trouble": {`, `"children": [`, `"done": 12`)
	has(t, s.ok("hosts", "-o", "json"), `"running": 1`)
}

// Where nothing is attached, a sentence says so and what to type; a program gets an empty list.
func TestAttachments_OfNoneSayWhatToType(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	if r := s.run("attachments"); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, "bellhop attach TABLE --cmd PROGRAM --pool 4") {
		t.Errorf("empty: %+v", r)
	}
	if out := s.ok("attachments", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("as JSON it is %q", out)
	}
}

func TestStats_CountsByType(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	if r := s.run("stats"); r.code != 0 || !strings.Contains(r.stderr, "no job yet") {
		t.Errorf("empty: %+v", r)
	}
	s.over(s.id("a"), "succeeded", 0)
	s.over(s.id("a"), "failed", 1)
	s.id("b")
	s.sql("update bellhop.jobqueue set items_done = 5, items_failed = 2, deaths = 1 where state = 'failed'")
	has(t, s.ok("stats"), "WAIT_P50", "2s")
	s.sql("update bellhop.jobqueue set state = 'assigned', instance = 1, host = 'local', fence = 1 where id = $1::text::bigint", s.id("c"))
	if table := s.ok("stats"); !slices.ContainsFunc(strings.Split(table, "\n"), func(line string) bool {
		f := strings.Fields(line)
		return len(f) > 3 && f[0] == "c" && f[1] == "1" && f[2] == "0" // waits, and does not run
	}) {
		t.Errorf("an assigned job is counted as\n%s", table)
	}
	list := objects(t, s.ok("stats", "-o", "json"))
	a, b := list[0], list[1]
	if a["succeeded"] != 1.0 || a["failed"] != 1.0 || a["items_done"] != 5.0 || a["deaths"] != 1.0 ||
		a["run_p90"].(float64) < 2 ||
		b["ready"] != 1.0 ||
		b["run_p50"] != nil {
		t.Errorf("got %v", list)
	}
}
