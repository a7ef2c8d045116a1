package migrate_test

import (
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql"
	"bellhop/sql/migrate"
)

// history is the plan as it was when the last migration was that one.
func history(t *testing.T, last string) migrate.Plan {
	t.Helper()
	files := fstest.MapFS{}
	entries, err := sql.Migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := "migrations/" + e.Name()
		if text, err := sql.Migrations.ReadFile(name); err != nil {
			t.Fatal(err)
		} else if e.Name()[:4] <= last {
			files[name] = &fstest.MapFile{Data: text}
		}
	}
	p, err := migrate.New(files, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

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

// TestUpgrade_LetsOthersPass: who waits behind a migration that waits for a transaction gets its turn while that one
// is open still.
func TestUpgrade_LetsOthersPass(t *testing.T) {
	t.Parallel()
	admin, url := setupAt(t, "0019")
	holder, producer := connect(t, url), connect(t, url)
	exec(t, holder, "begin")
	exec(t, holder, "select count(*) from bellhop.jobqueue")
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
