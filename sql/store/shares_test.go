package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/scheduler/fair"
)

// shared submits n jobs of a key.
func (e *env) shared(share string, n int) {
	e.Helper()
	e.exec("insert into bellhop.jobqueue (type, share) select 'cat', nullif($1, '-') from generate_series(1, $2)", share, n)
}

// starts claims jobs one claim after the other, and gives their keys; '-' stands for none.
func (e *env) starts(claims, most int) string {
	e.Helper()
	var got []string
	for range claims {
		got = append(got, e.startsOf(plainly(most)))
	}
	return strings.TrimSpace(strings.Join(got, " "))
}

// startsOf makes one claim, and gives the keys of its jobs in their order.
func (e *env) startsOf(d scheduler.Demand) string {
	e.Helper()
	var ids []int64
	for _, j := range e.claim(d) {
		ids = append(ids, int64(j.Claim.Job))
	}
	return e.one(`select coalesce(string_agg(coalesce(j.share, '-'), ' ' order by i.n), '')
		from unnest($1::bigint[]) with ordinality as i (id, n) join bellhop.jobqueue j on j.id = i.id`, ids)
}

// sharesOf are the keys of jobs; '-' stands for none.
func (e *env) sharesOf(jobs []scheduler.Job) (list []string) {
	e.Helper()
	for _, j := range jobs {
		list = append(list, e.one("select coalesce(share, '-') from bellhop.jobqueue where id = $1", int64(j.Claim.Job)))
	}
	return list
}

func (e *env) wantStarts(claims, most int, want string) {
	e.Helper()
	if got := e.starts(claims, most); got != want {
		e.Errorf("start: %s\nwant:  %s", got, want)
	}
}

// A flood of one key's jobs does not keep another key's jobs waiting; nor those without a key.
func TestShares_KeysTakeTurns(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.shared("flood", 20)
	e.shared("a", 2)
	e.shared("b", 1)
	e.shared("-", 2)
	e.wantStarts(1, 4, "- flood a b")
	e.wantStarts(6, 1, "- flood a flood flood flood")
	e.shared("a", 1)
	e.wantStarts(2, 1, "a flood")
}

// Weights are parts: 3 to 2 to 1.
func TestShares_Weights(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.share values ('cat', 'x', 3), ('cat', 'y', 2)")
	for _, k := range []string{"x", "y", "z"} {
		e.shared(k, 700)
	}
	n := map[string]int{}
	for range 6 {
		for _, k := range strings.Fields(e.starts(1, 100)) {
			n[k]++
		}
	}
	if fmt.Sprint(n) != "map[x:300 y:200 z:100]" {
		t.Error(n)
	}
}

// A key that has more than its part owes it, also when it was idle for a while; when no key has work, none owes.
func TestShares_AKeyNeitherSavesNorOwesForLong(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.shared("a", 3)
	e.wantStarts(4, 1, "a a a")
	e.shared("a", 2)
	e.shared("b", 2)
	e.wantStarts(4, 1, "a b a b")
	if got := e.one("select count(*) from bellhop.share_line"); got != "0" {
		e.starts(1, 1)
	}
	if got := e.one("select count(*) from bellhop.share_line"); got != "0" {
		t.Error(got, "keys are left in the line")
	}
}

// A job that is ready again is back in its key's line, whatever made it so.
func TestShares_ReadyAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type, share, held", "'cat', 'a', true")
	e.wantStarts(1, 1, "")
	e.exec("select bellhop.release($1)", int64(id))
	e.wantStarts(1, 1, "a")
	e.exec("update bellhop.jobqueue set state = 'ready', instance = null where id = $1", int64(id))
	e.wantStarts(2, 1, "a")
}

// With triggers disabled the safety scan finds the keys.
func TestShares_WithoutTriggers(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("set session_replication_role = replica")
	e.shared("a", 2)
	e.shared("b", 1)
	e.exec("reset session_replication_role")
	e.wantStarts(1, 4, "")
	if _, _, err := e.maintenance.Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.wantStarts(1, 4, "a b a")
}

// SQL's order is the model's, whatever comes when and however many are claimed at once.
func TestShares_AreInTheOrderOfTheModel(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	weights := map[string]float64{"a": 1, "b": 2, "c": 0.5, "d": 4, "e": 1}
	for k, w := range weights {
		e.exec("insert into bellhop.share values ('cat', $1, $2)", k, w)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	var line fair.Line
	for range 150 {
		if dice.IntN(2) == 0 {
			k, n := string(rune('a'+dice.IntN(5))), 1+dice.IntN(8)
			e.shared(k, n)
			line.Come(k, weights[k], n)
		}
		n := 1 + dice.IntN(6)
		if want, got := strings.Join(line.Take(n), " "), e.starts(1, n); got != want {
			t.Fatalf("start: %s\nwant:  %s\nthe line: %s", got, want, e.one("select array_agg(l) from bellhop.share_line l"))
		}
	}
}

// A large claim takes several jobs of a key in one turn: keys stay within a turn of each other, weights hold, and a key
// that has just come is first in the next claim.
func TestShares_LargeClaimsTakeTurnsOfSeveralJobs(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.share values ('cat', 'key3', 3)")
	e.exec("insert into bellhop.jobqueue (type, share) select 'cat', 'key' || g % 50 from generate_series(1, 15000) g")
	n := map[string]int{}
	for range 4 {
		for _, k := range strings.Fields(e.startsOf(plainly(640))) {
			n[k]++
		}
	}
	for k, got := range n {
		weight, fair := 1, 4*640/52
		if k == "key3" {
			weight = 3
		}
		if got < weight*(fair-8) || got > weight*(fair+8) {
			t.Errorf("%s has had %d starts; a weight of 1 has about %d", k, got, fair)
		}
	}
	e.shared("new", 1)
	if got := e.startsOf(plainly(640)); !strings.HasPrefix(got, "new ") {
		t.Errorf("a key that has just come is not first: %.60s", got)
	}
	e.shared("a few", 3)
	for range 40 {
		e.startsOf(plainly(640))
	}
	if left := e.one("select count(*) from bellhop.jobqueue where state = 'ready'"); left != "0" {
		t.Errorf("%s jobs are left", left)
	}
}

// A key is in the line at once, however many jobs of others came before it and have not been looked at.
func TestShares_ANewKeyDoesNotWaitBehindArrivals(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type, share) select 'cat', 'key' || g % 200 from generate_series(1, 12000) g")
	if rows := e.one("select count(*) from bellhop.share_arrival"); rows != "200" {
		t.Errorf("one INSERT of 200 keys has left %s rows", rows)
	}
	e.starts(5, 400) // each key has had a turn
	// Those of many transactions, each of which appends its own.
	e.exec("insert into bellhop.share_arrival (type, place, priority, share) select 'cat', '', 0, 'key7' from generate_series(1, 3000)")
	e.shared("new", 1)
	if got := e.startsOf(plainly(2)); !strings.HasPrefix(got, "new ") {
		t.Errorf("start: %s", got)
	}
	e.starts(2, 2)
	if rows := e.one("select count(*) from bellhop.share_arrival"); rows != "0" {
		t.Errorf("%s rows are left", rows)
	}
}

// More keys come at once than a claim reads: the next ones read the others.
func TestShares_ManyKeysComeAtOnce(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type, share) select 'cat', 'key' || g from generate_series(1, 1000) g")
	seen := map[string]bool{}
	for range 40 {
		for _, k := range strings.Fields(e.startsOf(plainly(50))) {
			seen[k] = true
		}
	}
	if len(seen) != 1000 {
		t.Errorf("of 1,000 keys %d have started", len(seen))
	}
	if left := e.one("select (select count(*) from bellhop.share_line) + (select count(*) from bellhop.share_arrival)"); left != "0" {
		t.Errorf("%s rows are left", left)
	}
}
