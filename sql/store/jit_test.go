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
	o := openOffice(t)
	o.exec("do $$ begin execute format('alter database %I set jit = on', current_database()); end $$")
	for _, l := range []*link{o.claimer.link, o.recorder.link, o.keeper.link, o.registry.link, desk(o, NewObserver).link} {
		conn, err := pgx.ConnectConfig(t.Context(), l.config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		var jit string
		if err := conn.QueryRow(t.Context(), "show jit").Scan(&jit); err != nil || jit != "off" {
			t.Errorf("jit is %q (%v) for %s", jit, err, l.config.RuntimeParams["application_name"])
		}
	}
}
