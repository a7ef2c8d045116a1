package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

func openAsker(t *testing.T) *Asker {
	t.Helper()
	a, err := NewAsker(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// ask gives what a statement yields, as the lines an agent gets.
func ask(t *testing.T, a *Asker, statement string) (list []string, err error) {
	t.Helper()
	err = a.Ask(t.Context(), statement, func(columns []scheduler.Column) error {
		list = append(list, scheduler.Pairs(columns))
		return nil
	})
	return list, err
}

func TestAsker_OneSessionAndItsRows(t *testing.T) {
	t.Parallel()
	a := openAsker(t)
	for _, step := range []struct {
		statement string
		want      []string
		says      string
	}{
		{"create table t (id int primary key, name text);", nil, ""},
		{"insert into t values (1, e'a\\nb'), (2, null)", nil, ""},
		{"select * from t order by id ; ", []string{`id="1" name="a\nb"`, `id="2"`}, ""},
		{"insert into t values (1, 'x')", nil, "db_error: duplicate key"},
		{"select 1; select 2", nil, "db_error: cannot insert multiple commands"},
		{"selec", nil, "SQLSTATE 42601"},
		{"insert into t values (3, 'c') returning id", []string{`id="3"`}, ""},
		{"set application_name = 'mine'", nil, ""},
		{"select current_setting('application_name') as a", []string{`a="mine"`}, ""},
	} {
		got, err := ask(t, a, step.statement)
		if !slices.Equal(got, step.want) || (err == nil) != (step.says == "") ||
			err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("%s: %q, %v; want %q %s", step.statement, got, err, step.want, step.says)
		}
	}
}

// What is cut off, by time or by who reads, ends on the server too, and the
// next statement finds a connection.
func TestAsker_CutOff(t *testing.T) {
	t.Parallel()
	a := openAsker(t)
	watch := openAsker(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.Ask(ctx, "select pg_sleep(1000)", nil); err == nil {
		t.Error("it slept through its deadline")
	}
	enough := errors.New("enough")
	n := 0
	if err := a.Ask(t.Context(), "select g, repeat('x', 1000) from generate_series(1, 100000000) g", func([]scheduler.Column) error {
		if n++; n == 10 {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) || n != 10 {
		t.Errorf("%v after %d rows", err, n)
	}
	pgtest.Eventually(t, 20*time.Second, "nothing of it is at work", func() bool {
		rows, err := ask(t, watch, `select pid from pg_stat_activity where application_name = 'bellhop agent' and datname = current_database()
			and state = 'active' and pid <> pg_backend_pid()`)
		return err == nil && len(rows) == 0
	})
	if got, err := ask(t, a, "select 1 as one"); err != nil || !slices.Equal(got, []string{`one="1"`}) {
		t.Errorf("%q, %v", got, err)
	}
}
