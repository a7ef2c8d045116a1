package store

import (
	"strings"
	"testing"

	"bellhop/sql/view"
)

// Locks are shown with who has them and who waits, those first for which most wait; and
// running jobs, or items of theirs, that ask for one.
func TestLocks_AreShownWithWhoWaits(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	running := "type, state, fence, instance, started_at, attempt"
	holder := e.insert(running+", locks", "'cat', 'running', 1, 1, clock_timestamp(), 1, '{}'")
	query := e.insert(running+", msq", "'dog', 'running', 1, 1, clock_timestamp(), 1, 'select 1'")
	e.exec(`insert into bellhop.lock_grant (level, name, job, fence, mode) values
		('c', '1', $1, 1, 'exclusive'), ('c', '3', $1, 1, 'exclusive'), ('c', '2', $1, 1, 'shared'), ('c', '2', $2, 1, 'shared')`, int64(holder), int64(query))
	e.exec("insert into bellhop.lock_wait (level, name, job, fence, mode, instance) values ('c', '3', $1, 1, 'exclusive', 1)", int64(query))
	e.exec(`insert into bellhop.jobqueue (type, locks, behind, created_at)
		select 'cat', '{c:1=exclusive}', 'c:1', clock_timestamp() - (1201 - g) * interval '1 minute' from generate_series(1, 1200) g`)
	e.exec("insert into bellhop.jobqueue (type, locks, behind) values ('cat', '{x:a=exclusive}', 'x:a')")
	look := view.NewLook(e.conn)
	e.exec("set role bellhop_reader")
	heads, err := look.LockHeads(t.Context(), 10)
	if err != nil || len(heads) != 4 {
		t.Fatalf("%+v, %v", heads, err)
	}
	if h := heads[0]; h.Name != "1" || h.Job != int64(holder) || h.Waiting != 1000 || *h.Oldest < 72000 || h.Mode != "exclusive" || *h.Held < 0 {
		t.Errorf("%+v", h)
	}
	if h := heads[1]; h.Level != "x" || h.Holders != 0 || h.Job != 0 || h.Waiting != 1 || h.Held != nil {
		t.Errorf("%+v", h)
	}
	if h := heads[2]; h.Name != "2" || h.Holders != 2 || h.Waiting != 0 || h.Oldest != nil {
		t.Errorf("%+v", h)
	}
	rows, err := look.Locks(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, r := range rows {
		text = append(text, r.Level+":"+r.Name+" "+r.What)
		if r.What == "asks" && (r.Job != int64(query) || !r.Item || r.Type != "dog" || r.Instance != 1) {
			t.Errorf("%+v", r)
		}
	}
	const want = "c:1 holds|c:1 waits|c:1 waits|c:1 waits|c:1 waits|c:1 waits|c:2 holds|c:2 holds|c:3 asks|c:3 holds|x:a waits"
	if got := strings.Join(text, "|"); got != want {
		t.Errorf("%s", got)
	}
	e.exec("reset role")
	e.exec("set role bellhop_submitter")
	if heads, err := look.LockHeads(t.Context(), 10); err == nil {
		t.Errorf("a submitter sees %+v", heads)
	}
	e.exec("reset role")
}
