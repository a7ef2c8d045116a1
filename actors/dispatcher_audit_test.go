package actors_test

import (
	"strconv"
	"strings"
	"testing"
)

// A claim that only the database knows of is lost: no actor works on it. The
// next audit gives it back, and it is no attempt.
func TestAudit_GivesBackAClaimThatOnlyTheDatabaseKnows(t *testing.T) {
	t.Parallel()
	b, book := setup(t), newJournal(t)
	b.start(2, agent{"solo", 2, book})
	b.eventually("it is registered", func() bool { return b.system.ID() != 0 })
	b.exec("insert into bellhop.jobqueue (type, args) values ('solo', '1h')")
	b.eventually("one job runs", func() bool { return len(book.read()) == 1 })
	b.exec(`insert into bellhop.jobqueue (type, args, state, fence, attempt, instance, host, started_at)
	        select 'solo', '1ms', s, 1, 1, $1, 'local', clock_timestamp() from unnest(array['running', 'assigned', 'running']) s`, int64(b.system.ID()))
	if err := b.system.Panic("bell"); err != nil { // any death calls for an audit
		t.Fatal(err)
	}
	b.eventually("they are done", func() bool { return b.count() == "running 1, succeeded 3" })
	// One that is claimed before the dispatcher has heard that it was given back is given back once more.
	if got := b.one("select string_agg(format('%s %s', attempt, fence), ', ') from bellhop.jobqueue where state = 'succeeded' and (attempt <> 1 or fence not in (2, 3))"); got != "" {
		t.Errorf("attempt and fence: %s", got)
	}
	if n := b.one("select count(*) from bellhop.log where level = 'note' and line like 'lost inside the scheduler%'"); n != "3" {
		t.Errorf("%s notes", n)
	}
	if n := len(book.starts(book.read())); n != 4 {
		t.Errorf("%d jobs were begun, want 4", n)
	}
	if strings.Contains(b.log.String(), "stale") {
		t.Error("something was taken for stale")
	}
	b.stop()
}

// However many hosts' children start at once, there are never more of a type
// than its max.
func TestHosts_NeverMoreChildrenThanMax(t *testing.T) {
	t.Parallel()
	b, book := setup(t), newJournal(t)
	b.start(8, agent{"solo", 3, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '20ms' from generate_series(1, 200)")
	most := 0
	b.eventually("all are done", func() bool {
		most = max(most, b.system.Processes())
		return b.count() == "succeeded 200"
	})
	if n := len(book.processes()); most > 3 || n > 3 {
		t.Errorf("%d processes at once, %d in all; max is 3", most, n)
	}
	b.stop()
}

// Cancel reaches the agent that has the job in hand, and nobody else.
func TestCancel_KillsTheOneThatHasTheJob(t *testing.T) {
	t.Parallel()
	b, book := setup(t), newJournal(t)
	b.start(3, agent{"solo", 3, book})
	b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '1h' from generate_series(1, 3)")
	// What an agent has just begun may still say assigned: that is cancelled at once.
	b.eventually("three run", func() bool { return len(book.read()) == 3 && b.count() == "running 3" })
	victim := book.read()[1]
	id, _ := strconv.ParseInt(victim.key, 10, 64)
	b.exec("select bellhop.cancel($1)", id)
	b.eventually("it is cancelled", func() bool { return b.count() == "cancelled 1, running 2" })
	if !victim.by.dead() {
		t.Error("cancelled, and its process lives")
	}
	for _, e := range book.read() {
		if e.by != victim.by && e.by.dead() {
			t.Errorf("process %d died with it", e.by.pid)
		}
	}
	b.stop()
}
