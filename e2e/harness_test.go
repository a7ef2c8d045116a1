// Package e2e tests the built binary from outside: real processes, a real
// PostgreSQL, and nothing but SQL, the command line and /proc to look through.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev/pgtest"
)

// binary is what is tested, built once by TestMain.
var binary string

// TestMain: the test binary is also an agent that writes to the database
// (see consume).
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "consume" {
		consume(os.Args[2])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "tracing-agent" {
		tracingAgent(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "go-agent" {
		goAgent()
		return
	}
	flag.Parse()
	if given := flag.Lookup("test.parallel"); given.Value.String() == given.DefValue {
		_ = flag.Set("test.parallel", "8") // most of what these tests do is to wait for other processes
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bellhop-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "bellhop")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "bellhop/cmd/bellhop")...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := errors.Join(build.Run(), os.Chmod(dir, 0o755)); err != nil {
		fmt.Fprintln(os.Stderr, "build bellhop:", err)
		return 1
	}
	return pgtest.Main(m)
}

// patience is for what takes a second on a machine with nothing else to do.
const patience = 3 * time.Minute

// bed is a database of the test's own and what runs on it.
type bed struct {
	t    *testing.T
	url  string
	dir  string // of the test: agents, configuration, flags
	pool *pgxpool.Pool
	runs int      // instances started
	env  []string // what instances find in their environment besides
	// listen is where the next instance answers over HTTP; empty: on some port.
	listen string
}

// setup gives a fresh migrated database.
func setup(t *testing.T) *bed {
	t.Helper()
	b := on(t, pgtest.URL(t))
	b.ok("migrate")
	return b
}

// on looks at a database as it is.
func on(t *testing.T, url string) *bed {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["application_name"] = "the test"
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // so that an int may stand for any number's type
	config.MinConns, config.MaxConns = 0, 8
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &bed{t: t, url: url, dir: pgtest.Dir(t), pool: pool}
}

// sql runs one statement, and gives how many rows it changed.
func (b *bed) sql(text string, args ...any) int {
	b.t.Helper()
	tag, err := b.pool.Exec(b.t.Context(), text, args...)
	if err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	return int(tag.RowsAffected())
}

// value reads one value.
func value[T any](b *bed, text string, args ...any) (v T) {
	b.t.Helper()
	if err := b.pool.QueryRow(b.t.Context(), text, args...).Scan(&v); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	return v
}

// column reads one column.
func column[T any](b *bed, text string, args ...any) []T {
	b.t.Helper()
	rows, err := b.pool.Query(b.t.Context(), text, args...)
	if err == nil {
		var list []T
		if list, err = pgx.CollectRows(rows, pgx.RowTo[T]); err == nil {
			return list
		}
	}
	b.t.Fatalf("%s: %v", text, err)
	return nil
}

// insert submits a job by a plain INSERT: columns "type, args" and their values.
func (b *bed) insert(columns string, values ...any) int64 {
	b.t.Helper()
	var places []string
	for i := range values {
		places = append(places, fmt.Sprintf("$%d", i+1))
	}
	return value[int64](b, "insert into bellhop.jobqueue ("+columns+") values ("+strings.Join(places, ", ")+") returning id", values...)
}

// job is a row of the queue as a test looks at it; what is NULL is zero, and
// −1 in the exit code and the items.
type job struct {
	State      string
	Attempt    int
	Fence      int64
	Instance   int64
	ExitCode   int
	Error      string
	WaitingFor string
	Total      int64
	Done       int64
	Failed     int64
}

func (b *bed) job(id int64) (j job) {
	b.t.Helper()
	if err := b.pool.QueryRow(b.t.Context(), `select state, attempt, fence, coalesce(instance, 0), coalesce(exit_code, -1), coalesce(error, ''), coalesce(waiting_for, ''),
		coalesce(items_total, -1), coalesce(items_done, -1), coalesce(items_failed, -1) from bellhop.jobqueue where id = $1`, id).
		Scan(&j.State, &j.Attempt, &j.Fence, &j.Instance, &j.ExitCode, &j.Error, &j.WaitingFor, &j.Total, &j.Done, &j.Failed); err != nil {
		b.t.Fatalf("job %d: %v", id, err)
	}
	return j
}

func (b *bed) state(id int64) string {
	b.t.Helper()
	return b.job(id).State
}

func final(state string) bool {
	return state == "succeeded" || state == "failed" || state == "cancelled" || state == "quarantined"
}

// waitState waits until the job is in that state, and gives its row. It does
// not wait any longer once the job is over in another way.
func (b *bed) waitState(id int64, want string) (j job) {
	b.t.Helper()
	pgtest.Eventually(b.t, patience, fmt.Sprintf("job %d is %s", id, want), func() bool {
		b.t.Helper()
		j = b.job(id)
		if j.State != want && final(j.State) {
			b.t.Fatalf("job %d should be %s: %+v", id, want, j)
		}
		return j.State == want
	})
	return j
}

// waitAll waits until no job is left that is not over, and checks how many
// ended in which way: "succeeded 10, failed 1".
func (b *bed) waitAll(want string) {
	b.t.Helper()
	defer func() {
		if b.t.Failed() {
			b.t.Logf("not over: %v", column[string](b, "select j::text from bellhop.jobqueue j where state not in ('succeeded', 'failed', 'cancelled', 'quarantined') limit 5"))
		}
	}()
	pgtest.Eventually(b.t, patience, "every job is over", func() bool {
		return value[int](b, "select count(*) from bellhop.jobqueue where state not in ('succeeded', 'failed', 'cancelled', 'quarantined')") == 0
	})
	got := value[string](b, `select coalesce(string_agg(state || ' ' || n, ', ' order by n desc, state), '')
		from (select state, count(*) n from bellhop.jobqueue group by state) s`)
	if got != want {
		b.t.Errorf("jobs ended %q, want %q", got, want)
	}
}

// logged gives what is kept in bellhop.log of a job, one line each.
func (b *bed) logged(id int64) string {
	b.t.Helper()
	return value[string](b, "select coalesce(string_agg(level || ': ' || line, e'\n' order by id), '') from bellhop.log where job = $1", id)
}

// eventually waits for a condition on the database: a query that gives a bool.
func (b *bed) eventually(reason, query string, args ...any) {
	b.t.Helper()
	pgtest.Eventually(b.t, patience, reason, func() bool {
		b.t.Helper()
		return value[bool](b, query, args...)
	})
}

// result is what a command left behind.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command line on the test's database.
func (b *bed) run(args ...string) result {
	b.t.Helper()
	return b.runIn([]string{"DATABASE_URL=" + b.url}, args...)
}

// runIn runs the command line in an environment of the test's choice.
func (b *bed) runIn(env []string, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = b.dir, append(environment(b.dir), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		b.t.Fatalf("bellhop %q: %v", args, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs a command that must succeed, and gives what it printed.
func (b *bed) ok(args ...string) string {
	b.t.Helper()
	r := b.run(args...)
	if r.code != 0 {
		b.t.Fatalf("bellhop %q: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// environment is what every bellhop of a test is started with.
func environment(tmp string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp, "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0"}
}

// file writes a file of the test's.
func (b *bed) file(name, text string, mode os.FileMode) (path string) {
	b.t.Helper()
	path = filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// script writes an agent in bash and gives its path. It finds the test's
// folder in $DIR.
func (b *bed) script(name, text string) (path string) {
	b.t.Helper()
	return b.file(name, "#!/bin/bash\nDIR="+b.dir+"\n"+text, 0o755)
}

// worker writes a classic agent that does body for each line, in $line.
func (b *bed) worker(name, body string) (path string) {
	b.t.Helper()
	return b.script(name, "echo OK\nwhile IFS= read -r line; do\n"+body+"\necho OK\ndone\n")
}

// lines reads a file that agents append to; no file is no lines.
func (b *bed) lines(name string) []string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// has checks that a text tells all of this.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}
