package actors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// victim is an actor, and what may be lost with it.
type victim struct {
	role string
	ends string // the type of the children that may be replaced; one or all of them; "" none
	once bool   // no single job is begun a second time
}

// costly are the actors with which processes may end. Of those that come and go
// with the work, one each stands for all; "msq/" is that of the job under way.
var costly = []victim{
	{"msq/", "item", true},
	{"msqs", "item", true},
	{"child/local/solo.1", "one", false},
	{"child/local/item.1", "one item", true},
	{"host/local", "all", false},
	{"hosts", "all", false},
	{"supervisor", "all", false},
}

// victims are all actors that a tree has, by its own list: first those whose end
// costs nobody a process.
func victims(b *env) (list []victim) {
	for _, role := range b.system.Roles() {
		comesAndGoes := strings.HasPrefix(role, "child/") || strings.HasPrefix(role, "msq/")
		if !comesAndGoes && !slices.ContainsFunc(costly, func(v victim) bool { return v.role == role }) {
			list = append(list, victim{role, "", true})
		}
	}
	return append(list, costly...)
}

// Kill any one actor under 1,000 jobs: its siblings' processes stay the same,
// its own work is recovered, nothing is lost, nothing runs twice at once, and
// no attempt is counted for it.
func TestPanic_EveryActorInTurnUnderAThousandJobs(t *testing.T) {
	b := setup(t) // the server is up before the leak check begins
	leaks := goleak.IgnoreCurrent()
	solo, item := newJournal(t), newJournal(t)
	b.start(8, agent{"solo", 4, solo}, agent{"item", 4, item})
	b.eventually("the tree is up", func() bool {
		return slices.Contains(b.system.Roles(), "host/local") && slices.Contains(b.system.Roles(), "bell")
	})
	for _, v := range victims(b) {
		if !t.Run(strings.ReplaceAll(strings.Trim(v.role, "/"), "/", "_"),
			func(t *testing.T) { kill(t, b, solo, item, v.role, v.ends, v.once) }) {
			break // the next one would only fail for the same reason
		}
	}
	b.stop()
	for _, book := range []*journal{solo, item} {
		gone(t, book)
	}
	if n := b.system.Processes(); n != 0 {
		t.Errorf("%d processes are counted after Stop", n)
	}
	// A connection takes its time to say goodbye on a busy machine: a leak is what stays.
	leak := goleak.Find(leaks)
	for deadline := time.Now().Add(patience); leak != nil && time.Now().Before(deadline); {
		leak = goleak.Find(leaks)
	}
	if leak != nil {
		t.Error(leak)
	}
}

func kill(t *testing.T, outer *env, solo, item *journal, role, ends string, once bool) {
	b := &env{T: t, url: outer.url, conn: outer.conn, system: outer.system, log: outer.log}
	b.eventually("all children are up, and idle", func() bool {
		if b.one("select count(*) from bellhop.jobqueue where state not in ('succeeded')") != "0" {
			return false
		}
		if living(solo.processes()) == 4 && living(item.processes()) == 4 {
			return true
		}
		b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '50ms' from generate_series(1, 40)")
		b.exec("insert into bellhop.jobqueue (type, msq) values ('item', 'select g from generate_series(1, 400) g')")
		return false
	})
	b.exec("delete from bellhop.jobqueue")
	soloBefore, itemBefore := solo.read(), item.read()
	b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '3ms' from generate_series(1, 1000)")
	b.exec("insert into bellhop.jobqueue (type, msq) values ('item', 'select g from generate_series(1, 1500) g')")
	b.eventually("the work has begun", func() bool {
		return len(solo.read()) > len(soloBefore)+200 && len(item.read()) > len(itemBefore)+200
	})
	soloKnown, itemKnown := solo.processes(), item.processes()
	victim := role
	if strings.HasSuffix(role, "/") {
		victim += b.one("select id from bellhop.jobqueue where type = 'item'")
	}
	if !slices.Contains(b.system.Roles(), victim) {
		t.Fatalf("nobody is %q; there are %q", victim, b.system.Roles())
	}
	panics := strings.Count(outer.log.String(), "actor panicked")
	if err := b.system.Panic(victim); err != nil {
		t.Fatal(err)
	}
	b.eventually("it has panicked", func() bool { return strings.Count(outer.log.String(), "actor panicked") > panics })
	b.eventually("all jobs are done", func() bool { return b.count() == "succeeded 1001" })

	if n := b.one("select count(*) from bellhop.jobqueue where attempt <> 1 or deaths > 0"); n != "0" {
		t.Errorf("%s jobs have attempts or deaths counted", n)
	}
	if items := b.one("select format('%s %s %s', items_total, items_done, items_failed) from bellhop.jobqueue where type = 'item'"); items != "1500 1500 0" {
		t.Errorf("items: %s", items)
	}
	starts := solo.starts(solo.read()[len(soloBefore):])
	item.starts(item.read()[len(itemBefore):])
	again := 0
	for _, n := range starts {
		again += n - 1
	}
	if len(starts) != 1000 || once && again > 0 {
		t.Errorf("%d of 1000 jobs were begun, %d a second time", len(starts), again)
	}
	soloNew, itemNew := len(solo.processes())-len(soloKnown), len(item.processes())-len(itemKnown)
	ok := map[string]bool{
		"":         soloNew+itemNew == 0,
		"item":     soloNew == 0,
		"one":      soloNew <= 1 && itemNew == 0,
		"one item": soloNew == 0 && itemNew <= 1,
		"all":      true,
	}[ends]
	if !ok {
		t.Errorf("%d new processes of type solo, %d of type item", soloNew, itemNew)
	}
	t.Logf("new processes: solo %d, item %d; jobs begun again: %d", soloNew, itemNew, again)
}

func living(list map[process]bool) int {
	n := 0
	for p := range list {
		if !p.dead() {
			n++
		}
	}
	return n
}

func TestPanic_NobodyOfThatName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(1)
	defer b.stop()
	if err := b.system.Panic("nobody"); err == nil || fmt.Sprint(err) != `no actor has the role "nobody" at present` {
		t.Errorf("error is %v", err)
	}
	for _, role := range []string{"attachments", "bell", "dispatcher", "gate", "host/local", "hosts", "ledger", "locks", "maintenance", "membership", "msqs", "supervisor"} {
		b.eventually("somebody is "+role, func() bool { return slices.Contains(b.system.Roles(), role) })
	}
}
