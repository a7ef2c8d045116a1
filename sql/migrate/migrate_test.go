package migrate_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate"
)

func TestMigrate_ASecondTimeIsANoOp(t *testing.T) {
	t.Parallel()
	conn, _ := setup(t)
	before := everything(t, conn)
	steps, err := plan(t).Run(t.Context(), conn)
	if err != nil || len(steps) > 0 {
		t.Errorf("the second time: %v, %v", steps, err)
	}
	if everything(t, conn) != before {
		t.Error("the second time changed the schema")
	}
	if err := plan(t).Check(t.Context(), conn); err != nil {
		t.Error(err)
	}
}

func TestMigrate_ManyAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p := plan(t)
	const processes = 6
	done := make([]int, processes)
	var all sync.WaitGroup
	for i := range processes {
		conn := connect(t, url)
		all.Go(func() {
			steps, err := p.Run(t.Context(), conn)
			if err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			done[i] = len(steps)
		})
	}
	all.Wait()
	slices.Sort(done)
	conn := connect(t, url)
	versions := p.Version() - 47 // the baseline is 48, and one step
	if last := done[processes-1]; done[processes-2] != 0 || last <= versions {
		t.Errorf("steps done by each: %v", done)
	}
	if n := one[int](t, conn, "select count(*) from bellhop.schema_version where version between 48 and $1", p.Version()); n != versions {
		t.Errorf("%d versions recorded, want %d", n, versions)
	}
}

// Whoever looks at the schema while others make it waits, and then finds it there.
func TestMigrate_WhoLooksMeanwhileWaits(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	gate := connect(t, url) // the second step waits for it
	exec(t, gate, "select pg_advisory_lock(4711)")
	slow := two(t, "select pg_advisory_xact_lock(4711)", "select 1")
	migrating, looking := connect(t, url), connect(t, url)
	ran := make(chan error, 1)
	go func() {
		_, err := slow.Run(t.Context(), migrating)
		ran <- err
	}()
	for !one[bool](t, gate, "select exists (select from pg_locks where locktype = 'advisory' and not granted and objid = 4711)") {
		time.Sleep(time.Millisecond)
	}
	if err := slow.Check(t.Context(), looking); !errors.Is(err, migrate.ErrTooOld) || errors.Is(err, migrate.ErrEmpty) {
		t.Errorf("in the middle: %v", err)
	}
	told, looked := make(chan struct{}), make(chan error, 1)
	go func() { looked <- migrate.WaitForOthers(t.Context(), looking, func() { close(told) }) }()
	<-told
	exec(t, gate, "select pg_advisory_unlock(4711)")
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	if err := slow.Check(t.Context(), looking); err != nil {
		t.Error(err)
	}
	if err := migrate.WaitForOthers(t.Context(), looking, func() { t.Error("there is nobody any more") }); err != nil {
		t.Error(err)
	}
	if n := one[int](t, gate, "select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

func TestMigrate_SaysWhatTheDatabaseIs(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.URL(t))
	p := plan(t)
	if err := p.Check(t.Context(), conn); !errors.Is(err, migrate.ErrEmpty) || !errors.Is(err, migrate.ErrTooOld) {
		t.Errorf("empty: %v", err)
	}
	steps, err := p.Pending(t.Context(), conn)
	if err != nil || steps[0].Name != "0048_baseline" || steps[0].Version != 48 || steps[1].Version != 49 ||
		steps[len(steps)-1].Version != 0 || steps[p.Version()-48].Version != p.Version() {
		t.Errorf("pending in an empty database: %d steps, %v", len(steps), err)
	}
	exec(t, conn, "create schema bellhop") // a schema, and nothing in it
	if err := p.Check(t.Context(), conn); !errors.Is(err, migrate.ErrEmpty) {
		t.Errorf("a schema without tables: %v", err)
	}
	if _, err := p.Run(t.Context(), conn); err != nil {
		t.Fatal(err)
	}

	exec(t, conn, "delete from bellhop.schema_version where version = $1", p.Version())
	err = p.Check(t.Context(), conn)
	if !errors.Is(err, migrate.ErrTooOld) || errors.Is(err, migrate.ErrEmpty) || !strings.Contains(err.Error(), "bellhop migrate") {
		t.Errorf("older: %v", err)
	}

	exec(t, conn, "insert into bellhop.schema_version (version, name) values (9999, 'from the future')")
	if err := p.Check(t.Context(), conn); !errors.Is(err, migrate.ErrTooNew) {
		t.Errorf("newer: %v", err)
	}
	if _, err := p.Run(t.Context(), conn); !errors.Is(err, migrate.ErrTooNew) {
		t.Errorf("migrating a newer one: %v", err)
	}
}

// two is a plan of a test's own, with a second file as given.
func two(t *testing.T, second, script string) migrate.Plan {
	t.Helper()
	p, err := migrate.New(fstest.MapFS{
		"migrations/0001_first.sql":  {Data: []byte("create table bellhop.first (id int);")},
		"migrations/0002_second.sql": {Data: []byte(second)},
	}, fstest.MapFS{"script.sql": {Data: []byte(script)}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMigrate_AFailureLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	conn := connect(t, url)
	const script = "create or replace function bellhop.f() returns int language sql as 'select 1';"
	steps, err := two(t, "create table bellhop.second (id int); select 1/0; create table bellhop.third (id int);",
		script).Run(t.Context(), conn)
	if err == nil || !strings.Contains(err.Error(), "migration 0002_second.sql") ||
		!strings.Contains(err.Error(), "division by zero") {
		t.Errorf("error is %v", err)
	}
	if len(steps) != 1 || steps[0].Name != "0001_first.sql" {
		t.Errorf("done: %v", steps)
	}
	got := one[string](t, conn, "select string_agg(relname, ' ' order by relname) from pg_class where relnamespace = 'bellhop'::regnamespace and relkind = 'r'")
	if got != "first schema_script schema_version" {
		t.Errorf("tables: %s", got)
	}
	// Nobody is locked out: another process mends it.
	mended := two(t, "create table bellhop.second (id int);", script)
	steps, err = mended.Run(t.Context(), connect(t, url))
	if err != nil || len(steps) != 2 {
		t.Errorf("mended: %v, %v", steps, err)
	}
	// A script is put in place again when its text changes, and only then.
	changed := two(t, "create table bellhop.second (id int);", strings.Replace(script, "select 1", "select 2", 1))
	steps, err = changed.Run(t.Context(), conn)
	if err != nil || len(steps) != 1 || steps[0].Version != 0 || one[int](t, conn, "select bellhop.f()") != 2 {
		t.Errorf("changed script: %v, %v", steps, err)
	}
}

func TestNew_WantsNumbersWithoutGaps(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"0002_a.sql", "a.sql", "0000_a.sql", "1x_a.sql", "0049_a.sql"} {
		_, err := migrate.New(fstest.MapFS{"migrations/" + name: {}}, fstest.MapFS{})
		if err == nil || !strings.Contains(err.Error(), "want number 0001") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"0001_a.sql", "0048_a.sql", "0050_a.sql"} {
		_, err := migrate.New(fstest.MapFS{"baseline/a.sql": {}, "migrations/" + name: {}}, fstest.MapFS{})
		if err == nil || !strings.Contains(err.Error(), "want number 0049") {
			t.Errorf("%s after a baseline: %v", name, err)
		}
	}
}
