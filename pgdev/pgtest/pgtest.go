// Package pgtest gives tests a real PostgreSQL: one server for the whole test
// process, started when the first test asks, and a fresh database for each.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
//
// BELLHOP_TEST_DATABASE_URL names a server to use instead of starting one; its
// user must be allowed to create databases. Without PostgreSQL the tests are
// skipped, and say so; with CI=true or BELLHOP_NO_SKIP=1 they fail instead.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/pgdev"
)

// shared is the server of this test process.
var shared struct {
	sync.Mutex
	started bool
	cluster *pgdev.Cluster
	err     error
}

var databases atomic.Int64

// Main runs the tests and then stops and removes the shared server, whatever
// became of them; the result is for os.Exit. Even a test binary that has no
// TestMain, or is killed, leaves no server behind: its watcher sees to that.
func Main(m *testing.M) int {
	code := m.Run()
	if server := os.Getenv("BELLHOP_TEST_DATABASE_URL"); server != "" {
		models.Range(func(_, made any) bool {
			if err := execute(server, "DROP DATABASE IF EXISTS "+made.(*model).name+" WITH (FORCE)"); err != nil {
				fmt.Fprintln(os.Stderr, "drop what tests got copies of:", err)
				code = max(code, 1)
			}
			return true
		})
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return code
	}
	if err := shared.cluster.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the tests' PostgreSQL:", err)
		code = max(code, 1)
	}
	return code
}

// URL gives a fresh, empty database, dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	return fresh(t, "template0")
}

// model is a database that others are copies of.
type model struct {
	once sync.Once
	name string
	err  error
}

var models sync.Map // by name

// Copy gives a database of the test's own, dropped when the test ends: a copy of the model of that name, which
// build makes of an empty one, once for the whole test process. build has to close all its connections to it.
func Copy(t testing.TB, name string, build func(ctx context.Context, url string) error) string {
	t.Helper()
	made, _ := models.LoadOrStore(name, &model{name: fmt.Sprintf("bellhop_model_%d_%s", os.Getpid(), name)})
	m := made.(*model)
	m.once.Do(func() {
		m.err = errors.New("it was not made: see the first test that failed")
		url, _ := create(t, m.name, "template0")
		m.err = build(context.WithoutCancel(t.Context()), url) // it outlives the test
	})
	if m.err != nil {
		t.Fatalf("make the database that tests get copies of: %v", m.err)
	}
	return fresh(t, m.name)
}

// fresh gives a database of the test's own, a copy of another.
func fresh(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("bellhop_test_%d_%d", os.Getpid(), databases.Add(1))
	url, server := create(t, name, template)
	t.Cleanup(func() { drop(t, server, name) })
	return url
}

// create makes a database, and gives its address and one on whose server it is. The server gives sessions that
// still leave the template 5 s, which is little on a busy machine.
func create(t testing.TB, name, template string) (address, server string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		address, server, err := tryCreate(t, name, template)
		if err == nil {
			return address, server
		} else if !inUse(err) || time.Now().After(deadline) {
			t.Fatalf("make database %s: %v", name, err)
		}
	}
}

func tryCreate(t testing.TB, name, template string) (address, server string, err error) {
	t.Helper()
	if server := os.Getenv("BELLHOP_TEST_DATABASE_URL"); server != "" {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			t.Fatalf("BELLHOP_TEST_DATABASE_URL must look like postgres://user:password@host/database: %v", err)
		}
		u.Path = "/" + name
		return u.String(), server, execute(server, "CREATE DATABASE "+name+" ENCODING 'UTF8' TEMPLATE "+template)
	}
	c := start(t)
	address, err = c.NewDatabase(t.Context(), name, template)
	return address, c.URL(), err
}

// inUse: a session that should not be there is connected to a database.
func inUse(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "55006"
}

// start gives the shared server; the first call starts it.
func start(t testing.TB) *pgdev.Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.started {
		shared.started = true
		// not the test's context: the server outlives it
		shared.cluster, shared.err = pgdev.Start(context.Background(), pgdev.Config{})
	}
	check(t, shared.err)
	return shared.cluster
}

// Cluster gives a server of the test's own, which it may restart or kill; it
// is removed when the test ends. It takes about a second to make.
func Cluster(t testing.TB) *pgdev.Cluster {
	t.Helper()
	c, err := pgdev.Start(t.Context(), pgdev.Config{})
	check(t, err)
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("stop the test's PostgreSQL: %v", err)
		}
	})
	return c
}

// check ends the test when there is no server: skipped if that can be the machine's fault and a server is not
// demanded, failed otherwise.
func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, pgdev.ErrNotFound) && !demanded():
		text := fmt.Sprintf("NOT TESTED, this test needs PostgreSQL: %v\nor type `scripts/need-postgres`", err)
		fmt.Fprintf(os.Stderr, "%s: %s\n", t.Name(), text) // shown without -v where Skip is not
		t.Skip(text)
	default:
		t.Fatalf("this test needs PostgreSQL: %v", err)
	}
}

func demanded() bool {
	ci, _ := strconv.ParseBool(os.Getenv("CI")) // anything else is no
	return ci || os.Getenv("BELLHOP_NO_SKIP") == "1"
}

// drop throws a test's database away, with its remaining sessions. The server gives those 5 s to be gone, which is
// little on a busy machine.
func drop(t testing.TB, server, name string) {
	for deadline := time.Now().Add(time.Minute); ; {
		err := execute(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		if inUse(err) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
		return
	}
}

// execute is used in cleanups too, where the test's context has ended.
func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}
