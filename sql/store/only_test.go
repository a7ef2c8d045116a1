package store

import (
	"fmt"
	"testing"

	"bellhop/scheduler"
)

// setUp makes jobs of RJM's, released.
func (e *env) setUp(prio string, ids ...string) {
	e.Helper()
	for _, id := range ids {
		e.exec("select bellhop.release(bellhop.rjm_setup($1, 'x=1', $2))", id, prio)
	}
}

func (e *env) keys(jobs []scheduler.Job) (text string) {
	for _, j := range jobs {
		text += fmt.Sprintf("%s as %s, ", j.Key, j.Type)
	}
	return text
}

func TestClaim_OnlyWhatTheHostTakes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for _, values := range []string{"'cat', 'one', null, 0", "'cat', 'two', 'urgent', 0", "'cat', 'three', null, -5", "'dog', 'four', 'u', 0"} {
		e.insert("type, key, priority_name, priority", values)
	}
	take := func(only scheduler.Only, assigned bool, types ...scheduler.TypeName) string {
		d := scheduler.Demand{
			Host:       "local",
			Localities: []string{"local"},
			Total:      10,
			MSQ:        true,
			Assigned:   assigned,
			Only:       &only,
		}
		for _, typ := range types {
			d.Types = append(d.Types, scheduler.TypeDemand{Type: typ, Limit: 10, MaxPriority: 19})
		}
		jobs := e.claim(d)
		for _, j := range jobs {
			e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim, Attempt: j.Attempt})
		}
		return e.keys(jobs)
	}
	for _, c := range []struct {
		only  scheduler.Only
		types []scheduler.TypeName
		want  string
	}{
		{scheduler.Only{}, []scheduler.TypeName{"cat"}, "three as cat, one as cat, two as cat, "},
		{scheduler.Only{Priorities: []int{-5, 3}}, []scheduler.TypeName{"cat", "dog"}, "three as cat, "},
		{scheduler.Only{Names: "^urg"}, []scheduler.TypeName{"cat", "dog"}, "two as cat, "},
		{scheduler.Only{Names: "^u", Priorities: []int{0}}, []scheduler.TypeName{"cat", "dog"}, "one as cat, two as cat, four as dog, "},
		{scheduler.Only{}, []scheduler.TypeName{"rjm"}, ""},
	} {
		for _, assigned := range []bool{false, true} {
			if got := take(c.only, assigned, c.types...); got != c.want {
				t.Errorf("%+v of %v: %q, want %q", c.only, c.types, got, c.want)
			}
		}
	}
	// Priority names a to z: 'urgent' is 7, 'u' too.
	e.setUp("n", "bill.1", "cat.1", "ship.1")
	e.setUp("b", "bill.2")
	e.setUp("n", "dummy.1")
	for _, c := range []struct {
		only  scheduler.Only
		types []scheduler.TypeName
		want  string
	}{
		{scheduler.Only{}, []scheduler.TypeName{"rjm"}, "bill.2 as rjm, bill.1 as rjm, cat.1 as rjm, ship.1 as rjm, "},
		{scheduler.Only{RJM: "l"}, []scheduler.TypeName{"rjm"}, "bill.2 as rjm, bill.1 as rjm, "},
		{scheduler.Only{RJM: "^(ship|cat)$", Names: "n"}, []scheduler.TypeName{"rjm"}, "cat.1 as rjm, ship.1 as rjm, "},
		// A type that the instance has an agent for is that agent's.
		{scheduler.Only{Names: "n"}, []scheduler.TypeName{"cat", "rjm"}, "bill.1 as rjm, cat.1 as cat, ship.1 as rjm, two as cat, "},
	} {
		if got := take(c.only, true, c.types...); got != c.want {
			t.Errorf("%+v of %v: %q, want %q", c.only, c.types, got, c.want)
		}
	}
	e.exec("select bellhop.pause('ship')")
	if got := take(scheduler.Only{RJM: "s"}, false, "rjm"); got != "" {
		t.Errorf("of a paused type: %q", got)
	}
}

// Dummies are ended by whoever makes them ready, a chain of them too; and what
// nobody has made ready, by the round that looks for what is due.
func TestDummy_EndsWithoutAnAgent(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	alone := e.insert("type", "'dummy'")
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.want(alone, "state", "succeeded")
	e.want(alone, "exit_code", "0")
	e.want(alone, "attempt", "1")
	a := e.insert("type", "'cat'")
	last := a
	for range 60 {
		last = e.needing("type", "'dummy'", last)
	}
	end := e.needing("type", "'cat'", last)
	held := e.needing("type, held", "'dummy', true", last)
	e.end(scheduler.Succeeded, a)
	e.states("ready held", end, held)
	e.exec("select bellhop.release($1)", int64(held))
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.want(held, "state", "succeeded")
	// A dummy fails with what it needs, as every job does.
	bad := e.insert("type", "'cat'")
	fails := e.needing("type", "'dummy'", bad)
	e.exec("update bellhop.jobqueue set state = 'cancelled' where id = $1", int64(bad))
	e.exec("select bellhop.ended(array[$1::bigint])", int64(bad))
	e.want(fails, "state", "failed")
}
