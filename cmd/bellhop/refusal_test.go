package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
)

// TestRefusal_EveryRealErrorHasItsCode lets a real server refuse each thing.
func TestRefusal_EveryRealErrorHasItsCode(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a")
	raised := func(state string) string { return fmt.Sprintf("do $$ begin raise sqlstate '%s'; end $$", state) }
	for _, c := range []struct {
		code int
		says string
		text string
	}{
		{cli.ExitDenied, "permission denied for function pg_read_file", "set role bellhop_reader; select pg_read_file('/etc/passwd')"},
		{cli.ExitDenied, "grant bellhop_operator", "set role bellhop_reader; delete from bellhop.jobqueue"},
		{cli.ExitNoDatabase, "read-only", "begin read only; delete from bellhop.log"},
		{cli.ExitTimeout, "statement timeout", "set statement_timeout = '20ms'; select pg_sleep(60)"},
		{cli.ExitNotFound, "there is no job", "insert into bellhop.dependency (job, needs) values (" + id + ", 99999)"},
		{cli.ExitUsage, "cannot need itself", "insert into bellhop.dependency (job, needs) values (" + id + ", " + id + ")"},
		{cli.ExitState, "twice", "insert into bellhop.jobqueue (type, key) values ('a', 'twice'), ('a', 'twice')"},
		{cli.ExitUsage, "0x00", `select e'\x00'`},
		{cli.ExitUsage, "invalid input syntax", "select 'x'::int"},
		{cli.ExitUsage, "syntax error", "selct 1"},
		{cli.ExitUsage, "violates check constraint", "insert into bellhop.jobqueue (type) values ('')"},
		{cli.ExitUsage, "index row", "insert into bellhop.schema_script (name, checksum) " +
			"select string_agg(md5(n::text), '') || 'x', '' from generate_series(1, 2000) n"},
		{cli.ExitState, "trouble of a trigger", "do $$ begin raise 'trouble of a trigger'; end $$"},
		{cli.ExitState, "could not serialize", "do $$ begin raise serialization_failure using message = 'could not serialize'; end $$"},
		{cli.ExitSchema, "bellhop migrate", "select bellhop.no_such_function()"},
		{cli.ExitSchema, "bellhop migrate", "select * from bellhop.no_such_table"},
		{cli.ExitNoDatabase, "run it again", "select pg_terminate_backend(pg_backend_pid())"},
		{cli.ExitNoDatabase, "max_connections", raised("53300")},
		{cli.ExitSystem, "free disk", raised("53100")},
		{cli.ExitSystem, "its log says more", raised("58030")},
		{cli.ExitSystem, "SQLSTATE XX000", raised("XX000")},
		{cli.ExitState, "", raised("55000")},
		{cli.ExitTimeout, "open for long", raised("55P03")},
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
		if f := cli.ExplainFailure(fmt.Errorf("do it: %w", err)); f.Code != c.code || !strings.Contains(f.Error(), c.says) {
			t.Errorf("%s: exit code %d, want %d saying %q: %v", c.text, f.Code, c.code, c.says, f)
		} else if f.Next == "" {
			t.Errorf("%s: nothing to type next: %v", c.text, f)
		}
	}
}

// TestRefusal_OfCommands has the real commands refused.
func TestRefusal_OfCommands(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
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
		{cli.ExitDenied, "bellhop_operator", as("bellhop_reader", "retry", running)},
		{cli.ExitDenied, "bellhop_operator", as("bellhop_reader", "release", running)},
		{cli.ExitDenied, "bellhop_operator", as("bellhop_submitter", "pause")},
		{cli.ExitDenied, "bellhop_operator", as("bellhop_submitter", "submit", "command", "pause")},
		{cli.ExitDenied, "", as("bellhop_reader", "submit", "a")},
		{cli.ExitDenied, "", as("bellhop_reader", "prune")},
		{cli.ExitDenied, "", as("bellhop_reader", "logs", running)},
		{cli.ExitUsage, "UTF-8", []string{"submit", "a", "\xff"}},
		{cli.ExitState, "gets a new attempt", []string{"retry", running}},
		{cli.ExitState, "everything is paused", []string{"resume", "a"}},
	} {
		s.fails(c.code, c.says, c.args...)
	}
}

// TestExitCodes_AreTheSameInHelpAndDocs also keeps the short line of docs/commands.md true.
func TestExitCodes_AreTheSameInHelpAndDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/exit_codes.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	short := regexp.MustCompile(`\s+`).ReplaceAllString(string(commands), " ")
	help := command("help", "exit-codes")
	if help.code != 0 {
		t.Errorf("help: %+v", help)
	}
	for _, c := range cli.ExitCodes {
		has(t, help.stdout, fmt.Sprintf("%3d  %s: %s", c.Code, c.Name, c.Meaning))
		has(t, string(page), fmt.Sprintf("| %d | %s | %s |", c.Code, c.Name, c.Meaning))
		if c.Code != cli.ExitSystem {
			if want := fmt.Sprintf("%d %s", c.Code, c.Name); !strings.Contains(short, want) {
				t.Errorf("docs/commands.md does not say %q", want)
			}
		}
	}
	if r := command("--help"); !strings.Contains(r.stdout, "bellhop help exit-codes") {
		t.Errorf("bellhop --help does not name it: %s", r.stdout)
	}
}
