package store

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
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

// However many sensors of others come before it, an instance looks when its own is due.
func TestSensors_NextIsOnesOwnBehindManyOfOthers(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	second := e.register("second", time.Minute)
	e.apply("w", `{"cron":"0 0 1 1 *"}`, `[{"name":"a","type":"cat"}]`)
	e.exec(`insert into bellhop.workflow (name, active, version, definition, changed_by)
		select 'o' || g, true, 1, '{}', 'me' from generate_series(1, 120) g`)
	e.exec(`insert into bellhop.sensor (workflow, kind, next_fire)
		select 'o' || g, 'cron', now() + interval '60 s' from generate_series(1, 120) g`)
	e.exec("update bellhop.workflow set instance = case name when 'w' then $1::bigint else $2 end", int64(e.me), int64(second))
	e.exec("insert into bellhop.run (workflow, version, triggered_by, state) select name, 1, 'me', 'running' from bellhop.workflow")
	next := func(me scheduler.InstanceID, at string, from, to int) {
		t.Helper()
		e.exec(`update bellhop.sensor set next_fire = case $1 when '-infinity' then '-infinity'::timestamptz
			else now() + nullif($1, '-infinity')::interval end where workflow = 'w'`, at)
		got, err := strconv.Atoi(e.one("select bellhop.sensors_next($1)", int64(me)))
		if err != nil || got < from || got > to {
			t.Errorf("own in %s: it looks in %d ms, want %d to %d, %v", at, got, from, to, err)
		}
	}
	next(e.me, "61 s", 50_000, 61_000)
	next(e.me, "65 s", 50_000, 62_000) // when the others are late
	next(second, "61 s", 50_000, 60_000)
	next(second, "10 s", 1_000, 12_000)
	next(second, "-1 s", 1, 1_000)
	next(second, "-5 s", 0, 0)
	next(e.me, "-5 s", 0, 0)
	next(e.me, "-infinity", 0, 0)
	next(second, "-infinity", 1_000, 2_000)
}

// A sensor that has fired as often as it may fires later, for a slot all the same.
func TestSensors_AtMostKeepsToSlots(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", `{"every":"10m","at_most":1,"per":"1h","catch_up":"all"}`, `[{"name":"a","type":"cat"}]`)
	turn(e, s)
	e.exec("insert into bellhop.event (workflow, event, at, run, slot) values ('w', 'x', now() - interval '30 min', 1, now() - interval '30 min')")
	e.exec("update bellhop.sensor set next_fire = next_fire - interval '10 min'")
	first := e.one("select next_fire from bellhop.sensor")
	if n, next := turn(e, s); n != 0 || next < 29*time.Minute || next > 30*time.Minute {
		t.Errorf("%d fired, next in %s", n, next)
	}
	e.exec("update bellhop.event set at = at - interval '31 min'; update bellhop.sensor set next_fire = now() - interval '1 s'")
	if n, _ := turn(e, s); n != 1 {
		t.Errorf("%d fired", n)
	}
	if got := e.one("select slot from bellhop.event where event <> 'x'"); got != first {
		t.Errorf("it fired for %s, want %s", got, first)
	}
}
