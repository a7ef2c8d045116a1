package main

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/pgdev/pgtest"
)

func TestWait_EndsAsTheJobsDo(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	good, bad, open := s.id("a"), s.id("a", "--key", "bad"), s.id("a")
	s.over(good, "succeeded", 0)
	s.over(bad, "failed", 3)
	has(t, s.ok("wait", good), good+" succeeded")
	r := s.fails(cli.ExitJobFailed, "exit code 3", "wait", good, "bad")
	has(t, r.stdout, good+" succeeded", bad+" failed")
	s.fails(cli.ExitTimeout, "not finished yet: "+open, "wait", good, open, "--timeout", "1ms")
	s.fails(cli.ExitTimeout, "not finished yet", "wait", open, "--timeout", "0")
	s.sql("update bellhop.jobqueue set waiting_for = 'unknown_type' where id = " + open)
	s.fails(cli.ExitTimeout, "job "+open+" waits: unknown_type; see: bellhop explain "+open, "wait", open, "--timeout",
		"0")
	s.ok("wait", good, "--timeout", "0")
	s.fails(cli.ExitNotFound, "no job 77", "wait", "77", good)
	s.fails(cli.ExitUsage, "below 0", "wait", good, "--timeout", "-1s")
	s.fails(cli.ExitUsage, "which job", "wait")
	if got := objects(t, s.ok("wait", good, "-o", "json")); len(got) != 1 || got[0]["exit_code"] != 0.0 {
		t.Errorf("got %v", got)
	}
}

func TestWait_SurvivesARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Cluster(t)
	s := &harness{t: t, url: cluster.URL()}
	s.ok("migrate")
	id := s.id("a")
	done := make(chan result, 1)
	go func() { done <- s.run("wait", id) }()

	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), cluster.URL())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := connect()
	pgtest.Eventually(t, 10*time.Second, "the command waits", func() bool {
		var waits bool
		err := conn.QueryRow(t.Context(), "select exists (select from pg_stat_activity where application_name = 'bellhop' and query like '%bellhop.job j%')").Scan(&waits)
		return err == nil && waits
	})
	if err := cluster.Restart(t.Context(), "immediate"); err != nil {
		t.Fatal(err)
	}
	conn.Close(t.Context())
	s.conn = connect()
	defer s.conn.Close(context.WithoutCancel(t.Context()))
	s.over(id, "succeeded", 0)
	if r := <-done; r.code != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestExitCode_IsTheJobsOwn(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, c := range []struct {
		name, state string
		exitCode    any
		want        int
	}{
		{"succeeded", "succeeded", 0, 0},
		{"failed", "failed", 3, 3},
		{"killed by a signal", "failed", 128 + 9, 137},
		{"failed with code 0", "failed", 0, 1},
		{"more than a byte", "failed", 4096, 255},
		{"negative", "failed", -1, 255},
		{"cancelled before it ran", "cancelled", nil, 126},
		{"not over", "running", nil, 125},
	} {
		id := s.id("a")
		s.over(id, c.state, c.exitCode)
		if r := s.run("exit-code", "-q", id); r.code != c.want || r.stdout+r.stderr != "" {
			t.Errorf("%s: -q gave %+v, want %d", c.name, r, c.want)
		}
		if c.want == cli.ExitNotFinished {
			s.fails(cli.ExitNotFinished, "is running", "exit-code", id)
		} else if r := s.run("exit-code", id); r.code != 0 || strings.TrimSpace(r.stdout) != strconv.Itoa(c.want) {
			t.Errorf("%s: it printed %+v, want %d", c.name, r, c.want)
		}
	}
	if r := s.run("exit-code", "-q", "999"); r.code != cli.ExitUnknown {
		t.Errorf("unknown: %+v", r)
	}
	s.fails(cli.ExitNotFound, "no job 999", "exit-code", "999")
	s.fails(cli.ExitUsage, "which job", "exit-code", "-q")
}

func TestLogs_SplitsWhatWasSaid(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "--key", "k")
	s.over(id, "failed", 1)
	s.sql("update bellhop.jobqueue set attempt = 2")
	s.sql(`insert into bellhop.log (job, attempt, level, line) values
		(1, 1, 'out', 'first try'), (1, 2, 'out', 'second try'), (1, 2, 'err', 'stderr'), (1, 2, 'info', 'info'), (1, 2, 'error', 'error'),
		(1, 2, 'debug', 'debug'), (1, 2, 'note', 'from the scheduler'), (999, 2, 'out', 'of another')`)
	r := s.run("logs", "k")
	if r.stdout != "second try\ninfo\nerror\ndebug\n" || r.stderr != "bellhop: from the scheduler\n" {
		t.Errorf("got %+v", r)
	}
	if out := s.ok("logs", "-e", id); out != "stderr\n" {
		t.Errorf("-e gave %q", out)
	}
	if out := s.ok("logs", id, "--attempt", "1", "-f"); out != "first try\n" {
		t.Errorf("--attempt 1 gave %q", out)
	}
	if got := objects(t, s.ok("logs", id, "-o", "json")); len(got) != 5 || got[0]["line"] != "second try" {
		t.Errorf("JSON: %v", got)
	}
	s.sql(`insert into bellhop.log (job, attempt, level, line) values (1, 2, 'note', 'output truncated: 7 lines left out here; so much is kept'),
		(1, 2, 'note', 'output truncated: 9 lines left out here; so much is kept')`)
	if r := s.run("logs", id); !strings.HasSuffix(r.stderr,
		"bellhop: output truncated: 7 lines left out here; so much is kept\nbellhop: 9 lines left out here\n") {
		t.Errorf("of two children: %q", r.stderr)
	}
	s.fails(cli.ExitNotFound, "has no attempt 3", "logs", id, "--attempt", "3")
	s.fails(cli.ExitUsage, "count from 1", "logs", id, "--attempt", "0")
	s.fails(cli.ExitNotFound, "no job 77", "logs", "77")
	if out := s.ok("logs", s.id("a"), "-o", "json"); out != "[]\n" {
		t.Errorf("nothing said: %q", out)
	}
}

func TestLogs_FollowsFromBeforeTheStartToTheLastLine(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a")
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run([]string{"--database-url", s.url, "logs", "-f", id}, strings.NewReader(""), in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	s.sql("update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = clock_timestamp()")
	// Late is a line whose transaction began before and is committed after others.
	late, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close(context.WithoutCancel(t.Context()))
	tx, err := late.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "insert into bellhop.log (job, attempt, level, line) values (1, 1, 'out', 'late')"); err != nil {
		t.Fatal(err)
	}
	s.sql("insert into bellhop.log (job, attempt, level, line) values (1, 1, 'out', 'one')")
	next("one")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	next("late")
	s.sql(`with l as (insert into bellhop.log (job, attempt, level, line) values (1, 1, 'out', 'last'))
	       update bellhop.jobqueue set state = 'succeeded', exit_code = 0, ended_at = clock_timestamp()`)
	next("last")
	if lines.Scan() {
		t.Errorf("more: %q", lines.Text())
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func TestLogs_PrintsManyLinesOnce(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a")
	s.over(id, "succeeded", 0)
	s.sql("insert into bellhop.log (job, attempt, level, line) select 1, 1, 'out', 'line ' || n from generate_series(1, 12345) n")
	lines := strings.Split(strings.TrimSpace(s.ok("logs", id)), "\n")
	if len(lines) != 12345 || lines[0] != "line 1" || lines[12344] != "line 12345" {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}
