package actors_test

import (
	"testing"

	"bellhop/pgdev/pgtest"
)

func (b *env) number(query string) (n int) {
	b.Helper()
	if err := b.conn.QueryRow(b.Context(), query).Scan(&n); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return n
}

// An instance that never runs out of other work gives an exclusive job its
// turn all the same, alone, and goes on.
func TestExclusive_HasItsTurnAmongEndlessWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	book := newJournal(t) // of both: so it tells who was beside whom
	b.exclusive = "alone"
	b.start(4, agent{"other", 0, book}, agent{"alone", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'other', '20ms' from generate_series(1, 3000)")
	pgtest.Eventually(t, patience, "others run", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where type = 'other' and state = 'succeeded'") > 10
	})
	b.exec("insert into bellhop.jobqueue (type, args) values ('alone', '20ms')")
	pgtest.Eventually(t, patience, "the exclusive job is done", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where type = 'alone' and state = 'succeeded'") == 1
	})
	if left := b.number("select count(*) from bellhop.jobqueue where state = 'ready'"); left == 0 {
		t.Error("it was done when there was nothing else to do: that shows nothing")
	}
	pgtest.Eventually(t, patience, "others go on", func() bool {
		return b.number(`select count(*) from bellhop.jobqueue o, bellhop.jobqueue a
			where o.type = 'other' and a.type = 'alone' and o.state = 'succeeded' and o.started_at > a.ended_at`) > 10
	})
	if beside := b.number(`select count(*) from bellhop.jobqueue o, bellhop.jobqueue a where o.type = 'other' and a.type = 'alone'
		and o.state = 'succeeded' and o.started_at < a.ended_at and o.ended_at > a.started_at`); beside > 0 {
		t.Errorf("%d jobs ran beside it", beside)
	}
	b.stop()
}

// One that waits for its turn and is cancelled holds nobody up any more,
// whatever long work it was waiting for.
func TestExclusive_CancelledWhileItWaitsItHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	book := newJournal(t)
	b.exclusive = "alone"
	b.start(4, agent{"other", 0, book}, agent{"alone", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) values ('other', '10m')")
	pgtest.Eventually(t, patience, "a long job runs", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where state = 'running'") == 1
	})
	b.exec("insert into bellhop.jobqueue (type, args) values ('alone', '1ms')")
	pgtest.Eventually(t, patience, "the exclusive one waits, and says so", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where type = 'alone' and waiting_for like 'exclusive: %'") == 1
	})
	b.exec("insert into bellhop.jobqueue (type, args) select 'other', '1ms' from generate_series(1, 5)")
	b.exec("select bellhop.cancel(id) from bellhop.jobqueue where type = 'alone'")
	pgtest.Eventually(t, patience, "the others are done beside the long one", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where type = 'other' and state = 'succeeded'") == 5
	})
	b.exec("select bellhop.cancel(id, true) from bellhop.jobqueue where state = 'running'")
	pgtest.Eventually(t, patience, "the long one has ended", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where state = 'running'") == 0
	})
	b.stop()
}
