package store

import (
	"testing"
	"time"
)

// What has not begun in time is over; what runs is looked at again, and so is what somebody has in hand.
func TestDue_Expires(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	expires := func(state string) int64 {
		t.Helper()
		id := e.insert("type, not_after", "'cat', clock_timestamp() + interval '1 h'")
		e.exec(`update bellhop.jobqueue set state = $2, instance = $3, attempt = 1, not_after = clock_timestamp() - interval '1 s'
			where id = $1`, int64(id), state, int64(e.me))
		e.exec("update bellhop.deadline set at = clock_timestamp() where job = $1", int64(id))
		return int64(id)
	}
	is := func(id int64) string {
		t.Helper()
		return e.one("select concat_ws(' ', state, left(error, 8), (select 'looked at again' from bellhop.deadline d where d.job = j.id)) from bellhop.jobqueue j where id = $1", id)
	}
	later := int64(e.insert("type, not_after", "'cat', clock_timestamp() + interval '1 min'"))
	ready, scheduled, running, over := expires("ready"), expires("scheduled"), expires("running"), expires("succeeded")
	hand := expires("ready")
	tx, err := e.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from bellhop.jobqueue where id = $1 for update", hand); err != nil {
		t.Fatal(err)
	}
	if _, next, err := e.maintenance.Due(t.Context()); err != nil || next > time.Second {
		t.Errorf("the next in %s, %v", next, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]string{
		ready: "cancelled expired:", scheduled: "cancelled expired:", running: "running looked at again", over: "succeeded",
		hand: "ready looked at again", later: "ready looked at again",
	} {
		if got := is(id); got != want {
			t.Errorf("job %d is %q, want %q", id, got, want)
		}
	}
	e.exec("update bellhop.deadline set at = clock_timestamp() where job = $1", hand)
	if _, _, err := e.maintenance.Due(t.Context()); err != nil || is(hand) != "cancelled expired:" {
		t.Errorf("when it is let go it is %s, %v", is(hand), err)
	}
	if left := e.one("select string_agg(job::text, ' ' order by job) from bellhop.deadline"); left == "" || is(later) != "ready looked at again" {
		t.Errorf("left are %q", left)
	}
}
