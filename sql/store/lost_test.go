package store

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// What is given back is kept as a lost run where it had begun, and only there; the newest 20, and how many there were.
func TestLost_RunsAreKeptWhereTheyHadBegun(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	back := func(lost string) {
		j := e.claim(demand(1))[0]
		now := time.Now()
		r := scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim, Lost: lost}
		if lost != "" {
			r.Result = scheduler.Result{
				Host:  "big1",
				Child: "cat.3",
				Began: now.Add(-3 * time.Minute),
				Ended: now.Add(-time.Minute),
			}
		}
		e.mustWrite(r)
	}
	back("")
	e.want(id, "format('%s %s %s', state, attempt, lost)", "ready 0 0")
	if n := e.one("select (select count(*) from bellhop.lost_run) + (select count(*) from bellhop.log)"); n != "0" {
		t.Errorf("%s rows of what had not begun", n)
	}
	for range 23 {
		back("host big1 went silent")
	}
	e.want(id, "format('%s %s %s', state, attempt, lost)", "ready 0 23")
	if got := e.one("select format('%s %s %s', count(*), min(n), max(n)) from bellhop.lost where job = $1", int64(id)); got != "20 4 23" {
		t.Errorf("kept: %s", got)
	}
	if got := e.one(`select distinct format('%s %s %s %s %s', attempt, host, child, round(extract(epoch from lost_at - started_at)), reason) from bellhop.lost`); got !=
		"1 big1 cat.3 120 host big1 went silent" {
		t.Errorf("kept: %s", got)
	}
	e.exec("delete from bellhop.jobqueue")
	if n := e.one("select count(*) from bellhop.lost_run"); n != "0" {
		t.Errorf("%s lost runs of a job that is gone", n)
	}
}

// An instance is gone, or what it held is found later: as if it had given back what it ran.
func TestLost_RunsOfAnInstanceThatIsGone(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for name, c := range map[string]struct{ free, reason string }{
		"buried":    {markGoneSQL, "its instance %s is gone: it was silent"},
		"a stray's": {orphanedClaimsSQL, "its instance %s is gone"},
	} {
		dead := e.register(name, time.Minute)
		runs, waits := e.insert("type", "'cat'"), e.insert("type", "'cat'")
		e.exec("update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, host = 'big1', started_at = clock_timestamp(), instance = $2 where id = $1", int64(runs), int64(dead))
		e.exec("update bellhop.jobqueue set state = 'assigned', attempt = 1, fence = 1, host = 'big1', instance = $2 where id = $1", int64(waits), int64(dead))
		if name == "buried" {
			e.exec(c.free, int64(dead), "it was silent", true)
		} else {
			e.exec("update bellhop.instance set state = 'gone' where id = $1", int64(dead))
			e.exec(c.free)
		}
		if got := e.one("select string_agg(format('%s %s %s %s', id = $1, state, attempt, lost), ', ' order by id) from bellhop.jobqueue where id in ($1, $2)", int64(runs), int64(waits)); got != "t ready 0 1, f ready 0 0" {
			t.Errorf("%s: %s", name, got)
		}
		if got, want := e.one("select string_agg(format('%s %s %s %s', job = $1, n, host, replace(reason, instance::text, '%s')), ', ') from bellhop.lost where job in ($1, $2)", int64(runs), int64(waits)),
			"t 1 big1 "+c.reason; got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		if n := e.one("select count(*) from bellhop.log where job = $1 and level = 'note'", int64(runs)); n != "1" {
			t.Errorf("%s: %s notes", name, n)
		}
	}
}
