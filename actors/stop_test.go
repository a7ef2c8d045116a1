package actors_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
)

func TestStop_WhatRunsMayFinish(t *testing.T) {
	t.Parallel()
	b, book := setup(t), newJournal(t)
	b.start(4, agent{"solo", 4, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '300ms' from generate_series(1, 40)")
	b.eventually("four run", func() bool { return len(book.read()) >= 4 })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.system.Stop(ctx, patience); err != nil {
		t.Fatal(err)
	}
	b.close()
	book.starts(book.read())
	if n := b.one("select count(*) from bellhop.jobqueue where state not in ('ready', 'succeeded') or attempt <> (state = 'succeeded')::int"); n != "0" {
		t.Errorf("%s jobs are neither done nor untouched: %s", n, b.count())
	}
	if n, _ := strconv.Atoi(b.one("select count(*) from bellhop.jobqueue where state = 'succeeded'")); n < 4 || n == 40 {
		t.Errorf("%d jobs are done: what ran had to be, and nothing new begun", n)
	}
	gone(t, book)
}

func TestStop_WhatRunsIsKilledAndGivenBack(t *testing.T) {
	t.Parallel()
	b, book := setup(t), newJournal(t)
	b.start(4, agent{"solo", 4, book}, agent{"item", 0, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '1h' from generate_series(1, 10)")
	b.exec("insert into bellhop.jobqueue (type, msq, priority) values ('item', 'select g, pg_sleep(0.001) from generate_series(1, 1000000) g', -1)")
	b.eventually("all slots are taken", func() bool {
		return strings.Count(b.one("select string_agg(state, ' ') from bellhop.child"), "RUNNING") == 4
	})
	begun := time.Now()
	b.stop()
	t.Logf("stopped within %s", time.Since(begun))
	if n := b.one("select count(*) from bellhop.jobqueue where state <> 'ready' or attempt <> 0 or instance is not null"); n != "0" {
		t.Errorf("%s jobs are not as they were: %s", n, b.count())
	}
	if n := b.one("select count(*) from bellhop.attempt"); n != "0" {
		t.Errorf("%s attempts are counted", n)
	}
	gone(t, book)
}

// gone checks that no process of a journal is left.
func gone(t *testing.T, book *journal) {
	t.Helper()
	for p := range book.processes() {
		if !p.dead() {
			t.Errorf("process %d is still there after Stop", p.pid)
		}
	}
}

func TestStop_NamesWhoDidNot(t *testing.T) {
	t.Parallel()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	t.Run("ledger", func(t *testing.T) {
		t.Parallel()
		b, book := setup(t), newJournal(t)
		b.start(1, agent{"solo", 1, book})
		b.exec("insert into bellhop.jobqueue (type, args) values ('solo', '10ms')")
		b.eventually("the first job is done", func() bool { return b.count() == "succeeded 1" })
		b.exec("insert into bellhop.jobqueue (type, args) values ('solo', '1h')")
		b.eventually("the second runs", func() bool { return b.count() == "running 1, succeeded 1" })
		// Its outcome cannot be written while somebody holds the row.
		err := pgx.BeginFunc(t.Context(), b.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "select 1 from bellhop.jobqueue where state = 'running' for update"); err != nil {
				return err
			}
			return b.system.Stop(now, 5*time.Second)
		})
		b.close()
		if err == nil || err.Error() != "did not stop in time: ledger" {
			t.Errorf("error is %v", err)
		}
		if state := b.one("select state from bellhop.jobqueue where args = '1h'"); state != "running" && state != "ready" {
			t.Errorf("what could not be written is %s", state)
		}
		gone(t, book)
	})
	t.Run("hosts", func(t *testing.T) {
		t.Parallel()
		b, book := setup(t), newJournal(t)
		b.start(1, agent{"solo", 1, book})
		b.exec("insert into bellhop.jobqueue (type, args) values ('solo', '1h')")
		b.eventually("it runs", func() bool { return len(book.read()) == 1 })
		// A guard that stands still is killed after a while, and its tree with it.
		guard := parentOf(t, book.read()[0].by.pid)
		pgtest.Freeze(t, guard)
		err := b.system.Stop(now, 300*time.Millisecond)
		if err == nil || !strings.HasPrefix(err.Error(), "did not stop in time: hosts") {
			t.Errorf("error is %v", err)
		}
		b.eventually("the process is dead all the same", func() bool { return book.read()[0].by.dead() })
		b.eventually("and nobody counts it any more", func() bool { return b.system.Processes() == 0 })
		b.close()
	})
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, there := guard.ReadStat(pid)
	if !there {
		t.Fatalf("there is no process %d", pid)
	}
	return stat.Parent
}
