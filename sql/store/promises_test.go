package store

import (
	"strings"
	"testing"
	"time"
)

// A promise is in danger if its job expires before it begins, and safe when it does not any more.
func TestPromises_OfAJobThatExpires(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.maintenance.Counts = &Counts{}
	var told []string
	f := NewForecaster(desk(e, NewMetrics), e.maintenance.Counts, func(string, time.Duration) {},
		func(p Promised) { told = append(told, p.What+": "+p.Why) })
	foretell := func(want string) {
		t.Helper()
		told = nil
		if err := f.Foretell(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(told, "; "); said != want && (want == "" || !strings.Contains(said, want)) {
			t.Errorf("it is told %q, not %q", said, want)
		}
	}
	e.exec("delete from bellhop.host")
	e.exec("insert into bellhop.host (instance, name, slots) values ($1, 'a', 9)", int64(e.me))
	holder := e.insert("type, locks, state, fence, instance, started_at, attempt",
		"'cat', '{c:1=exclusive}', 'running', 1, 1, clock_timestamp(), 1")
	e.exec("insert into bellhop.lock_grant (level, name, job, fence, mode) values ('c', '1', $1, 1, 'exclusive')", int64(holder))
	id := e.insert("type, locks, behind, not_after", "'cat', '{c:1=exclusive}', 'c:1', now() + interval '10 min'")
	e.maintenance.Counts.Took.Count("cat", 30*time.Minute)
	e.flush()
	e.exec("select bellhop.promise($1, now() + interval '1 day')", int64(id))
	foretell("in_danger: by the forecast it starts about ")
	why := e.one("select why from bellhop.promise where job = $1", int64(id))
	if !strings.Contains(why, " and expires at ") {
		t.Errorf("the danger is %q", why)
	}
	foretell("")
	e.exec("select bellhop.edit($1, not_after => now() + interval '2 h')", int64(id))
	foretell("safe")
	// One that has begun does not expire; infinity is no end.
	e.exec("update bellhop.jobqueue set not_after = now() - interval '1 s' where id = $1", int64(holder))
	e.exec("update bellhop.jobqueue set not_after = 'infinity' where id = $1", int64(id))
	e.exec("select bellhop.promise($1, now() + interval '1 day')", int64(holder))
	foretell("")
}
