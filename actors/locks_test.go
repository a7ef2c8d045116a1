package actors_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// A job waits for a lock that another one holds; who sees to that dies. The request is
// not lost: it is granted when the lock is given back.
func TestLocks_ARequestOutlivesItsActor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	book := newJournal(t)
	b.start(2, agent{"solo", 2, book})
	defer b.stop()
	b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '10m' from generate_series(1, 2)")
	pgtest.Eventually(t, patience, "both run", func() bool {
		return b.number("select count(*) from bellhop.jobqueue where state = 'running' and started_at is not null") == 2
	})
	answers := make(chan scheduler.LockAnswer, 10)
	ask := func(job int64, a scheduler.LockAsk) {
		a.Claim = scheduler.Claim{Job: scheduler.JobID(job), Fence: 1}
		b.system.Ask(a, func(a scheduler.LockAnswer) { answers <- a })
	}
	ask(1, scheduler.LockAsk{Locks: []string{"db:a=exclusive"}})
	if got := <-answers; !slices.Equal(got.Granted, []string{"db:a=exclusive"}) {
		t.Fatalf("the first gets %+v", got)
	}
	ask(2, scheduler.LockAsk{Locks: []string{"db:a=shared"}})
	b.eventually("the second waits", func() bool {
		why := b.one("select waiting_for from bellhop.jobqueue where id = 2 and state = 'assigned'")
		return strings.HasPrefix(why, "lock_held: ")
	})
	if err := b.system.Panic("locks"); err != nil {
		t.Fatal(err)
	}
	b.eventually("it has panicked", func() bool { return strings.Contains(b.log.String(), "actor panicked") })
	ask(1, scheduler.LockAsk{Unlock: []string{"db:a"}})
	var got []scheduler.LockAnswer
	got = append(got, <-answers, <-answers)
	for _, want := range []scheduler.LockAnswer{{Unlocked: []string{"db:a"}}, {Granted: []string{"db:a=shared"}}} {
		if !slices.ContainsFunc(got, func(a scheduler.LockAnswer) bool { return reflect.DeepEqual(a, want) }) {
			t.Errorf("the answers are %+v, without %+v", got, want)
		}
	}
}
