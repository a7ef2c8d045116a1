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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
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
	if len(os.Args) > 3 && os.Args[1] == "teller" {
		os.Exit(beTeller(os.Args[2], os.Args[3], os.Args[4:]))
	}
	if len(os.Args) > 4 && os.Args[1] == "app" {
		os.Exit(beApp(os.Args[2], os.Args[3], os.Args[4]))
	}
	flag.Parse()
	if given := flag.Lookup("test.parallel"); given.Value.String() == given.DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce()))
	}
	os.Exit(buildAndRun(m))
}

// atOnce is how many tests run at the same time: more than there are processors, since most of what they do is to wait
// for other processes. Where to start one takes several times as long as elsewhere, fewer: else what waits for an
// answer of a loaded machine waits in vain.
func atOnce() int {
	const tries, slow = 20, 5 * time.Millisecond
	began := time.Now()
	for range tries {
		_ = exec.Command("true").Run()
	}
	if time.Since(began)/tries > slow {
		return 4
	}
	return 8
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

// env is a database of the test's own and what runs on it.
type env struct {
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
func setup(t *testing.T) *env {
	t.Helper()
	return on(t, migrated.URL(t))
}

// on looks at a database as it is.
func on(t *testing.T, url string) *env {
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
	return &env{t: t, url: url, dir: pgtest.Dir(t), pool: pool}
}

// sql runs one statement, and gives how many rows it changed.
func (e *env) sql(text string, args ...any) int {
	e.t.Helper()
	tag, err := e.pool.Exec(e.t.Context(), text, args...)
	if err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
	return int(tag.RowsAffected())
}

// value reads one value.
func value[T any](e *env, text string, args ...any) (v T) {
	e.t.Helper()
	if err := e.pool.QueryRow(e.t.Context(), text, args...).Scan(&v); err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
	return v
}

// column reads one column.
func column[T any](e *env, text string, args ...any) []T {
	e.t.Helper()
	rows, err := e.pool.Query(e.t.Context(), text, args...)
	if err == nil {
		var list []T
		if list, err = pgx.CollectRows(rows, pgx.RowTo[T]); err == nil {
			return list
		}
	}
	e.t.Fatalf("%s: %v", text, err)
	return nil
}

// insert submits a job by a plain INSERT: columns "type, args" and their values.
func (e *env) insert(columns string, values ...any) int64 {
	e.t.Helper()
	var places []string
	for i := range values {
		places = append(places, fmt.Sprintf("$%d", i+1))
	}
	return value[int64](e, "insert into bellhop.jobqueue ("+columns+") values ("+strings.Join(places, ", ")+") returning id", values...)
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

func (e *env) job(id int64) (j job) {
	e.t.Helper()
	if err := e.pool.QueryRow(e.t.Context(), `select state, attempt, fence, coalesce(instance, 0), coalesce(exit_code, -1), coalesce(error, ''), coalesce(waiting_for, ''),
		coalesce(items_total, -1), coalesce(items_done, -1), coalesce(items_failed, -1) from bellhop.jobqueue where id = $1`, id).
		Scan(&j.State, &j.Attempt, &j.Fence, &j.Instance, &j.ExitCode, &j.Error, &j.WaitingFor, &j.Total, &j.Done,
			&j.Failed); err != nil {
		e.t.Fatalf("job %d: %v", id, err)
	}
	return j
}

func (e *env) state(id int64) string {
	e.t.Helper()
	return e.job(id).State
}

func final(state string) bool {
	return state == "succeeded" || state == "failed" || state == "cancelled" || state == "quarantined"
}

// waitState waits until the job is in that state, and gives its row. It does
// not wait any longer once the job is over in another way.
func (e *env) waitState(id int64, want string) (j job) {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, fmt.Sprintf("job %d is %s", id, want), func() bool {
		e.t.Helper()
		j = e.job(id)
		if j.State != want && final(j.State) {
			e.t.Fatalf("job %d should be %s: %+v", id, want, j)
		}
		return j.State == want
	})
	return j
}

// waitAll waits until no job is left that is not over, and checks how many
// ended in which way: "succeeded 10, failed 1".
func (e *env) waitAll(want string) {
	e.t.Helper()
	defer func() {
		if e.t.Failed() {
			e.t.Logf("not over: %v", column[string](e, "select j::text from bellhop.jobqueue j where state not in ('succeeded', 'failed', 'cancelled', 'quarantined') limit 5"))
		}
	}()
	pgtest.Eventually(e.t, patience, "every job is over", func() bool {
		return value[int](e, "select count(*) from bellhop.jobqueue where state not in ('succeeded', 'failed', 'cancelled', 'quarantined')") == 0
	})
	got := value[string](e, `select coalesce(string_agg(state || ' ' || n, ', ' order by n desc, state), '')
		from (select state, count(*) n from bellhop.jobqueue group by state) s`)
	if got != want {
		e.t.Errorf("jobs ended %q, want %q", got, want)
	}
}

// logged gives what is kept in bellhop.log of a job, one line each.
func (e *env) logged(id int64) string {
	e.t.Helper()
	return value[string](e, "select coalesce(string_agg(level || ': ' || line, e'\n' order by id), '') from bellhop.log where job = $1", id)
}

// eventually waits for a condition on the database: a query that gives a bool.
func (e *env) eventually(reason, query string, args ...any) {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, reason, func() bool {
		e.t.Helper()
		return value[bool](e, query, args...)
	})
}

// result is what a command left behind.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command line on the test's database.
func (e *env) run(args ...string) result {
	e.t.Helper()
	return e.runIn([]string{"DATABASE_URL=" + e.url}, args...)
}

// runIn runs the command line in an environment of the test's choice.
func (e *env) runIn(env []string, args ...string) result {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = e.dir, append(environment(e.dir), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		e.t.Fatalf("bellhop %q: %v", args, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs a command that must succeed, and gives what it printed.
func (e *env) ok(args ...string) string {
	e.t.Helper()
	r := e.run(args...)
	if r.code != 0 {
		e.t.Fatalf("bellhop %q: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// environment is what every bellhop of a test is started with.
func environment(tmp string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + tmp,
		"TMPDIR=" + tmp,
		"LANG=C.UTF-8",
		"GORACE=atexit_sleep_ms=0",
		"PGCONNECT_TIMEOUT=30", // a busy machine must not make a server look away
	}
}

// file writes a file of the test's.
func (e *env) file(name, text string, mode os.FileMode) (path string) {
	e.t.Helper()
	path = filepath.Join(e.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		e.t.Fatal(err)
	}
	return path
}

// script writes an agent in bash and gives its path. It finds the test's
// folder in $DIR.
func (e *env) script(name, text string) (path string) {
	e.t.Helper()
	return e.file(name, "#!/bin/bash\nDIR="+e.dir+"\n"+text, 0o755)
}

// worker writes a classic agent that does body for each line, in $line.
func (e *env) worker(name, body string) (path string) {
	e.t.Helper()
	return e.script(name, "echo OK\nwhile IFS= read -r line; do\n"+body+"\necho OK\ndone\n")
}

// lines reads a file that agents append to; no file is no lines.
func (e *env) lines(name string) []string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.t.Fatal(err)
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
