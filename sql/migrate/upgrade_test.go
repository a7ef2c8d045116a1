package migrate_test

import (
	"io/fs"
	"os"
	"path"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/triggers"
)

// history is the plan as it was when the last migration was that one: each migration from 0001 on, and no functions.
// Those that the baseline has taken the place of are in testdata/history.
func history(t *testing.T, last string) migrate.Plan {
	t.Helper()
	files := fstest.MapFS{}
	for folder, from := range map[string]fs.FS{"testdata/history/": os.DirFS("."), "migrations/": sql.Migrations} {
		names, err := fs.Glob(from, folder+"*.sql")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(names), err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(from, name)
			if err != nil {
				t.Fatal(err)
			}
			if base := path.Base(name); base[:4] <= last {
				files["migrations/"+base] = &fstest.MapFile{Data: text}
			}
		}
	}
	p, err := migrate.New(files, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newest is behind all migrations.
const newest = "9999"

// setupAt gives a database of the test's own as that migration left it.
func setupAt(t *testing.T, last string) (admin *pgx.Conn, url string) {
	t.Helper()
	url = pgtest.URL(t)
	admin = connect(t, url)
	if _, err := history(t, last).Run(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	return admin, url
}

// TestUpgrade_LetsOthersPass: a session that waits behind a migration, which waits for a transaction, gets its turn
// while that transaction is still open. A numbered migration waits for one that has written the queue (0050 builds an
// index), a trigger's file for one that has only read it.
func TestUpgrade_LetsOthersPass(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]string{
		"a writer": "insert into bellhop.jobqueue (type) values ('held')",
		"a reader": "select count(*) from bellhop.jobqueue",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			letsOthersPass(t, does)
		})
	}
}

func letsOthersPass(t *testing.T, does string) {
	admin, url := setupAt(t, "0048")
	holder, producer := connect(t, url), connect(t, url)
	exec(t, holder, "begin")
	exec(t, holder, does)
	done := make(chan error, 1)
	go func() {
		_, err := plan(t).Run(t.Context(), admin)
		done <- err
	}()
	waits := "select count(*) from pg_locks where relation = 'bellhop.jobqueue'::regclass and not granted"
	for one[int](t, producer, waits) == 0 {
		exec(t, producer, "select pg_sleep(0.01)")
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	exec(t, producer, "insert into bellhop.jobqueue (type) values ('cat')") // would wait for ever
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	exec(t, holder, "commit")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A function has one list of arguments. An older version's function under the same name goes when the new one comes:
// beside it, each call that leaves arguments out would be ambiguous, and a grant by name would fail.
func TestUpgrade_LeavesOneFunctionOfAName(t *testing.T) {
	t.Parallel()
	admin := connect(t, pgtest.URL(t))
	p, err := migrate.New(sql.Migrations, triggers.Scripts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	exec(t, admin, `do $$
		declare f name;
		begin
		  for f in select proname from pg_proc where pronamespace = 'bellhop'::regnamespace and prorettype <> 'trigger'::regtype loop
		    execute format('create function bellhop.%I(older point) returns void language sql as ''select''', f);
		  end loop;
		end $$`)
	exec(t, admin, "update bellhop.schema_script set checksum = 'older'")
	if _, err := p.Run(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	if older := one[int](t, admin, "select count(*)::int from pg_proc where pronamespace = 'bellhop'::regnamespace and proargnames = '{older}'"); older != 0 {
		t.Errorf("%d functions of an older version are left", older)
	}
	if twice := one[int](t, admin, "select count(*)::int - count(distinct proname)::int from pg_proc where pronamespace = 'bellhop'::regnamespace"); twice != 0 {
		t.Errorf("%d names of functions stand twice", twice)
	}
}
