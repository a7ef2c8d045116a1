package store

import (
	"fmt"
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

	child := func(name, typ, state string) {
		e.exec("insert into bellhop.child (instance, host, name, type, state, since) values ($1, 'local', $2, $3, $4, clock_timestamp())", int64(e.me), name, typ, state)
	}
	for n := range 4 { // all slots
		child(fmt.Sprintf("dog.%d", n), "dog", "RUNNING")
	}
	why("no_room", "'cat'")
	why("no_room", "'cat', 'disk:4'")
	e.exec("update bellhop.child set state = 'FAIL' where name = 'dog.3'")
	why("", "'cat'")
	child("cat.1", "cat", "RUNNING")
	why("no_room", "'cat'")
	e.exec("update bellhop.child set state = 'READY' where name = 'cat.1'")
	why("", "'cat'")
	e.exec("delete from bellhop.child; update bellhop.agent set max = 1")
	child("cat.1", "cat", "RUNNING")
	why("no_room", "'cat'")
	e.exec("update bellhop.agent set max = 0, max_per_host = 1")
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
