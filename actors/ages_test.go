package actors_test

import (
	"testing"
	"time"

	"bellhop/actors"
	"bellhop/scheduler/lock"
	"bellhop/sql/store"
)

// A job that wants a lock alone waits behind sharers that keep coming. From the moment on at which it ages no other
// starts before it, though the safety scan is far off.
func TestLocks_AnAgedJobIsNotOvertakenBeforeTheScan(t *testing.T) {
	t.Parallel()
	b, book := setup(t), newJournal(t)
	b.scan = time.Hour
	policy := lock.AnyLevel
	policy.Constants.Tick, policy.Constants.AgeingTicks = time.Second, 5
	b.change = func(cfg *actors.Config) {
		cfg.Queue.(queue).Policy = policy
		cfg.Maintenance.(*store.Maintenance).Policy = policy
	}
	b.start(4, agent{"solo", 4, book})
	insert := func(mode, takes string) (id string) {
		t.Helper()
		err := b.conn.QueryRow(t.Context(), `insert into bellhop.jobqueue (type, args, locks)
			values ('solo', $1, array['db:a=' || $2::text]) returning id::text`, takes, mode).Scan(&id)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	holds := insert("shared", "1h")
	b.eventually("a sharer has the lock", func() bool {
		return b.one("select count(*) from bellhop.lock where job = $1::bigint", holds) == "1"
	})
	alone := insert("exclusive", "1ms")
	b.eventually("it has aged", func() bool {
		if b.one("select count(*) from bellhop.jobqueue where args = '2ms' and state <> 'succeeded'") == "0" {
			insert("shared", "2ms")
		}
		return b.one("select count(*) from bellhop.lock_reserved where job = $1::bigint", alone) == "1"
	})
	if b.one("select created_at + interval '5 s' > clock_timestamp() from bellhop.jobqueue"+
		" where id = $1::bigint", alone) != "false" {
		t.Error("it is reserved for before it has aged")
	}
	if n := b.one("select count(*) from bellhop.jobqueue where args = '2ms' and state = 'succeeded'"); n == "0" {
		t.Error("no sharer came before it had aged")
	}
	late := insert("shared", "3ms")
	b.eventually("a sharer waits for it", func() bool {
		return b.one("select waiting_for like 'lock_reserved: %' from bellhop.jobqueue where id = $1::bigint", late) == "true"
	})
	b.exec("select bellhop.cancel($1::bigint, now => true)", holds)
	b.eventually("both have run", func() bool {
		return b.one("select count(*) from bellhop.jobqueue where id in ($1::bigint, $2::bigint) and state = 'succeeded'",
			alone, late) == "2"
	})
	if b.one("select a.ended_at <= l.started_at from bellhop.jobqueue a, bellhop.jobqueue l"+
		" where a.id = $1::bigint and l.id = $2::bigint", alone, late) != "true" {
		t.Error("the late sharer has overtaken it")
	}
	b.stop()
}
