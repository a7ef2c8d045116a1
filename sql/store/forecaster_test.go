package store

import (
	"testing"
	"time"

	"bellhop/sql/view"
)

// What was foretold of a job that waits is compared with its start, and how far off
// it was is kept; of who is cancelled, deleted, or tried again nothing is known.
func TestForecaster_KnowsHowFarOffItWas(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.maintenance.Counts = &Counts{}
	missed := map[string]time.Duration{}
	miss := func(horizon string, by time.Duration) { missed[horizon] += by }
	f := NewForecaster(desk(e, NewMetrics), e.maintenance.Counts, miss, func(Promised) {})
	foretell := func(want int) {
		t.Helper()
		if err := f.Foretell(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if jobs := f.foretold.Jobs(); len(jobs) != want {
			t.Fatalf("of %v something is foretold, and not of %d", jobs, want)
		}
	}
	e.exec("delete from bellhop.host")
	e.exec("insert into bellhop.host (instance, name, slots) values ($1, 'a', 9)", int64(e.me))
	holder := e.insert("type, locks, state, fence, instance, started_at, attempt",
		"'cat', '{c:1=exclusive}', 'running', 1, 1, clock_timestamp(), 1")
	e.exec("insert into bellhop.lock_grant (level, name, job, fence, mode) values ('c', '1', $1, 1, 'exclusive')", int64(holder))
	e.exec("insert into bellhop.jobqueue (type, locks, behind) select 'cat', '{c:1=exclusive}', 'c:1' from generate_series(1, 4)")
	foretell(0) // nobody knows how long they take
	e.maintenance.Counts.Took.Count("cat", 30*time.Second)
	e.flush()
	foretell(4)
	first := "(select min(id) from bellhop.jobqueue where state = 'ready')"
	e.exec("update bellhop.jobqueue set state = 'running', started_at = clock_timestamp() + interval '40 s', fence = 1, instance = 1 where id = " + first)
	e.exec("delete from bellhop.jobqueue where id = " + first)
	e.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = " + first)
	foretell(1)
	if by := missed["1m"]; len(missed) != 1 || by < 8*time.Second || by > 12*time.Second {
		t.Errorf("%v", missed)
	}
	e.flush()
	s, err := view.NewLook(e.conn).Sketches(t.Context())
	if off := s.Off["1m"]; err != nil || off.N() != 1 {
		t.Errorf("%d are known, %v", off.N(), err)
	}
}
