package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// twoHosts are two hosts on this machine, which serve localities of their own.
const twoHosts = `hosts:
  - {name: east, slots: 2, serves: ["disk:e*", "srv:7"]}
  - {name: west, slots: 2, serves: ["disk:w?"]}
`

// says is an agent that logs each line it gets; where it ran stands beside that
// in bellhop.log.
func (e *env) says(name string) string { return e.worker(name, `echo "LOG did $line"`) }

// where tells on which hosts the lines of a job were done.
func (e *env) where(id int64) []string {
	e.t.Helper()
	return column[string](e, "select distinct host || ' ' || regexp_replace(line, '^did ', '') from bellhop.log where job = $1 and line like 'did %' order by 1", id)
}

// TestPlaces_AllFourCombinations: one parameter or a query, any host or a given
// one, which is named or found by what hosts serve; and items that name theirs.
func TestPlaces_AllFourCombinations(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(twoHosts + agents("type: a, command: ["+e.says("agent")+"]"))
	for _, c := range []struct {
		name, columns string
		values        []any
		want          []string // nil: anywhere
	}{
		{"parameter, any host", "type, args", []any{"a", "x"}, nil},
		{"parameter, a host", "type, args, run_on", []any{"a", "x", "west"}, []string{"west x"}},
		{"parameter, a locality", "type, args, run_on", []any{"a", "x", "disk:east-3"}, []string{"east x"}},
		{"parameter, a locality with one sign", "type, args, run_on", []any{"a", "x", "disk:w4"}, []string{"west x"}},
		{"query, any host", "type, msq", []any{"a", numbers(20)}, nil},
		{"query, a host", "type, msq, run_on", []any{"a", numbers(3), "east"}, []string{`east n="1"`, `east n="2"`, `east n="3"`}},
		{"query, a locality", "type, msq, run_on", []any{"a", numbers(2), "disk:w1"}, []string{`west n="1"`, `west n="2"`}},
		{"query, each item its own", "type, msq", []any{"a", "select * from (values (1, 'west'), (2, 'srv:7'), (3, 'disk:w2')) v (n, run_on)"},
			[]string{`east n="2" run_on="srv:7"`, `west n="1" run_on="west"`, `west n="3" run_on="disk:w2"`}},
		{"query, a host, and items that name another", "type, msq, run_on", []any{"a", "select * from (values (1, null), (2, 'west')) v (n, run_on)", "east"},
			[]string{`east n="1"`, `west n="2" run_on="west"`}},
	} {
		id := e.insert(c.columns, c.values...)
		e.waitState(id, "succeeded")
		if got := e.where(id); c.want != nil && !slices.Equal(got, c.want) || len(got) == 0 {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	e.healthy("a")
}

// TestPlaces_UserQueryLocates: run_on is whatever the user's own table knows.
func TestPlaces_UserQueryLocates(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table pfile (pfile bigint primary key, host text)")
	e.sql("insert into pfile values (17, 'east'), (18, 'west'), (19, 'mars')")
	e.serve(twoHosts + "locate: select host from pfile where pfile = $1\n" + agents("type: a, command: ["+e.says("agent")+"]"))
	east, west := e.insert("type, args, run_on", "a", "x", "17"), e.insert("type, args, run_on", "a", "x", "18")
	mars, none, bad := e.insert("type, run_on", "a", "19"), e.insert("type, run_on", "a", "20"), e.insert("type, run_on", "a", "no number")
	e.waitState(east, "succeeded")
	e.waitState(west, "succeeded")
	if got := append(e.where(east), e.where(west)...); !slices.Equal(got, []string{"east x", "west x"}) {
		t.Errorf("they ran on %q", got)
	}
	for id, says := range map[int64]string{mars: "no_host: 19", none: "no_host: 20 (locate: the query gives no host)",
		bad: "no_host: no number (locate: invalid input syntax"} {
		e.eventually("the job says "+says, "select starts_with(coalesce(waiting_for, ''), $2) from bellhop.jobqueue where id = $1 and state = 'ready'", id, says)
	}
	// The table learns of it; nobody has to be told.
	e.sql("insert into pfile values (20, 'west')")
	e.waitState(none, "succeeded")

	items := e.insert("type, msq", "a", "select pfile as run_on from pfile where host <> 'mars'")
	e.waitState(items, "succeeded")
	if got := e.where(items); !slices.Equal(got, []string{`east run_on="17"`, `west run_on="18"`, `west run_on="20"`}) {
		t.Errorf("the items ran on %q", got)
	}
}

// TestPlaces_ItemsThatNameNoHost: they fail with that reason, at once; what
// names a host, or none, is done.
func TestPlaces_ItemsThatNameNoHost(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(twoHosts + agents("type: a, command: ["+e.says("agent")+"]"))
	all := e.waitState(e.insert("type, msq", "a", "select n, 'mars' || n % 3 as run_on from generate_series(1, 3000) n"), "failed")
	e.counts(all, 3000, 0, 3000)
	some := e.insert("type, msq", "a", "select n, case n % 2 when 0 then 'mars' else 'west' end as run_on from generate_series(1, 10) n")
	e.counts(e.waitState(some, "failed"), 10, 5, 5)
	if got := column[string](e, "select distinct error from bellhop.item where job = $1", some); !slices.Equal(got,
		[]string{"no_host: no host of this instance answers to run_on mars"}) {
		t.Errorf("items say %q", got)
	}
	again := e.waitState(e.insert("type, msq", "a", "select n, 'mars' as run_on from generate_series(1, 10) n limit 5"), "failed")
	has(t, again.Error, "no_progress")
	e.healthy("a")
}

// TestPlaces_EachReasonIsTold: a host that is unknown, full, or away, and a
// type that is unknown.
func TestPlaces_EachReasonIsTold(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("hosts:\n  - {name: east, slots: 1}\n  - {name: west, slots: 1}\nlimits: {min_ready: 1h, kill_after: 1s}\n" +
		agents("type: slow, command: [sleep], mode: exec", "type: a, command: ["+e.says("agent")+"]"))
	busy := []int64{e.insert("type, args, run_on", "slow", "1000", "east"), e.insert("type, args, run_on", "slow", "1000", "west")}
	for _, id := range busy {
		e.waitState(id, "running")
	}
	for _, c := range []struct{ columns, typ, place, says string }{
		{"type, run_on", "a", "mars", "no_host: mars"},
		{"type, run_on", "a", "west", "no_room"},
		{"type, run_on", "slow", "east", "no_room"},
		{"type, run_on", "nobody", "west", "unknown_type"},
	} {
		id := e.insert(c.columns, c.typ, c.place)
		e.eventually(c.typ+" on "+c.place+" says "+c.says, "select coalesce(waiting_for, '') = $2 and state = 'ready' from bellhop.jobqueue where id = $1", id, c.says)
	}
	free := e.insert("type", "a")
	e.eventually("one that names no host says so too", "select coalesce(waiting_for, '') = 'no_room' from bellhop.jobqueue where id = $1", free)
	// Whoever reaches a host says that it is away, and that it is back.
	e.sql("update bellhop.host set state = 'down', trouble = 'connection refused' where instance = $1 and name = 'west'",
		i.id)
	e.eventually("its jobs say so",
		"select coalesce(waiting_for, '') = 'host_down: west: connection refused' from bellhop.jobqueue where type = 'a' and run_on = 'west'")
	e.sql("update bellhop.host set state = 'up', trouble = null where instance = $1", i.id)
	for _, id := range busy {
		e.cancel(id)
	}
	e.waitState(free, "succeeded")
	if j := e.job(free); j.WaitingFor != "" {
		t.Errorf("done, and waits for %q", j.WaitingFor)
	}
}

// TestPlaces_NothingBlocksOthers: jobs for hosts that are not there, queries
// whose children are all busy, items for a host that is full, a type that
// cannot come up: whatever waits, the others start (seed 000: four MSQs, one
// held job for each agent).
func TestPlaces_NothingBlocksOthers(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("insert into bellhop.jobqueue (type, priority, run_on) select 'a', -20, 'mars' || n % 7 from generate_series(1, 20000) n")
	e.sql("insert into bellhop.jobqueue (type, priority, msq) select 'slow', -20, 'select 1000 as n from generate_series(1, 10)' from generate_series(1, 100)")
	e.sql("insert into bellhop.jobqueue (type, priority) select 'broken', -20 from generate_series(1, 1000)")
	e.sql("insert into bellhop.jobqueue (type, priority) select 'unheard of', -20 from generate_series(1, 1000)")
	e.sql("insert into bellhop.jobqueue (type, msq) values ('a', 'select n, ''east'' as run_on from generate_series(1, 5000) n union all select n, ''west'' from generate_series(1, 5) n')")
	e.serve("hosts:\n  - {name: east, slots: 2}\n  - {name: west, slots: 2}\n" + agents(
		"type: slow, command: ["+e.worker("slow", "sleep 1000")+"], max: 2, max_per_host: 1",
		"type: broken, command: [/no/such/agent]",
		"type: a, command: ["+e.says("agent")+"]"))
	e.eventually("the slow ones are at it",
		"select count(*) = 2 from bellhop.child where type = 'slow' and state = 'RUNNING'")
	ids := []int64{
		e.insert("type, args, run_on", "a", "x", "west"),
		e.insert("type, args", "a", "y"),
		e.insert("type, msq", "a", "select 7 as n"),
	}
	for _, id := range ids {
		e.waitState(id, "succeeded")
	}
	e.eventually("the items for west are done, before those for east or after", `select count(*) = 5 from bellhop.log where line like 'did n="_" run_on="west"'`)
	if n := value[int](e, "select count(*) from bellhop.jobqueue where run_on like 'mars%' and state = 'ready'"); n != 20000 {
		t.Errorf("%d jobs for mars are ready", n)
	}
}

// TestPlaces_ReadyChildFirst: a job goes to the host on which a child is READY,
// not to the first one with a free slot. (One that is committed in the very
// moment in which that host has found nothing may go to the next one.)
func TestPlaces_ReadyChildFirst(t *testing.T) {
	t.Parallel()
	e := setup(t)
	const rounds = 8
	types := make([]string, rounds) // one for each: no child of it is anywhere else
	for n := range types {
		types[n] = fmt.Sprintf("type: a%d, command: [%s]", n, e.says("agent"))
	}
	e.serve("hosts:\n  - {name: east, slots: 10}\n  - {name: west, slots: 10}\n" + agents(types...))
	there := 0
	for n := range rounds {
		typ := fmt.Sprintf("a%d", n)
		e.waitState(e.insert("type, run_on", typ, "west"), "succeeded")
		e.eventually("only west has a child, and it is READY", `select coalesce(string_agg(host || ' ' || state, ', '), '') = 'west READY'
			from bellhop.child where type = $1 and state not in ('FREE', 'FAIL')`, typ)
		id := e.insert("type, args", typ, fmt.Sprint(n))
		e.waitState(id, "succeeded")
		if got := strings.Join(e.where(id), ", "); strings.HasPrefix(got, "west ") {
			there++
		}
	}
	if there < rounds-2 { // an outcome may be seen before its child has told that it is READY
		t.Errorf("%d of %d jobs ran on west, where a child was READY", there, rounds)
	}
}
