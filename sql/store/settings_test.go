package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/sql/dial"
)

// strange are settings that a database, or a login, may have, and under which statements of ours would be cut off, mean
// something else or read otherwise.
var strange = map[string]string{
	"statement_timeout": "1s", "lock_timeout": "1ms", "idle_in_transaction_session_timeout": "7s",
	"idle_session_timeout": "7s", "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
	"search_path": "public", "DateStyle": "German, DMY", "IntervalStyle": "iso_8601", "extra_float_digits": "-10",
	"bytea_output": "escape", "standard_conforming_strings": "off", "jit": "on", "row_security": "off",
	"client_encoding": "LATIN1",
}

func (e *env) estrange() {
	for name, value := range strange {
		e.exec(fmt.Sprintf("do $$ begin execute format('alter database %%I set %s = %%s', current_database(), %s); end $$",
			name, "'"+strings.ReplaceAll(quoted(name, value), "'", "''")+"'"))
	}
}

// quoted is a value as ALTER DATABASE takes it; a list is not one value.
func quoted(name, value string) string {
	if name == "search_path" || name == "DateStyle" {
		return value
	}
	return "'" + value + "'"
}

// The sessions of an instance are the same whatever the database, or its login, has set.
func TestSettings_OfAnInstancesSessions(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.estrange()
	gate := desk(e, NewGate)
	ways := []dial.Way{gate.way}
	for _, c := range []*connection{e.claimer.conn, e.recorder.conn, e.maintenance.conn, e.registry.conn, gate.monitor,
		desk(e, NewMetrics).conn, desk(e, NewSensors).conn, desk(e, NewWatches).conn} {
		ways = append(ways, c.way)
	}
	for _, way := range ways {
		conn, err := way.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		for name := range strange {
			var got, want string
			err := conn.QueryRow(t.Context(), "select current_setting($1), $2::text", name, way.Settings[name]).Scan(&got, &want)
			if err != nil || !sameTime(got, want) {
				t.Errorf("%s: %s is %q, not %q (%v)", way.Name, name, got, want, err)
			}
		}
	}
}

// sameTime: the server writes 900 as 900ms.
func sameTime(got, want string) bool { return got == want || strings.TrimSuffix(got, "ms") == want }

// Text of others finds the settings of its login, but for those that make the form of a value, or end a session that
// rests between two fetches.
func TestSettings_OfQueries(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.estrange()
	conn, err := openGuest(t.Context(), guestWay(e.url, "msq"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for name, want := range map[string]string{
		"idle_session_timeout": "0", "idle_in_transaction_session_timeout": "0", "bytea_output": "hex",
		"IntervalStyle": "postgres", "extra_float_digits": "1", "client_encoding": "UTF8", "DateStyle": "ISO, DMY",
		"search_path": "public", "statement_timeout": "1s", "default_transaction_isolation": "serializable",
	} {
		if got := shown(t, conn, name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

func shown(t *testing.T, conn *pgconn.PgConn, name string) string {
	t.Helper()
	show := "show " + pgx.Identifier{strings.ToLower(name)}.Sanitize()
	res := conn.ExecParams(t.Context(), show, nil, nil, nil, nil).Read()
	if res.Err != nil || len(res.Rows) != 1 {
		t.Fatalf("show %s: %v", name, res.Err)
	}
	return string(res.Rows[0][0])
}
