package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/pgdev/pgtest"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/triggers"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// plan is what this binary wants a database to be.
func plan(t testing.TB) migrate.Plan {
	t.Helper()
	p, err := migrate.New(sql.Migrations, triggers.Scripts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// setup gives a migrated database of the test's own.
func setup(t testing.TB) (conn *pgx.Conn, url string) {
	t.Helper()
	url = pgtest.URL(t)
	conn = connect(t, url)
	if _, err := plan(t).Run(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	return conn, url
}

func exec(t testing.TB, conn *pgx.Conn, text string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func one[T any](t testing.TB, conn *pgx.Conn, text string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), text, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// refusal gives PostgreSQL's reason for refusing a statement: its code, and the
// constraint if one was broken. Empty: it did not refuse.
func refusal(t testing.TB, conn *pgx.Conn, text string, args ...any) (code, constraint string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), text, args...)
	var refused *pgconn.PgError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("%s: %v", text, err)
	}
	if refused == nil {
		return "", ""
	}
	return refused.Code, refused.ConstraintName
}

var logins atomic.Int64

// login makes a login that has a role, and connects as it.
func login(t testing.TB, admin *pgx.Conn, url, role string) *pgx.Conn {
	t.Helper()
	name := fmt.Sprintf("bellhop_test_login_%d_%d", os.Getpid(), logins.Add(1))
	exec(t, admin, fmt.Sprintf("create role %s login password 'secret' in role %s", name, role))
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), "drop role "+name); err != nil {
			t.Error(err)
		}
	})
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Password = name, "secret"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
