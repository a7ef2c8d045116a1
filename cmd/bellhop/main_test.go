package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
)

func TestMain(m *testing.M) { os.Exit(prepareAndRun(m)) }

func prepareAndRun(m *testing.M) int {
	completionPatience = time.Minute // nobody waits at a keyboard
	remove, err := preparePlainAgent()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	return pgtest.Main(m)
}

// harness is a test's database and the command line on it.
type harness struct {
	t    *testing.T
	url  string
	conn *pgx.Conn
}

// result is what one command left behind.
type result struct {
	code           int
	stdout, stderr string
}

// newHarness gives a migrated database of the test's own.
func newHarness(t *testing.T) *harness {
	t.Helper()
	s := &harness{t: t, url: migrated.URL(t)}
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.conn = conn
	t.Cleanup(func() { conn.Close(t.Context()) })
	return s
}

func command(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, strings.NewReader(""), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// run runs a command on the test's database.
func (s *harness) run(args ...string) result {
	return command(append([]string{"--database-url", s.url}, args...)...)
}

// ok runs a command that must succeed, and gives what it printed.
func (s *harness) ok(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.t.Fatalf("bellhop %q: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// fails runs a command that must fail with a code and say something.
func (s *harness) fails(code int, says string, args ...string) result {
	s.t.Helper()
	r := s.run(args...)
	s.check(r, code, says, args)
	return r
}

func (s *harness) check(r result, code int, says string, args []string) {
	s.t.Helper()
	if r.code != code || !strings.Contains(r.stderr, says) {
		s.t.Errorf("bellhop %q: exit code %d, want %d saying %q\n%s%s", args, r.code, code, says, r.stdout, r.stderr)
	}
	if !strings.HasPrefix(r.stderr, "bellhop: ") || strings.Contains(strings.TrimSpace(r.stderr), "\n\n") {
		s.t.Errorf("bellhop %q: not one paragraph: %q", args, r.stderr)
	}
}

// id submits a job.
func (s *harness) id(args ...string) string {
	s.t.Helper()
	return strings.TrimSpace(s.ok(append([]string{"submit"}, args...)...))
}

// sql changes the database as a scheduler would.
func (s *harness) sql(text string, args ...any) {
	s.t.Helper()
	if _, err := s.conn.Exec(s.t.Context(), text, args...); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

// over ends a job.
func (s *harness) over(id, state string, exitCode any) {
	s.t.Helper()
	s.sql(`update bellhop.jobqueue set state = $2, exit_code = $3, attempt = 1, fence = 1, host = 'local', child = 'a.1',
	       started_at = clock_timestamp() - interval '2 s', ended_at = clock_timestamp() where id = $1::text::bigint`, id, state, exitCode)
}

// objects reads JSON output.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return list
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}
