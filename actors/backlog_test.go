package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A child takes no more lines, so that another type gets its slot, while lines
// for it are on their way already: they go back to the queue. If they stayed,
// they would keep the child, and the child them, and the slot would be nobody's.
func TestBacklog_LinesThatComeTooLateDoNotKeepTheSlot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.late = 30 * time.Millisecond // longer than the look at what waits takes
	book := newJournal(t)
	b.start(1, agent{"busy", 0, book}, agent{"other", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'busy', '5ms' from generate_series(1, 100000)")
	for range 2 {
		b.eventually("the slot is busy's", func() bool {
			return b.one("exists (select from bellhop.child where type = 'busy' and state = 'RUNNING')") == "true"
		})
		b.exec("insert into bellhop.jobqueue (type, args) values ('other', '1ms')")
		b.eventually("the other type has had its turn", func() bool {
			return b.one("exists (select from bellhop.jobqueue where type = 'other' and state <> 'succeeded')") == "false"
		})
	}
	b.stop()
}

// Nobody makes room for what may not start: a paused type waits, however
// urgent it is, and others work on in its sight.
func TestBacklog_NoRoomIsMadeForAPausedType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	book := newJournal(t)
	b.start(1, agent{"busy", 0, book}, agent{"other", 0, book}, agent{"third", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'busy', '5ms' from generate_series(1, 400)")
	b.eventually("the slot is busy's", func() bool {
		return b.one("exists (select from bellhop.child where type = 'busy' and state = 'RUNNING')") == "true"
	})
	b.exec("select bellhop.pause('other')")
	b.exec("insert into bellhop.jobqueue (type, args, priority) select 'other', '1ms', -5 from generate_series(1, 3)")
	b.eventually("busy is done", func() bool {
		return b.one("exists (select from bellhop.jobqueue where type = 'busy' and state <> 'succeeded')") == "false"
	})
	if got := b.one("select string_agg(distinct state, ', ') from bellhop.jobqueue where type = 'other'"); got != "ready" {
		t.Errorf("a paused type's jobs are %s", got)
	}
	if most := b.number("select max(fence) from bellhop.jobqueue where type = 'busy'"); most > 20 {
		t.Errorf("a job was claimed %d times until it ran", most)
	}
	b.exec("select bellhop.resume('other')")
	b.eventually("all is done", func() bool {
		return b.one("exists (select from bellhop.jobqueue where state <> 'succeeded')") == "false"
	})
	b.stop()
}

// An exclusive job waits until nothing runs, and then for nothing else: idle
// children that hold every slot go at once, however long min_ready is.
func TestBacklog_AnExclusiveJobGetsTheSlotOfAnIdleChild(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.minReady, b.exclusive = time.Hour, "alone"
	book := newJournal(t)
	b.start(1, agent{"busy", 0, book}, agent{"alone", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) values ('busy', '1ms')")
	b.eventually("busy is done, and idle", func() bool {
		return b.one("not exists (select from bellhop.jobqueue where state <> 'succeeded') and exists (select from bellhop.child where state = 'READY')") == "true"
	})
	b.exec("insert into bellhop.jobqueue (type, args) values ('alone', '1ms')")
	b.eventually("the exclusive one is done", func() bool { return b.count() == "succeeded 2" })
	b.stop()
}

// An urgent job that an app has in hand cannot start: others do not wait for
// it, though room was made for it, and it has its turn when it is let go.
func TestBacklog_ALockedUrgentJobKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	book := newJournal(t)
	b.start(1, agent{"busy", 0, book}, agent{"other", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'busy', '5ms' from generate_series(1, 100000)")
	b.eventually("the slot is busy's", func() bool {
		return b.one("exists (select from bellhop.child where type = 'busy' and state = 'RUNNING')") == "true"
	})
	app, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(context.WithoutCancel(t.Context()))
	var tx pgx.Tx
	for state := ""; state != "ready"; { // it has to be in hand before a child has made room for it
		var job int64
		if err := app.QueryRow(t.Context(), "insert into bellhop.jobqueue (type, args, priority) values ('other', '1ms', -5) returning id").Scan(&job); err != nil {
			t.Fatal(err)
		}
		if tx, err = app.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), "select state from bellhop.jobqueue where id = $1 for update", job).Scan(&state); err != nil {
			t.Fatal(err)
		}
		if state != "ready" {
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.exec("notify bellhop")
	room := b.number("select count(*) from bellhop.jobqueue where type = 'busy' and state = 'succeeded'")
	b.eventually("others go on in the sight of it", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where type = 'busy' and state = 'succeeded'") > room+200
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.eventually("it has its turn", func() bool {
		return b.one("not exists (select from bellhop.jobqueue where type = 'other' and state <> 'succeeded')") == "true"
	})
	b.stop()
}
