package main

import (
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	good, bad, open := s.id("a"), s.id("a"), s.id("a")
	s.over(good, "succeeded", 0)
	s.over(bad, "failed", 7)
	as := func(option string) string { return s.url + "&options=-c%20" + option }
	empty := strings.Replace(s.url, "bellhop_test_", "bellhop_none_", 1)
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{cli.ExitOK, "", []string{"wait", good}},
		{cli.ExitJobFailed, " failed", []string{"wait", bad}},
		{cli.ExitUsage, `no command "sumbit"`, []string{"sumbit"}},
		{cli.ExitUsage, "bellhop submit", []string{"sumbit"}},
		{cli.ExitUsage, "bellhop serve", []string{"serv"}}, // the nearest, and not the first of the menu
		{cli.ExitUsage, "bellhop ls", []string{"lss"}},
		{cli.ExitUsage, "unknown flag", []string{"ls", "--frob"}},
		{cli.ExitUsage, "--priority   (bellhop submit --help", []string{"submit", "a", "--prioritty", "1"}},
		{cli.ExitUsage, "table or json", []string{"ls", "-o", "yaml"}},
		{cli.ExitUsage, `no command "frob"`, []string{"completion", "frob"}},
		{cli.ExitUsage, "unknown command", []string{"completion", "bash", "frob"}},
		{cli.ExitUsage, "bellhop config check", []string{"config", "chekc"}},
		{cli.ExitUsage, "postgres://user", []string{"ls", "--database-url", "nonsense"}},
		{cli.ExitNotFound, "no job 999", []string{"show", "999"}},
		{cli.ExitTimeout, "not finished yet", []string{"wait", open, "--timeout", "1ms"}},
		{cli.ExitNoDatabase, "cannot connect to 127.0.0.1:1", []string{"ls", "--database-url", "postgres://u:secret@127.0.0.1:1/d"}},
		{cli.ExitNoDatabase, "createdb", []string{"ls", "--database-url", empty}},
		{cli.ExitNoDatabase, "read-only", []string{"submit", "a", "--database-url", as("default_transaction_read_only%3Don")}},
		{cli.ExitNoDatabase, "read-only", []string{"cancel", open, "--database-url", as("default_transaction_read_only%3Don")}},
		{cli.ExitDenied, "bellhop_operator", []string{"cancel", open, "--database-url", as("role%3Dbellhop_reader")}},
		{7, "", []string{"exit-code", "-q", bad}},
		{cli.ExitNotFinished, "", []string{"exit-code", "-q", open}},
		{cli.ExitUnknown, "", []string{"exit-code", "-q", "999"}},
	} {
		r := s.run(c.args...)
		if c.says == "" {
			if r.code != c.code || r.stderr != "" {
				t.Errorf("bellhop %q: %+v, want %d", c.args, r, c.code)
			}
			continue
		}
		s.check(r, c.code, c.says, c.args)
		if strings.Contains(r.stderr, "secret") {
			t.Errorf("bellhop %q gives the password away: %s", c.args, r.stderr)
		}
	}
}

func TestSchema_TooOldAndTooNewAreToldByEveryCommandButMigrate(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	commands := [][]string{
		{"ls"},
		{"show", "1"},
		{"wait", "1"},
		{"exit-code", "-q", "1"},
		{"logs", "1"},
		{"submit", "a"},
		{"cancel", "1"},
		{"retry", "1"},
		{"release", "1"},
		{"kick"},
		{"hosts"},
		{"agents"},
		{"instances"},
		{"stats"},
	}
	for _, change := range []struct{ sql, says string }{
		{"insert into bellhop.schema_version (version, name) values (999, 'future')", "newer"},
		{"delete from bellhop.schema_version where version > 48", "bellhop migrate"},
		{"update bellhop.schema_version set version = 20", "An older bellhop brings it up"},
		{"drop schema bellhop cascade", "no bellhop schema yet"},
	} {
		s.sql(change.sql)
		for _, args := range commands {
			s.fails(cli.ExitSchema, change.says, args...)
		}
		if change.says == "newer" || strings.Contains(change.sql, "20") {
			s.fails(cli.ExitSchema, change.says, "migrate")
			s.fails(cli.ExitSchema, change.says, "migrate", "--plan")
		}
	}
	empty := s.fails(cli.ExitSchema, "the database has none yet", "install", "roles")
	has(t, empty.stderr, "install roles: roles get rights on the schema bellhop", "bellhop migrate ", "bellhop install roles")
	if r := s.run("ls"); strings.Contains(r.stderr, "older") {
		t.Errorf("nothing there is older: %s", r.stderr)
	}
	has(t, s.ok("migrate"), "done: 0048_baseline")
}

func TestRoles_ReadersLookAndSubmittersSubmit(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "private")
	as := func(role string, args ...string) result {
		return command(append(args, "--database-url", s.url+"&options=-c%20role%3D"+role)...)
	}
	if r := as("bellhop_submitter", "submit", "a", "x", "--key", "k"); r.code != 0 || strings.TrimSpace(r.stdout) == "" {
		t.Errorf("submit: %+v", r)
	}
	for _, args := range [][]string{{"ls"}, {"show", id}, {"ls", "-o", "json"}, {"show", id, "-o", "json"}, {"hosts"}, {"agents"}, {"instances"}} {
		if r := as("bellhop_reader", args...); r.code != 0 || strings.Contains(r.stdout, "private") {
			t.Errorf("a reader's %q: %+v", args, r)
		}
	}
	for _, args := range [][]string{{"ls"}, {"show", id}, {"logs", id}, {"stats"}, {"cancel", id}} {
		if r := as("bellhop_operator", args...); r.code != 0 {
			t.Errorf("an operator's %q: %+v", args, r)
		}
	}
}

// An app with bellhop_submitter alone follows its own jobs; those of others are not there.
func TestRoles_SubmittersFollowTheirOwnJobs(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	theirs := s.id("a", "private", "--key", "theirs")
	as := func(args ...string) result {
		return command(append(args, "--database-url", s.url+"&options=-c%20role%3Dbellhop_submitter")...)
	}
	own := strings.TrimSpace(as("submit", "a", "x", "--hold").stdout)
	for _, args := range [][]string{{"ls"}, {"ls", "-s", "held"}, {"show", own}, {"explain", own}, {"logs", own},
		{"graph", own}, {"stats"}, {"edit", own, "--priority", "3"}, {"edit", "-s", "held", "-t", "a", "--priority", "4", "--dry-run"}, {"release", own},
		{"cancel", own, "--dry-run"}, {"cancel", "-s", "ready", "-t", "a", "--dry-run"}, {"cancel", own},
		{"retry", "-s", "cancelled", "-t", "a", "--dry-run"}, {"retry", own}, {"cancel", own}} {
		if r := as(args...); r.code != cli.ExitOK || strings.Contains(r.stdout, "theirs") {
			t.Errorf("its own, %q: %+v", args, r)
		}
	}
	if r := as("wait", own); r.code != cli.ExitJobFailed || !strings.Contains(r.stdout, own+" cancelled") {
		t.Errorf("wait: %+v", r)
	}
	if r := as("submit", "a", "y", "--wait", "--after", own); r.code != cli.ExitJobFailed { // what it needs was cancelled
		t.Errorf("submit --wait: %+v", r)
	}
	for _, args := range [][]string{{"show"}, {"explain"}, {"logs"}, {"release"}, {"cancel"}, {"retry"}, {"wait"}, {"exit-code"}} {
		for _, name := range []string{theirs, "theirs"} {
			if r := as(append(args, name)...); r.code != cli.ExitNotFound || strings.Contains(r.stderr, "private") {
				t.Errorf("another's, %q %s: %+v", args, name, r)
			}
		}
	}
	if r := as("submit", "a", "guess", "--key", "theirs"); r.code != cli.ExitState ||
		strings.Contains(r.stderr, "private") {
		t.Errorf("a key of another's: %+v", r)
	}
	if r := as("pause"); r.code != cli.ExitDenied {
		t.Errorf("pause: %+v", r)
	}
}
