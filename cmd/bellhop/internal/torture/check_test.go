package torture

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// sound is a history in which all went well: one job, one that needs it, one that fails once, a query, an event, a key,
// one with a step, one with a child job, one that an app took.
func sound() evidence {
	told := newExpectation()
	told.committed = map[int64]string{1: "INSERT", 2: "in a graph", 3: "failing once", 4: "with a key"}
	told.needs[2] = 1
	told.fails[3] = 1
	told.batches[7] = true
	told.events[100_005] = true
	told.keys["key.4"] = []int64{14, 14}
	e := evidence{told: told, runs: map[int64]int{100_005: 1}, took: time.Second, promise: 2 * time.Second}
	ran := func(token, job, fence int64, attempt int) {
		at := int64(len(e.journal))
		e.journal = append(e.journal, entry{what: begun, token: token, job: job, fence: fence, attempt: attempt, at: at},
			entry{what: done, token: token, job: job, fence: fence, attempt: attempt, at: at + 1})
	}
	job := func(token, id, fence int64, attempt int) {
		e.rows = append(e.rows, row{id: id, typ: "warm", state: "succeeded", fence: fence, attempt: attempt, successes: 1,
			token: token})
	}
	ran(1, 11, 1, 1)
	job(1, 11, 1, 1)
	ran(2, 12, 2, 1)
	job(2, 12, 2, 1)
	e.journal = append(e.journal, entry{what: begun, token: 3, job: 13, fence: 3, attempt: 1, at: 10},
		entry{what: failed, token: 3, job: 13, fence: 3, attempt: 1, at: 11})
	ran(3, 13, 4, 2)
	job(3, 13, 4, 2)
	ran(4, 14, 5, 1)
	job(4, 14, 5, 1)
	e.rows[len(e.rows)-1].key = "key.4"
	ran(5, 15, 8, 1)
	ran(5, 15, 9, 2)
	job(5, 15, 9, 2)
	e.rows[len(e.rows)-1].state, e.rows[len(e.rows)-1].successes = "failed", 0
	told.dies[5] = true
	ran(6, 16, 3, 1)
	job(6, 16, 3, 1)
	told.attached[6], e.written = true, map[int64]string{6: "succeeded"}
	told.notBefore[1] = -1
	e.seen = map[int64]int64{11: 1}
	e.rows = append(e.rows, row{id: 17, typ: "item", state: "succeeded", fence: 6, attempt: 1, successes: 1, batch: 7,
		total: fewItems, done: fewItems})
	for i := range int64(fewItems) {
		ran(firstItem+7*mostItems+i, 17, 6, 1)
	}
	ran(stepA+100_005, 18, 7, 1)
	job(stepA+100_005, 18, 7, 1)
	ran(stepB+100_005, 19, 8, 1)
	job(stepB+100_005, 19, 8, 1)
	takes := func(token int64, words string) {
		ran(token, 10+token, 9, 1)
		job(token, 10+token, 9, 1)
		e.rows[len(e.rows)-1].args = words
	}
	saved := entry{what: stepping, token: stepToken(20, 1), job: 30, fence: 8}
	e.journal = append(e.journal, saved)
	saved.what = kept
	e.journal = append(e.journal, saved)
	takes(20, "n=20 steps=1")
	takes(childToken(21, 0), "n=400000210")
	takes(21, "n=21 children=1")
	takes(22, "n=22")
	e.rows[len(e.rows)-1].typ, e.ledger = "taken", map[int64]int{22: 1}
	return e
}

func TestCheck_ASoundHistoryHasNoViolation(t *testing.T) {
	t.Parallel()
	if found := check(sound()); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// Each case spoils a sound history; the check says which promise it breaks.
func TestCheck_FindsEachViolation(t *testing.T) {
	t.Parallel()
	at := func(e *evidence, token int64, what string) *entry {
		return &e.journal[slices.IndexFunc(e.journal, func(l entry) bool { return l.token == token && l.what == what })]
	}
	job := func(e *evidence, id int64) *row {
		return &e.rows[slices.IndexFunc(e.rows, func(r row) bool { return r.id == id })]
	}
	cases := map[string]struct {
		want  invariant
		spoil func(*evidence)
	}{
		"a committed job has no row":   {ends, func(e *evidence) { e.rows = e.rows[1:] }},
		"a job failed":                 {ends, func(e *evidence) { e.rows[0].state = "failed" }},
		"a job never ended":            {ends, func(e *evidence) { e.rows[0].state = "ready" }},
		"a query has no row":           {ends, func(e *evidence) { e.told.batches[8] = true }},
		"a client was refused":         {ends, func(e *evidence) { e.told.refused = []string{"42P01"} }},
		"no agent ended it":            {proven, func(e *evidence) { at(e, 1, done).what = failed }},
		"an agent ended another fence": {proven, func(e *evidence) { at(e, 1, done).fence = 9 }},
		"two attempts succeeded":       {proven, func(e *evidence) { e.rows[0].successes = 2 }},
		"it was begun again after its end": {proven, func(e *evidence) {
			e.journal = append(e.journal, entry{what: begun, token: 1, job: 11, fence: 9})
		}},
		"two processes had it at once":         {alone, func(e *evidence) { at(e, 1, begun).what = overlapped }},
		"two processes had one lock":           {unlocked, func(e *evidence) { at(e, 1, begun).what = clashed }},
		"a fence came again":                   {counted, func(e *evidence) { at(e, 3, failed).fence = 4; at(e, 3, begun).fence = 4 }},
		"a lost run counted as an attempt":     {counted, func(e *evidence) { e.rows[0].attempt = 2 }},
		"a job began before the one it needs":  {ordered, func(e *evidence) { at(e, 2, begun).at = -1 }},
		"a step began before the one it needs": {ordered, func(e *evidence) { at(e, stepB+100_005, begun).at = -1 }},
		"an event started two runs":            {exactly, func(e *evidence) { e.runs[100_005] = 2 }},
		"an event started no run":              {exactly, func(e *evidence) { delete(e.runs, 100_005) }},
		"a key is that of two jobs":            {exactly, func(e *evidence) { e.rows[0].key = "key.4" }},
		"a key was answered with two ids":      {exactly, func(e *evidence) { e.told.keys["key.4"][1] = 11 }},
		"an item never ran":                    {whole, func(e *evidence) { at(e, firstItem+7*mostItems, done).what = failed }},
		"an item was counted twice":            {whole, func(e *evidence) { job(e, 17).done++ }},
		"a job failed too often":               {counted, func(e *evidence) { job(e, 15).attempt = 3 }},
		"a job that fails ended well":          {ends, func(e *evidence) { job(e, 15).state = "succeeded" }},
		"a job began before its time":          {ordered, func(e *evidence) { e.told.notBefore[1] = 9 }},
		"a success that was seen is gone":      {proven, func(e *evidence) { e.seen[11] = 0 }},
		"an attached row has no outcome":       {exactly, func(e *evidence) { e.written[6] = "" }},
		"a saved step was done again": {exactly, func(e *evidence) {
			e.journal = append(e.journal, entry{what: stepping, token: stepToken(20, 1), job: 30, fence: 9})
		}},
		"a job ended without its step": {exactly, func(e *evidence) { job(e, 30).args = "n=20 steps=2" }},
		"a child job was made twice":   {exactly, func(e *evidence) { e.rows = append(e.rows, *job(e, 10+childToken(21, 0))) }},
		"a parent did not wait":        {ordered, func(e *evidence) { at(e, 21, begun).at = -1 }},
		"the ledger lacks a job":       {exactly, func(e *evidence) { delete(e.ledger, 22) }},
		"the ledger has a job twice":   {exactly, func(e *evidence) { e.ledger[22] = 2 }},
		"the ledger has a job that is open": {exactly, func(e *evidence) {
			job(e, 32).state, job(e, 32).successes = "running", 0
		}},
		"the queue slept on":              {recovered, func(e *evidence) { e.idle = time.Minute }},
		"a process is left":               {quiet, func(e *evidence) { e.left = []string{"processes [7] are left of agents"} }},
		"the queue worked again too late": {recovered, func(e *evidence) { e.took = time.Minute }},
	}
	seen := map[invariant]bool{}
	for name, c := range cases {
		e := sound()
		c.spoil(&e)
		found := check(e)
		if !slices.ContainsFunc(found, func(v violation) bool { return v.what == c.want }) {
			t.Errorf("%s: %s is not among %v", name, c.want, found)
		}
		seen[c.want] = true
	}
	if len(seen) != int(invariants) {
		t.Errorf("only %v are tried", slices.Collect(maps.Keys(seen)))
	}
}

// A promoted server that lacks the newest commits may lack committed jobs; what it has is held as before.
func TestCheck_ALostEndExcusesWhatIsGone(t *testing.T) {
	t.Parallel()
	e := sound()
	e.lostTail, e.rows = true, e.rows[1:]
	delete(e.runs, 100_005)
	if found := check(e); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	e.rows[0].state = "ready"
	if found := check(e); len(found) != 1 || found[0].what != ends {
		t.Errorf("found %v", found)
	}
}

// A child job that has run may be gone with the newest commits, though its parent is there; one that never ran may not.
func TestCheck_ALostEndExcusesAChildJobThatRan(t *testing.T) {
	t.Parallel()
	e := sound()
	token := childToken(21, 0)
	e.rows = slices.DeleteFunc(e.rows, func(r row) bool { return r.token == token })
	if found := check(e); len(found) == 0 || found[0].what != exactly {
		t.Errorf("nothing was lost: found %v", found)
	}
	e.lostTail = true
	if found := check(e); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	e.journal = slices.DeleteFunc(e.journal, func(l entry) bool { return l.token == token })
	if found := check(e); len(found) == 0 || found[0].what != exactly {
		t.Errorf("it never ran: found %v", found)
	}
}

// A process that is put aside between the readings of its two clocks reads them again: else the clock seems set.
func TestBothClocks_AreReadAtOneMoment(t *testing.T) {
	t.Parallel()
	var now, tries int64
	steady := func() int64 { return now }
	aside := int64(30 * time.Millisecond)
	wall := func() int64 {
		if tries++; tries < 4 {
			now += aside
		}
		return now + 7
	}
	if at, then := bothClocks(steady, wall); then-at != 7 || tries != 4 {
		t.Errorf("the clocks differ by %d after %d tries", then-at, tries)
	}
	tries = -1000 // always put aside: the best reading counts
	wall = func() int64 {
		tries++
		now += aside + 1000 + tries
		return now
	}
	if at, then := bothClocks(steady, wall); then-at != aside+1 {
		t.Errorf("of many readings, one %d off is taken", then-at)
	}
}

func TestTask_IsReadFromWords(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]task{
		"n=17 ms=20 fails=1 lock=2:x": {token: 17, takes: 20 * time.Millisecond, fails: 1, lock: 2, write: true},
		"n=3 lock=0:s":                {token: 3, lock: 0},
		`n="10000140" ms="5"`:         {token: 10_000_140, takes: 5 * time.Millisecond, lock: -1},
		"":                            {lock: -1},
	} {
		if got := parseTask(words); got != want {
			t.Errorf("%q is %+v", words, got)
		}
	}
}

// Faults joined by a plus sign are one that needs what each needs, and as many strokes as the one with the most.
func TestFault_SeveralAtOnce(t *testing.T) {
	t.Parallel()
	f, known := faultNamed("promotion-asynchronous+serve-killed")
	if !known || f.strokes != 4 || !f.standby || !f.own || f.lines {
		t.Errorf("%+v, %v", f, known)
	}
	if _, known := faultNamed("serve-killed+rain"); known {
		t.Error("a fault that is none is taken for one")
	}
	done := map[string]bool{}
	var mu sync.Mutex
	stroke := func(name string) func(context.Context, *stage) error {
		return func(context.Context, *stage) error {
			mu.Lock()
			defer mu.Unlock()
			done[name] = true
			return nil
		}
	}
	both := []fault{{stroke: stroke("a"), strokes: 1}, {stroke: stroke("b"), strokes: 2}}
	if err := allAtOnce(t.Context(), &stage{}, both); err != nil || len(done) != 2 {
		t.Errorf("only %v is done, %v", done, err)
	}
	clear(done)
	if err := allAtOnce(t.Context(), &stage{strokes: 1}, both); err != nil || len(done) != 1 || !done["b"] {
		t.Errorf("with the second stroke %v is done, %v", done, err)
	}
}

// The same seed plans the same faults, each round has all of them, and another seed has another order.
func TestPlan_IsTheSeeds(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) (names []string) {
		for n := range len(faults()) {
			names = append(names, planned(seed, n+1, faults()).fault.name)
		}
		return names
	}
	one := order(7)
	if !slices.Equal(one, order(7)) || slices.Equal(one, order(8)) {
		t.Errorf("seed 7 gives %v, then %v; seed 8 %v", one, order(7), order(8))
	}
	if slices.Sort(one); len(slices.Compact(one)) != len(faults()) {
		t.Errorf("a round lacks faults: %v", one)
	}
}

func TestNamed_KeepsAllButTheDatabase(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://a:b@h:5433/app?sslmode=disable": "postgres://a:b@h:5433/other?sslmode=disable",
		"host=h user=a dbname=app":                  "host=h user=a dbname=app dbname=other",
		"postgres://a@h":                            "postgres://a@h/other",
	} {
		if got, err := named(dsn, "other"); err != nil || got != want {
			t.Errorf("%s becomes %s, %v", dsn, got, err)
		}
	}
}

// The head of the table has each invariant, and a line says what was broken.
func TestReport_CountsByFaultAndInvariant(t *testing.T) {
	t.Parallel()
	r := &report{seed: 4}
	f := faults()[0]
	for _, found := range [][]violation{nil, {{alone, "x"}, {alone, "y"}, {ends, "z"}}} {
		r.add(outcome{history: history{fault: f}, jobs: 10, strokes: 3, took: time.Second, found: found})
	}
	if got := r.last(); got != "jobs=20 faults=6 histories=2 violations=3 seed=4" {
		t.Errorf("the last line is %s", got)
	}
	if got := r.lines[0].broken(); got != "ends 1, alone 2" {
		t.Errorf("the line says %s", got)
	}
	if text := r.markdown(); !strings.Contains(text, "| "+f.words+" | 2 | 6 | 20 | 1 | 0 | 2 | 0 |") {
		t.Errorf("as Markdown:\n%s", text)
	}
}
