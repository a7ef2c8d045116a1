// Package moving_test moves jobs of other queues, in their real tables, by the scripts of docs/moving.
package moving_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate/migrated"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// queues is a database with bellhop's queue and, by and by, another one.
type queues struct {
	t      *testing.T
	url    string
	script string // of docs/moving
	pool   *pgxpool.Pool
}

func setup(t *testing.T, script string) *queues {
	t.Helper()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("NOT TESTED: the scripts of docs/moving; type `apt-get install postgresql-client`")
	}
	path, err := filepath.Abs("../../docs/moving/" + script)
	if err != nil {
		t.Fatal(err)
	}
	q := &queues{t: t, url: migrated.URL(t), script: path}
	if q.pool, err = pgxpool.New(t.Context(), q.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.pool.Close)
	return q
}

// sql runs statements.
func (q *queues) sql(statements ...string) {
	q.t.Helper()
	for _, s := range statements {
		if _, err := q.pool.Exec(context.WithoutCancel(q.t.Context()), s); err != nil {
			q.t.Fatalf("%s: %v", s, err)
		}
	}
}

// lines is what a query of one text column gives.
func (q *queues) lines(query string) []string {
	q.t.Helper()
	rows, err := q.pool.Query(q.t.Context(), query)
	if err != nil {
		q.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		q.t.Fatalf("%s: %v", query, err)
	}
	return lines
}

// is compares what a query of one text column gives.
func (q *queues) is(what, query string, want ...string) {
	q.t.Helper()
	if got := q.lines(query); !slices.Equal(got, want) {
		q.t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// try runs the script with settings such as go=move. The result has one blank where a table of psql has several.
func (q *queues) try(settings ...string) (string, error) {
	q.t.Helper()
	args := []string{"-X", "-f", q.script}
	for _, s := range settings {
		args = append(args, "-v", s)
	}
	cmd := exec.CommandContext(q.t.Context(), "psql", append(args, q.url)...)
	out, err := cmd.CombinedOutput()
	words := strings.Builder{}
	for line := range strings.Lines(string(out)) {
		words.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return words.String(), err
}

// run is try of what succeeds and says each of some lines.
func (q *queues) run(settings []string, says ...string) {
	q.t.Helper()
	out, err := q.try(settings...)
	if err != nil {
		q.t.Fatalf("%q: %v\n%s", settings, err, out)
	}
	for _, line := range says {
		if !strings.Contains("\n"+out, "\n"+line+"\n") {
			q.t.Errorf("%q does not say %q:\n%s", settings, line, out)
		}
	}
}

// refused is try of what fails with a text and changes nothing.
func (q *queues) refused(text string, settings ...string) {
	q.t.Helper()
	before := q.lines("select id::text from bellhop.jobqueue j order by j.id")
	out, err := q.try(settings...)
	if err == nil || !strings.Contains(out, text) {
		q.t.Errorf("%q: %v\n%s\nwant %q", settings, err, out, text)
	}
	q.is("bellhop's jobs after a refusal", "select id::text from bellhop.jobqueue j order by j.id", before...)
}

// hold runs f while a transaction has done what the statement says.
func (q *queues) hold(statement string, f func()) {
	q.t.Helper()
	tx, err := q.pool.Begin(q.t.Context())
	if err != nil {
		q.t.Fatal(err)
	}
	if _, err := tx.Exec(q.t.Context(), statement); err != nil {
		q.t.Fatalf("%s: %v", statement, err)
	}
	f()
	if err := tx.Rollback(context.WithoutCancel(q.t.Context())); err != nil {
		q.t.Fatal(err)
	}
}

// moved is what bellhop got, a line a job, in the order in which jobs of one priority start.
const moved = `select concat_ws(' ', j.type, j.state, j.args, 'priority ' || j.priority, 'attempts ' || j.max_attempts, 'key ' || j.key,
	'vars ' || j.vars::text, 'reasons ' || j.reasons::text, 'share ' || j.share, 'timeout ' || j.timeout)
	from bellhop.jobqueue j where j.state <> 'cancelled' order by id`
