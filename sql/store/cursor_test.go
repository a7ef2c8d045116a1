package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

func openCursors(t *testing.T) *Cursors {
	t.Helper()
	c, err := NewCursors(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lines reads all that a query yields, as the lines an agent gets.
func lines(ctx context.Context, c *Cursors, query string, atOnce int) ([]string, error) {
	cur, err := c.Open(ctx, query, atOnce)
	if err != nil {
		return nil, err
	}
	defer cur.Close()
	var list []string
	for {
		rows, err := cur.Next(ctx)
		if err != nil || len(rows) == 0 {
			return list, err
		}
		if len(rows) > atOnce {
			return nil, fmt.Errorf("%d rows at once, not %d", len(rows), atOnce)
		}
		for _, columns := range rows {
			list = append(list, scheduler.Pairs(columns))
		}
	}
}

func TestCursor_TextForms(t *testing.T) {
	t.Parallel()
	c := openCursors(t)
	for query, want := range map[string][]string{
		"select 1 as id, 'a' as name":                           {`id="1" name="a"`},
		"select null::text as a, '' as b, null::int as c":       {`b=""`},
		`select '\x00ff'::bytea as raw`:                         {`raw="\\x00ff"`},
		"select timestamp '2026-03-01 12:00:00.5' as at":        {`at="2026-03-01 12:00:00.5"`},
		"select array[1,2] as a, true as t, 1.50::numeric as n": {`a="{1,2}" t="t" n="1.50"`},
		`select e'one\ntwo\r "three" \\' as t`:                  {`t="one\ntwo\r \"three\" \\"`},
		"select g from generate_series(1, 5) g":                 {`g="1"`, `g="2"`, `g="3"`, `g="4"`, `g="5"`},
		"select 1 as id where false":                            nil,
		"values (1), (2);":                                      {`column1="1"`, `column1="2"`},
		"select 1 as id -- a comment at the end":                {`id="1"`},
		"with t as (select 7 as x) select x from t":             {`x="7"`},
	} {
		got, err := lines(t.Context(), c, query, 2)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", query, got, err, want)
		}
	}
}

// What the database has set for its clients is for others: agents get UTF-8.
func TestCursor_TextIsUTF8(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	latin := "alter database " + conn.Config().Database + " set client_encoding = 'LATIN1'"
	if _, err := conn.Exec(t.Context(), latin); err != nil {
		t.Fatal(err)
	}
	c, err := NewCursors(url)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lines(t.Context(), c, "select 'é' as e, '€' as euro", 2)
	if want := `e="é" euro="€"`; err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestCursor_RefusalsSayWhere(t *testing.T) {
	t.Parallel()
	c := openCursors(t)
	for _, test := range []struct {
		query string
		says  []string
	}{
		{"select id\nfrom nowhere where true", []string{`relation "nowhere" does not exist`, "(SQLSTATE 42P01)", "at character 16:",
			"\n  select id from nowhere where true\n" + strings.Repeat(" ", 2+15) + "^"}},
		{"selec 1", []string{"syntax error", "at character 1:", "\n  selec 1\n  ^"}},
		{"select 'äöü' as x, nope", []string{"at character 20:", "nope\n" + strings.Repeat(" ", 2+19) + "^"}},
		{strings.Repeat(" ", 100) + "select " + strings.Repeat("1, ", 100) + "nope", []string{"nope\n" + strings.Repeat(" ", 2+30) + "^"}},
		{"commit", []string{"SQLSTATE 42601"}},
		{"select 1; commit", []string{"SQLSTATE 42601"}},
		{"insert into t values (1) returning 1", []string{"SQLSTATE 42601"}},
		{"with d as (delete from pg_class returning 1) select * from d", []string{"SQLSTATE"}},
		{"select nextval('s')", []string{"SQLSTATE"}},
		{"select 1/(g-3) as x from generate_series(1, 5) g", []string{"division by zero", "SQLSTATE 22012"}},
		{"select", []string{"no_columns"}},
		{"", []string{"SQLSTATE 42601"}},
		{"select $1", []string{"SQLSTATE"}},
	} {
		_, err := lines(t.Context(), c, test.query, 2)
		if !errors.Is(err, scheduler.ErrQuery) {
			t.Errorf("%q: %v, and not the query's fault", test.query, err)
			continue
		}
		for _, s := range test.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q: %q is not in\n%s", test.query, s, err)
			}
		}
	}
	// A function that writes is refused when it runs: READ ONLY.
	e := openEnv(t)
	own, err := NewCursors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lines(t.Context(), own, "select bellhop.submit('cat')", 10); !errors.Is(err, scheduler.ErrQuery) ||
		!strings.Contains(err.Error(), "25006") {
		t.Errorf("a function that writes: %v", err)
	}
}

func TestCursor_IsOneSnapshotAndEndsWithClose(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("create table work (id int)")
	e.exec("insert into work select generate_series(1, 10)")
	c, err := NewCursors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	cur, err := c.Open(t.Context(), "select id from work order by id", 4)
	if err != nil {
		t.Fatal(err)
	}
	defer cur.Close()
	n := 0
	for {
		rows, err := cur.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		n += len(rows)
		e.exec("insert into work values (100)") // not seen by this round
	}
	if n != 10 {
		t.Errorf("%d rows, want 10", n)
	}

	// A query that never ends: Close ends it in the server too.
	endless, err := c.Open(t.Context(), "select count(*) from generate_series(1, 1000000000000) g", 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := endless.Next(ctx); err == nil || errors.Is(err, scheduler.ErrQuery) {
		t.Errorf("error is %v", err)
	}
	endless.Close()
	pgtest.Eventually(t, 3*time.Minute, "the query goes on in the server", func() bool {
		return e.one("select count(*) from pg_stat_activity where application_name = 'bellhop msq' and query like '%item%' and state = 'active' and datname = current_database()") == "0"
	})
}

// Whoever is killed cancels nothing, and a cancel may come between two statements: the server ends the query all the
// same.
func TestCursor_EndsWithWhoeverReadIt(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	c, err := NewCursors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	cur, err := c.Open(t.Context(), "select pg_sleep(100000)::text as n", 1)
	if err != nil {
		t.Fatal(err)
	}
	at := "select count(*) from pg_stat_activity where application_name = 'bellhop msq' and datname = current_database()"
	go func() { _, _ = cur.Next(context.WithoutCancel(t.Context())) }()
	pgtest.Eventually(t, 3*time.Minute, "the query runs", func() bool {
		return e.one(at+" and wait_event = 'PgSleep'") == "1"
	})
	if err := cur.conn.Conn().Close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 3*time.Minute, "the query is over", func() bool { return e.one(at) == "0" })
}

// A line that broke is not the query's fault: it is run again.
func TestCursor_ALostConnectionIsNotTheQuerysFault(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	c, err := NewCursors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	cur, err := c.Open(t.Context(), "select g from generate_series(1, 1000000) g", 10)
	if err != nil {
		t.Fatal(err)
	}
	defer cur.Close()
	e.drop("msq")
	if _, err := cur.Next(t.Context()); err == nil || errors.Is(err, scheduler.ErrQuery) {
		t.Errorf("error is %v", err)
	}
	away, err := NewCursors("postgres://nobody@127.0.0.1:1/nowhere?connect_timeout=2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := away.Open(t.Context(), "select 1", 1); err == nil || errors.Is(err, scheduler.ErrQuery) {
		t.Errorf("no server: %v", err)
	}
}
