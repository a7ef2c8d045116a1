package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// lockedShared submits n jobs of a key, each with a lock of its own.
func (e *env) lockedShared(share string, n int) {
	e.Helper()
	e.exec(`insert into bellhop.jobqueue (type, share, locks)
	        select 'cat', nullif($1, '-'), array['own:' || $1 || i || '=exclusive'] from generate_series(1, $2) i`, share, n)
}

// passes makes passes one after the other, each for one job, and gives their keys.
func (e *env) passes(n int) string {
	e.Helper()
	var got []string
	for range n {
		got = append(got, e.sharesOf(e.passed(1))...)
	}
	return strings.Join(got, " ")
}

// Keys take turns in passes too: a flood of one key's jobs keeps no other key's waiting, however far behind it they
// stand.
func TestTurns_OfJobsWithLocks(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.lockedShared("flood", 400)
	e.lockedShared("a", 2)
	e.lockedShared("-", 2)
	e.lockedShared("b", 1)
	got := e.sharesOf(e.passed(4))
	slices.Sort(got)
	if fmt.Sprint(got) != "[- a b flood]" {
		t.Errorf("the first four are of %v", got)
	}
	if got := e.passes(4); got != "flood a - flood" && got != "flood - a flood" && got != "- flood a flood" {
		t.Errorf("then start: %s", got)
	}
	e.lockedShared("c", 1)
	if got := e.passes(2); got != "c flood" {
		t.Errorf("a key that has just come is next: %s", got)
	}
}

// Those that filters limit: each place that is free goes to the key whose turn it is, and none stays idle.
func TestTurns_OfJobsBehindALimit(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.filter("RATE_LIMIT 2", opcodeCat)
	e.shared("flood", 300)
	first := e.passed(9)
	if got := fmt.Sprint(e.sharesOf(first)); got != "[flood flood]" {
		t.Fatalf("a lone key has all places: %s", got)
	}
	e.shared("a", 3)
	e.pass(9)
	e.shared("b", 1)
	e.pass(9)
	var order []string
	for running := first; len(order) < 6; {
		e.ends(running[0])
		next := e.passed(9)
		if len(next) != 1 {
			t.Fatalf("one place is free, %d jobs start", len(next))
		}
		order = append(order, e.sharesOf(next)...)
		running = append(running[1:], next...)
	}
	if slices.Sort(order[:2]); order[0] != "a" || order[1] != "b" {
		t.Errorf("the keys that came are not first: %v", order)
	}
	for i := 3; i < len(order); i++ {
		if order[i] == order[i-1] {
			t.Errorf("two starts of %s one after the other, while another key waits: %v", order[i], order)
		}
	}
}

// Weights are parts in passes as in other claims.
func TestTurns_Weights(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.share values ('cat', 'x', 3), ('cat', 'y', 2)")
	for _, k := range []string{"x", "y", "z"} {
		e.lockedShared(k, 100)
	}
	n := map[string]int{}
	for range 6 {
		for _, k := range e.sharesOf(e.passed(20)) {
			n[k]++
		}
	}
	if fmt.Sprint(n) != "map[x:60 y:40 z:20]" {
		t.Error(n)
	}
	if left := e.one("select count(*) from bellhop.share_line"); left != "3" {
		t.Errorf("%s keys are in the line", left)
	}
}

// One line for both: a start by a pass counts for the key when an ordinary claim is next, and the other way round.
func TestTurns_PassesAndClaimsCountTogether(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.lockedShared("a", 3)
	e.lockedShared("b", 1)
	if got := e.passes(1); got != "a" {
		t.Fatal(got)
	}
	e.shared("a", 1)
	e.shared("c", 1)
	e.wantStarts(2, 1, "c a")
	if got := e.passes(1); got != "b" {
		t.Errorf("then the pass starts %s", got)
	}
}

// Where no job has a share nothing changes, and nothing is written.
func TestTurns_WithoutSharesIdsOrder(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.lockedShared("-", 120)
	got := e.pass(3)
	if !slices.IsSorted(got) || got[2]-got[0] != 2 {
		t.Errorf("start %v", got)
	}
	if n := e.one("select (select count(*) from bellhop.share_line) + (select count(*) from bellhop.share_clock)"); n != "0" {
		t.Errorf("%s rows of shares", n)
	}
}

// More keys than one look sees: each has its turn. When all work is over, the table of keys is empty.
func TestTurns_OfManyKeys(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	const keys = 700
	e.exec(`insert into bellhop.jobqueue (type, share, locks) select 'cat', 'a flood', '{}' from generate_series(1, 2000)`)
	e.exec(`insert into bellhop.jobqueue (type, share, locks) select 'cat', 'k' || i, '{}' from generate_series(1, $1) i`, keys-1)
	seen := map[string]int{}
	for range (keys + 255) / 256 * 256 / 50 * 2 {
		for _, k := range e.sharesOf(e.passed(50)) {
			seen[k]++
		}
	}
	if len(seen) != keys {
		t.Errorf("of %d keys %d have started", keys, len(seen))
	}
	e.exec("delete from bellhop.jobqueue where share = 'a flood' and state = 'ready' and id not in (select max(id) from bellhop.jobqueue where share = 'a flood')")
	for len(e.passed(50)) > 0 {
	}
	if left := e.one("select count(*) from bellhop.share_line"); left != "0" {
		t.Errorf("%s keys are left", left)
	}
}

// Agents that add locks: their jobs come into passes by turns.
func TestTurns_OfAdoptedJobs(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.claimer.Templates = lock.Templates{"cat": must(lock.ParseTemplates([]string{"db:${args}=shared"}, nil))}
	e.exec("insert into bellhop.jobqueue (type, share, args) select 'cat', 'a flood', 'x' from generate_series(1, 300)")
	e.exec("insert into bellhop.jobqueue (type, share, args) values ('cat', 'z', 'y')")
	got := e.sharesOf(e.passed(2))
	slices.Sort(got)
	if fmt.Sprint(got) != "[a flood z]" {
		t.Errorf("start: %v", got)
	}
	if left := e.one("select count(*) from bellhop.share_arrival"); left != "0" {
		t.Errorf("%s arrivals are left", left)
	}
}

// Several instances make passes and claims of one type at the same time: no job starts twice, none is left.
func TestTurns_OfSeveralInstances(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for i := range 20 {
		e.lockedShared(fmt.Sprint("k", i), 10)
		e.shared(fmt.Sprint("k", i), 10)
	}
	var mu sync.Mutex
	var all []scheduler.Job
	var wait sync.WaitGroup
	for i := range 4 {
		me, claimer := e.register(fmt.Sprint("other", i), time.Minute), desk(e, NewClaimer)
		e.assert(claimer, me)
		wait.Go(func() {
			for empty := 0; empty < 3; empty++ {
				for _, locked := range []bool{true, false} {
					d := plainly(7)
					d.Locked = locked
					got, err := claimer.Claim(e.Context(), me, d)
					if err != nil {
						t.Error(err)
						return
					}
					if len(got) > 0 {
						empty = 0
					}
					mu.Lock()
					all = append(all, got...)
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	got := map[scheduler.JobID]bool{}
	for _, j := range all {
		if got[j.Claim.Job] {
			t.Fatalf("job %d has started twice", j.Claim.Job)
		}
		got[j.Claim.Job] = true
	}
	if len(got) != 400 {
		t.Errorf("%d of 400 jobs have started", len(got))
	}
}
