package main

import (
	"errors"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := setup(t)
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
		{exitOK, "", []string{"wait", good}},
		{exitJobFailed, "is failed", []string{"wait", bad}},
		{exitUsage, `no command "sumbit"`, []string{"sumbit"}},
		{exitUsage, "bellhop submit", []string{"sumbit"}},
		{exitUsage, "unknown flag", []string{"ls", "--frob"}},
		{exitUsage, "table or json", []string{"ls", "-o", "yaml"}},
		{exitUsage, `no command "frob"`, []string{"completion", "frob"}},
		{exitUsage, "unknown command", []string{"completion", "bash", "frob"}},
		{exitUsage, "bellhop config check", []string{"config", "chekc"}},
		{exitUsage, "postgres://user", []string{"ls", "--database-url", "nonsense"}},
		{exitNotFound, "no job 999", []string{"show", "999"}},
		{exitTimeout, "not over yet", []string{"wait", open, "--timeout", "1ms"}},
		{exitNoDatabase, "cannot connect to 127.0.0.1:1", []string{"ls", "--database-url", "postgres://u:secret@127.0.0.1:1/d"}},
		{exitNoDatabase, "createdb", []string{"ls", "--database-url", empty}},
		{exitNoDatabase, "read-only", []string{"submit", "a", "--database-url", as("default_transaction_read_only%3Don")}},
		{exitNoDatabase, "read-only", []string{"cancel", open, "--database-url", as("default_transaction_read_only%3Don")}},
		{exitDenied, "bellhop_operator", []string{"cancel", open, "--database-url", as("role%3Dbellhop_reader")}},
		{7, "", []string{"exit-code", "-q", bad}},
		{exitNotFinished, "", []string{"exit-code", "-q", open}},
		{exitUnknown, "", []string{"exit-code", "-q", "999"}},
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
	s := setup(t)
	commands := [][]string{{"ls"}, {"show", "1"}, {"wait", "1"}, {"exit-code", "-q", "1"}, {"logs", "1"}, {"submit", "a"}, {"cancel", "1"}, {"retry", "1"},
		{"release", "1"}, {"kick"}, {"hosts"}, {"agents"}, {"instances"}, {"stats"}}
	for _, change := range []struct{ sql, says string }{
		{"insert into bellhop.schema_version (version, name) values (999, 'future')", "newer"},
		{"delete from bellhop.schema_version where version > 1", "bellhop migrate"},
		{"drop schema bellhop cascade", "no bellhop schema yet"},
	} {
		s.sql(change.sql)
		for _, args := range commands {
			s.fails(exitSchema, change.says, args...)
		}
		if change.says == "newer" {
			s.fails(exitSchema, change.says, "migrate")
			s.fails(exitSchema, change.says, "migrate", "--plan")
		}
	}
	has(t, s.ok("migrate"), "done: 0001_queue.sql")
}

func TestRoles_ReadersLookAndSubmittersSubmit(t *testing.T) {
	t.Parallel()
	s := setup(t)
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
	s := setup(t)
	theirs := s.id("a", "private", "--key", "theirs")
	as := func(args ...string) result {
		return command(append(args, "--database-url", s.url+"&options=-c%20role%3Dbellhop_submitter")...)
	}
	own := strings.TrimSpace(as("submit", "a", "x", "--hold").stdout)
	for _, args := range [][]string{{"ls"}, {"show", own}, {"explain", own}, {"logs", own}, {"release", own}, {"cancel", own}, {"retry", own}, {"cancel", own}} {
		if r := as(args...); r.code != exitOK || strings.Contains(r.stdout, "theirs") {
			t.Errorf("its own, %q: %+v", args, r)
		}
	}
	if r := as("wait", own); r.code != exitJobFailed || !strings.Contains(r.stdout, own+" cancelled") {
		t.Errorf("wait: %+v", r)
	}
	if r := as("submit", "a", "y", "--wait", "--after", own); r.code != exitJobFailed { // what it needs was cancelled
		t.Errorf("submit --wait: %+v", r)
	}
	for _, args := range [][]string{{"show"}, {"explain"}, {"logs"}, {"release"}, {"cancel"}, {"retry"}, {"wait"}, {"exit-code"}} {
		for _, name := range []string{theirs, "theirs"} {
			if r := as(append(args, name)...); r.code != exitNotFound || strings.Contains(r.stderr, "private") {
				t.Errorf("another's, %q %s: %+v", args, name, r)
			}
		}
	}
	if r := as("submit", "a", "guess", "--key", "theirs"); r.code != exitState || strings.Contains(r.stderr, "private") {
		t.Errorf("a key of another's: %+v", r)
	}
	if r := as("pause"); r.code != exitDenied {
		t.Errorf("pause: %+v", r)
	}
}

func TestRedact_HidesPasswords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"cannot use postgres://u:secret@h/d now", "postgres://u:p@secret@h/d", "postgres://h/d?user=u&password=secret",
		"host=h password=secret user=u", "host=h password = 'sec ret secret' user=u",
	} {
		if got := redact(text); strings.Contains(got, "secret") || !strings.Contains(got, "xxxxx") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if text := "postgres://u@h:5432/d has no password"; redact(text) != text {
		t.Errorf("%q became %q", text, redact(text))
	}
}

func TestReport_IsOneParagraphWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	if got := paragraph("one\n\n\ttwo\x1b[2J\n"); got != "one\n  two\\x1b[2J" {
		t.Errorf("got %q", got)
	}
	if f := explainFailure(errors.New("disk full")); f.code != exitSystem {
		t.Errorf("got %+v", f)
	}
}
