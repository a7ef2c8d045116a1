package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
)

// Standby gives a server that follows primary by streaming, asynchronously and
// read only, until Promote. A crash of the primary is primary.Kill().
func Standby(t testing.TB, primary *pgdev.Cluster) *pgdev.Cluster {
	t.Helper()
	c, err := pgdev.Start(t.Context(), pgdev.Config{StandbyOf: primary})
	check(t, err)
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("stop the test's standby: %v", err)
		}
	})
	return c
}

// Hosts names one database on several servers, in this order, over TCP. Settings
// are further ones of the URL, such as target_session_attrs=any.
func Hosts(t testing.TB, settings string, servers ...*pgdev.Cluster) string {
	t.Helper()
	var hosts []string
	var named *url.URL
	for _, c := range servers {
		u, err := url.Parse(c.TCPURL())
		if err != nil {
			t.Fatal(err)
		}
		hosts, named = append(hosts, u.Host), u
	}
	named.Host, named.RawQuery = strings.Join(hosts, ","), named.RawQuery+"&"+settings
	return strings.TrimSuffix(named.String(), "&")
}

// CaughtUp returns when the standby shows all that the primary has written so far.
func CaughtUp(t testing.TB, primary, standby *pgdev.Cluster) {
	t.Helper()
	written := ask(t, primary, "SELECT pg_current_wal_flush_lsn()::text")
	Eventually(t, time.Minute, "the standby has caught up", func() bool {
		return ask(t, standby, fmt.Sprintf("SELECT (pg_last_wal_replay_lsn() >= '%s')::text", written)) == "true"
	})
}

// StopReceiving cuts a standby off from its primary: what is committed there from
// now on is lost when this one is promoted.
func StopReceiving(t testing.TB, standby *pgdev.Cluster) {
	t.Helper()
	ask(t, standby, "ALTER SYSTEM SET primary_conninfo = ''")
	ask(t, standby, "SELECT pg_reload_conf()::text")
	Eventually(t, time.Minute, "the standby has stopped receiving", func() bool {
		return ask(t, standby, "SELECT count(*)::text FROM pg_stat_wal_receiver") == "0"
	})
}

// Promote makes a standby a primary, and returns when it takes writes.
func Promote(t testing.TB, standby *pgdev.Cluster) {
	t.Helper()
	if ask(t, standby, "SELECT pg_promote(true, 60)::text") != "true" {
		t.Fatal("the standby was not promoted within a minute")
	}
}

// ask gives one value, or "" where the statement has none.
func ask(t testing.TB, server *pgdev.Cluster, statement string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
	}
	if rows.Err() != nil {
		t.Fatalf("%s: %v", statement, rows.Err())
	}
	return value
}
