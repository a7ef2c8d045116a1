package store

import (
	"context"
	"testing"
)

// What is recorded is on the disk when the write returns, whatever the database has set. So are takeovers and the work
// on engines: a crash must not undo what others have been told. Claims alone do not wait.
func TestSettings_WhatWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$")
	for _, c := range []struct {
		conn *connection
		want string
	}{{e.recorder.conn, "on"}, {e.registry.conn, "on"}, {e.maintenance.conn, "on"}, {e.claimer.conn, "off"}} {
		conn, err := c.conn.way.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, conn.PgConn(), "synchronous_commit"); got != c.want {
			t.Errorf("%s: synchronous_commit is %s, want %s", c.conn.way.Name, got, c.want)
		}
		_ = conn.Close(context.Background())
	}
}
