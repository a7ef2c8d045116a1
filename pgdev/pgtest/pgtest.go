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
	name := fmt.Sprintf("bellhop_test_%d_%d", os.Getpid(), databases.Add(1))
	if server := os.Getenv("BELLHOP_TEST_DATABASE_URL"); server != "" {
		address, err := url.Parse(server)
		if err != nil || address.Scheme != "postgres" && address.Scheme != "postgresql" {
			t.Fatalf("BELLHOP_TEST_DATABASE_URL must look like postgres://user:password@host/database: %v", err)
		}
		run(t, server, "CREATE DATABASE "+name+" ENCODING 'UTF8' TEMPLATE template0")
		t.Cleanup(func() { drop(t, server, name) })
		address.Path = "/" + name
		return address.String()
	}
	c := start(t)
	made, err := c.NewDatabase(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { drop(t, c.URL(), name) })
	return made
}

// start gives the shared server, and starts it for the first who asks.
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

// check ends the test when there is no server: skipped where that can be the
// machine's fault and nobody demands better, failed otherwise.
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

func run(t testing.TB, server, statement string) {
	t.Helper()
	if err := execute(server, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// drop throws a test's database away, with whoever is still connected to it. The
// server gives those 5 s to be gone, which is little on a busy machine.
func drop(t testing.TB, server, name string) {
	for deadline := time.Now().Add(time.Minute); ; {
		err := execute(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == "55006" && time.Now().Before(deadline) { // object_in_use
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
