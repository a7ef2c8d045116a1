package store

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// No statement of ours is worth compiling, whatever the planner expects of it
// and the database prefers.
func TestLinks_CompileNothing(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("do $$ begin execute format('alter database %I set jit = on', current_database()); end $$")
	for _, c := range []*connection{e.claimer.conn, e.recorder.conn, e.maintenance.conn, e.registry.conn,
		desk(e, NewMetrics).conn} {
		conn, err := pgx.ConnectConfig(t.Context(), c.config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		var jit string
		if err := conn.QueryRow(t.Context(), "show jit").Scan(&jit); err != nil || jit != "off" {
			t.Errorf("jit is %q (%v) for %s", jit, err, c.config.RuntimeParams["application_name"])
		}
	}
}
