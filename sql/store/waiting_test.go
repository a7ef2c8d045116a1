package store

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
)

// What SQL and Go say of a name in run_on is the same: the one tells why a job
// waits, the other where it runs.
func TestAnswers_SQLAndGoAgree(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	signs := []rune(`ab*?%_\.`)
	word := func(n int) string {
		text := make([]rune, rand.IntN(n))
		for i := range text {
			text[i] = signs[rand.IntN(len(signs))]
		}
		return string(text)
	}
	var patterns, keys []string
	for range 2000 {
		patterns, keys = append(patterns, word(6)), append(keys, word(6))
	}
	rows, err := e.conn.Query(t.Context(), `select bellhop.answers('host', array[p], k) from unnest($1::text[], $2::text[]) with ordinality x (p, k, n) order by n`, patterns, keys)
	if err != nil {
		t.Fatal(err)
	}
	yes := 0
	for i := 0; rows.Next(); i++ {
		var sql bool
		if err := rows.Scan(&sql); err != nil {
			t.Fatal(err)
		}
		if sql {
			yes++
		}
		if want := (scheduler.Locality{Host: "host", Serves: []string{patterns[i]}}).Covers(keys[i]); sql != want {
			t.Errorf("pattern %q, name %q: SQL says %t, Go %t", patterns[i], keys[i], sql, want)
		}
	}
	if rows.Err() != nil || yes < 20 {
		t.Errorf("%d of 2000 fit: %v", yes, rows.Err())
	}
}

// hits publishes which bound a type has hit on the first instance's host.
func (e *env) hits(slots scheduler.Slots, hit string, typ scheduler.TypeName) {
	e.Helper()
	told := scheduler.BoundsOf("local", slots)
	told.Note(typ, hit)
	if err := e.registry.Children(e.Context(), e.me, nil, scheduler.AllBounds{"local": told}, time.Now()); err != nil {
		e.Fatal(err)
	}
}

func TestWhyWaiting_EveryReason(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	why := func(want, args string) {
		t.Helper()
		if got := e.one("select bellhop.why_waiting(" + args + ")"); got != want {
			t.Errorf("why_waiting(%s) is %q, want %q", args, got, want)
		}
	}
	e.exec("update bellhop.host set serves = '{disk:*}'")
	why("", "'cat'")
	why("", "'cat', 'local'")
	why("", "'cat', 'disk:4'")
	why("unknown_type", "'catt'")
	why("no_host: mars", "'cat', 'mars'")
	if err := e.maintenance.publish(t.Context(), e.me,
		map[string]Located{"17": {Hosts: []scheduler.HostName{"local", "x"}},
			"18": {Error: "the query gives no host"}}); err != nil {
		t.Fatal(err)
	}
	why("", "'cat', '17'")
	why("no_host: 18 (locate: the query gives no host)", "'cat', '18'")

	full := scheduler.Slots{All: 4, Taken: 4}
	e.hits(full, "", "cat")
	why("", "'cat'")
	e.hits(full, scheduler.Bounds{}.Hit("cat", "local", full, ""), "cat")
	why("no_room", "'cat'")
	why("no_room", "'cat', 'disk:4'")
	free := scheduler.Slots{All: 4}
	for hit, want := range map[string]string{
		scheduler.Bounds{Max: 1, Part: 1, All: 1, Respawn: 1}.Hit("cat", "local", free, ""): "no_room",
		scheduler.Bounds{PerHost: 1, Live: 1, Respawn: 1}.Hit("cat", "local", free, ""):     "no_room",
		scheduler.Bounds{Live: 1}.Hit("cat", "local", free, ""):                             "child_starting",
		scheduler.Bounds{InARow: 2}.Hit("cat", "local", free, "no such file: a"):            "agent_fails: local: 2 deaths in a row: no such file: a",
		scheduler.Bounds{Respawn: 1}.Hit("cat", "local", free, ""):                          "",
	} {
		e.hits(free, hit, "cat")
		why(want, "'cat'")
	}
	e.exec("update bellhop.host set bounds = null") // of an older binary
	why("no_room", "'cat'")

	e.exec(`update bellhop.agent set trouble = '{"local": "no such file"}'`)
	why("agent_fails: local: no such file", "'cat'")
	e.exec("update bellhop.host set state = 'down', trouble = 'connection refused'")
	why("host_down: local: connection refused", "'cat'")
	second := e.register("second", time.Hour) // where all is well
	why("", "'cat'")
	e.exec("select bellhop.pause('cat')")
	why("paused", "'cat'")
	why("unknown_type", "'catt'")
	e.exec("select bellhop.pause()")
	why("paused", "'catt'")
	e.exec("select bellhop.resume()")
	why("", "'cat'")
	for _, id := range []scheduler.InstanceID{e.me, second} {
		if _, _, err := e.registry.MarkGone(t.Context(), id, "dead", true); err != nil {
			t.Fatal(err)
		}
	}
	why("no_instance", "'cat'")
}

// A job that names another place is in nobody's way, and walked over by nobody.
func TestClaim_ByPlace(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type, priority, run_on) select 'cat', -20, 'mars' from generate_series(1, 100)")
	late := e.insert("type, run_on", "'cat', 'disk:1'")
	urgent := e.insert("type, run_on, priority", "'cat', 'local', -5")
	anywhere := e.insert("type, priority", "'cat', -1")
	d := demand(9)
	d.Localities = []string{"local", "disk:1", "disk:2"}
	if got := ids(e.claim(d)); !slices.Equal(got, []scheduler.JobID{urgent, anywhere, late}) {
		t.Errorf("claimed %v, want %d, %d, %d", got, urgent, anywhere, late)
	}
	e.insert("type", "'cat'")
	e.exec("select bellhop.pause('cat')")
	if got := ids(e.claim(d)); len(got) != 0 {
		t.Errorf("claimed %v of a type that is paused", got)
	}
	e.exec("select bellhop.resume('cat'), bellhop.pause()")
	if got := ids(e.claim(d)); len(got) != 0 {
		t.Errorf("claimed %v while everything is paused", got)
	}
	e.exec("select bellhop.resume()")
	if got := ids(e.claim(d)); len(got) != 1 {
		t.Errorf("claimed %v after the pause", got)
	}
}
