package store

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// An instance that stops amid the giving of workflows to instances keeps nobody from what is his.
func TestSensors_FireWhileAnotherGivesThemAway(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", `{"cron":"0 0 1 1 *"}`, `[{"name":"a","type":"cat"}]`)
	turn(e, s)
	e.owners("1")
	e.apply("v", `{"cron":"0 0 1 1 *"}`, `[{"name":"a","type":"cat"}]`) // nobody's yet
	release := e.holding("select pg_advisory_xact_lock(7090192401229115395)")
	e.exec("update bellhop.sensor set next_fire = now() where workflow = 'w'")
	if n, _ := turn(e, s); n != 1 {
		t.Errorf("%d fired", n)
	}
	release()
	turn(e, s)
	e.owners("2")
}

// Who says nothing amid a transaction loses it, and the locks that it has.
func TestConnection_NobodyIsSilentAmidATransaction(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	err := s.conn.use(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "begin; select pg_advisory_xact_lock(4711)"); err != nil {
			return err
		}
		for began := time.Now(); e.one("select pg_try_advisory_lock(4711)") != "true"; {
			if time.Sleep(100 * time.Millisecond); time.Since(began) > 12*time.Second {
				t.Fatal("it still has its lock")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
