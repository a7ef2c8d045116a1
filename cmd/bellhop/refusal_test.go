package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestRefusal_EveryRealErrorHasItsCode lets a real server refuse each thing.
func TestRefusal_EveryRealErrorHasItsCode(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.id("a")
	raised := func(state string) string { return fmt.Sprintf("do $$ begin raise sqlstate '%s'; end $$", state) }
	for _, c := range []struct {
		code int
		says string
		text string
	}{
		{exitDenied, "permission denied for function pg_read_file", "set role bellhop_reader; select pg_read_file('/etc/passwd')"},
		{exitDenied, "grant bellhop_operator", "set role bellhop_reader; delete from bellhop.jobqueue"},
		{exitNoDatabase, "read-only", "begin read only; delete from bellhop.log"},
		{exitTimeout, "statement timeout", "set statement_timeout = '20ms'; select pg_sleep(60)"},
		{exitNotFound, "there is no job", "insert into bellhop.dependency (job, needs) values (" + id + ", 99999)"},
		{exitUsage, "wait for itself", "insert into bellhop.dependency (job, needs) values (" + id + ", " + id + ")"},
		{exitState, "twice", "insert into bellhop.jobqueue (type, key) values ('a', 'twice'), ('a', 'twice')"},
		{exitUsage, "0x00", `select e'\x00'`},
		{exitUsage, "invalid input syntax", "select 'x'::int"},
		{exitUsage, "syntax error", "selct 1"},
		{exitUsage, "violates check constraint", "insert into bellhop.jobqueue (type) values ('')"},
		{exitUsage, "index row", "insert into bellhop.schema_script (name, checksum) " +
			"select string_agg(md5(n::text), '') || 'x', '' from generate_series(1, 2000) n"},
		{exitState, "trouble of a trigger", "do $$ begin raise 'trouble of a trigger'; end $$"},
		{exitState, "could not serialize", "do $$ begin raise serialization_failure using message = 'could not serialize'; end $$"},
		{exitSchema, "bellhop migrate", "select bellhop.no_such_function()"},
		{exitSchema, "bellhop migrate", "select * from bellhop.no_such_table"},
		{exitNoDatabase, "run it again", "select pg_terminate_backend(pg_backend_pid())"},
		{exitNoDatabase, "max_connections", raised("53300")},
		{exitSystem, "free disk", raised("53100")},
		{exitSystem, "its log says more", raised("58030")},
		{exitSystem, "SQLSTATE XX000", raised("XX000")},
		{exitState, "", raised("55000")},
		{exitTimeout, "open for long", raised("55P03")},
	} {
		conn, err := pgx.Connect(t.Context(), s.url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.PgConn().Exec(t.Context(), c.text).ReadAll()
		conn.Close(t.Context())
		if err == nil {
			t.Errorf("%s was carried out", c.text)
			continue
		}
		if f := explainFailure(fmt.Errorf("do it: %w", err)); f.code != c.code || !strings.Contains(f.Error(), c.says) {
			t.Errorf("%s: exit code %d, want %d saying %q: %v", c.text, f.code, c.code, c.says, f)
		} else if f.next == "" {
			t.Errorf("%s: nothing to type next: %v", c.text, f)
		}
	}
}

// TestRefusal_OfCommands has the real commands refused.
func TestRefusal_OfCommands(t *testing.T) {
	t.Parallel()
	s := setup(t)
	running := s.id("a")
	s.sql("update bellhop.jobqueue set state = 'running', fence = 1, attempt = 1, started_at = clock_timestamp()")
	as := func(role string, args ...string) []string {
		return append(args, "--database-url", s.url+"&options=-c%20role%3D"+role)
	}
	s.ok("pause")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitDenied, "bellhop_operator", as("bellhop_reader", "retry", running)},
		{exitDenied, "bellhop_operator", as("bellhop_reader", "release", running)},
		{exitDenied, "bellhop_operator", as("bellhop_submitter", "pause")},
		{exitDenied, "bellhop_operator", as("bellhop_submitter", "submit", "command", "pause")},
		{exitDenied, "", as("bellhop_reader", "submit", "a")},
		{exitDenied, "", as("bellhop_reader", "prune")},
		{exitDenied, "", as("bellhop_reader", "logs", running)},
		{exitUsage, "UTF-8", []string{"submit", "a", "\xff"}},
		{exitState, "gets a new attempt", []string{"retry", running}},
		{exitState, "everything is paused", []string{"resume", "a"}},
	} {
		s.fails(c.code, c.says, c.args...)
	}
}

// TestExitCodes_AreTheSameInHelpAndDocs also keeps README's short line true.
func TestExitCodes_AreTheSameInHelpAndDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/exit_codes.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	short := regexp.MustCompile(`\s+`).ReplaceAllString(string(readme), " ")
	help := command("help", "exit-codes")
	if help.code != 0 {
		t.Errorf("help: %+v", help)
	}
	for _, c := range exitCodes {
		has(t, help.stdout, fmt.Sprintf("%3d  %s: %s", c.code, c.name, c.meaning))
		has(t, string(page), fmt.Sprintf("| %d | %s | %s |", c.code, c.name, c.meaning))
		if c.code != exitSystem {
			if want := fmt.Sprintf("%d %s", c.code, c.name); !strings.Contains(short, want) {
				t.Errorf("README does not say %q", want)
			}
		}
	}
	if r := command("--help"); !strings.Contains(r.stdout, "bellhop help exit-codes") {
		t.Errorf("bellhop --help does not name it: %s", r.stdout)
	}
}
