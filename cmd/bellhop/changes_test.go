package main

import (
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// The command lists the rows that the page Changes lists: by caller, by thing and by time, the newest first.
func TestChanges_ByCallerThingAndTime(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	has(t, s.run("changes").stderr, "no change is recorded")
	s.ok("pause", "mail")
	s.sql(`insert into bellhop.change (at, by, via, role, verb, thing, name, result)
		select now() - g * interval '1 h', 'ann@example.org', 'oidc', 'bellhop_operator', 'cancel', 'job', (10 - g)::text, 'ready → cancelled'
		  from generate_series(9, 1, -1) g`)
	lines := func(args ...string) []string {
		return strings.Split(strings.TrimSpace(s.ok(append([]string{"changes"}, args...)...)), "\n")[1:]
	}
	if all := lines(); len(all) != 10 || !strings.Contains(all[0], "job 9") || !strings.Contains(all[9], "type mail") {
		t.Errorf("all are %q", all)
	}
	// The changes are an hour apart.
	late := lines("--since", "150m", "--by", "ann@example.org")
	if len(late) != 2 || !strings.Contains(late[0], "job 9") || !strings.Contains(late[1], "job 8") {
		t.Errorf("those of the last 150 minutes are %q", late)
	}
	if one := lines("--of", "job 3"); len(one) != 1 || !strings.Contains(one[0], "ready → cancelled") {
		t.Errorf("those of job 3 are %q", one)
	}
	if one := lines("--of", "type mail"); len(one) != 1 || !strings.Contains(one[0], "pause") {
		t.Errorf("those of type mail are %q", one)
	}
	r := s.run("changes", "-n", "4")
	if strings.Count(r.stdout, "\n") != 5 {
		t.Errorf("four are\n%s", r.stdout)
	}
	has(t, r.stderr, "there are more: these are the newest 4; bellhop changes -n 8")
	if r := s.run("changes", "-n", "10"); strings.Contains(r.stderr, "there are more") {
		t.Errorf("there are more than all: %s", r.stderr)
	}
	if r := s.run("changes", "-n", "4", "--since", "270m"); strings.Contains(r.stderr, "there are more") {
		t.Errorf("more than four within 270 minutes: %s", r.stderr)
	}
	rows := objects(t, s.ok("changes", "--by", "ann@example.org", "-n", "1", "-o", "json"))
	if len(rows) != 1 || rows[0]["name"] != "9" || rows[0]["via"] != "oidc" {
		t.Errorf("in JSON: %v", rows)
	}
	has(t, s.run("changes", "--by", "ben").stderr, "no recorded change matches")
	s.fails(cli.ExitUsage, `--of "job" names no thing`, "changes", "--of", "job")
	for _, n := range []string{"0", "9223372036854775807"} {
		s.fails(cli.ExitUsage, "-n "+n+": it is 1 to 1000000", "changes", "-n", n)
	}
	s.ok("locks", "--limit", "9223372036854775807")
}
