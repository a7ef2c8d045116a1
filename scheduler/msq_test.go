package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// row is a row of a test's table, and what the agent does about it.
type row struct {
	line  string
	fails int  // so many times before it succeeds; a large number: always
	stays bool // though the agent says OK, the query yields it again
}

// msqWorld runs an MSQ job over a table, every answer in its own time.
type msqWorld struct {
	*rapid.T
	books    *MSQ
	table    []row
	limit    int
	losses   int // that are left to happen
	waiting  []row
	flight   map[int64]row
	failures map[int64]int
	accepted int64
	rounds   int
}

func newMSQWorld(t *rapid.T, repeat Repeat) *msqWorld {
	w := &msqWorld{T: t, books: NewMSQ(repeat), flight: map[int64]row{}, failures: map[int64]int{}, rounds: 1}
	n := rapid.IntRange(0, 12).Draw(t, "rows")
	for i := range n {
		w.table = append(w.table, row{line: fmt.Sprintf(`id="%d"`, i),
			fails: rapid.SampledFrom([]int{0, 0, 0, 1, 2, 1000}).Draw(t, "fails"),
			stays: rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "stays")})
	}
	w.limit = rapid.IntRange(1, 12).Draw(t, "limit")
	w.losses = rapid.IntRange(0, 5).Draw(t, "losses")
	w.query()
	return w
}

func (w *msqWorld) query() { w.waiting = slices.Clone(w.table[:min(w.limit, len(w.table))]) }

// read takes one row of the query, or its end.
func (w *msqWorld) read() {
	if len(w.waiting) == 0 {
		w.books.End()
		return
	}
	r := w.waiting[0]
	w.waiting = w.waiting[1:]
	if item, ok := w.books.Row(r.line); ok {
		if _, twice := w.flight[item]; twice {
			w.Fatalf("item %d was given out twice", item)
		}
		w.flight[item] = r
		w.accepted++
	}
}

// answer ends one try at an item in flight.
func (w *msqWorld) answer() {
	items := make([]int64, 0, len(w.flight))
	for item := range w.flight {
		items = append(items, item)
	}
	slices.Sort(items)
	item := rapid.SampledFrom(items).Draw(w.T, "item")
	r := w.flight[item]
	result := Result{Line: &Line{Item: item, Args: r.line}}
	switch {
	case w.losses > 0 && rapid.Bool().Draw(w.T, "lost"):
		w.losses--
		result.Outcome = OutcomeLost
	case r.fails > w.failures[item]:
		w.failures[item]++
		result.Outcome = rapid.SampledFrom([]Outcome{OutcomeFailed, OutcomeDied, OutcomeTimedOut}).Draw(w.T, "how")
	}
	fate, tries := w.books.Answer(result)
	if tries != w.failures[item] && result.Outcome != OutcomeSucceeded {
		w.Fatalf("item %d failed %d times, the books say %d", item, w.failures[item], tries)
	}
	switch {
	case result.Outcome == OutcomeSucceeded && fate == ItemDone:
		if !r.stays {
			w.table = slices.DeleteFunc(w.table, func(other row) bool { return other.line == r.line })
		}
	case result.Outcome == OutcomeLost && fate == ItemRetry, w.failures[item] < ItemTries && fate == ItemRetry:
		return
	case w.failures[item] == ItemTries && fate == ItemFailed:
	default:
		w.Fatalf("after %s (failure %d): fate %d", result.Outcome, w.failures[item], fate)
	}
	delete(w.flight, item)
}

// run goes on until the job is over.
func (w *msqWorld) run() MSQVerdict {
	for {
		if w.books.InFlight() != len(w.flight) {
			w.Fatalf("%d in flight, the books say %d", len(w.flight), w.books.InFlight())
		}
		switch {
		case len(w.flight) == 0, !w.books.over && rapid.Bool().Draw(w.T, "read"):
			w.read()
		default:
			w.answer()
		}
		switch next, conclusion := w.books.Turn(); next {
		case NextRound:
			w.rounds++
			w.query()
		case NextFinish:
			return conclusion
		}
		if w.rounds > 4*(len(w.table)+13) {
			w.Fatalf("round %d, and %d rows in the table", w.rounds, len(w.table))
		}
	}
}

// Law: whatever the order of answers and losses, the job ends; every row that
// became an item is done or failed; an item fails three times at the most.
func TestMSQ_EndsWithEveryItemAccountedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		repeat := rapid.SampledFrom([]Repeat{RepeatOnce, RepeatUntilEmpty}).Draw(t, "repeat")
		w := newMSQWorld(t, repeat)
		rows := len(w.table[:min(w.limit, len(w.table))])
		c := w.run()
		i := w.books.Items
		if len(w.flight) > 0 || i.Done+i.Failed != w.accepted || i.Total != w.accepted {
			t.Fatalf("%d accepted, %d in flight: %+v", w.accepted, len(w.flight), i)
		}
		if len(w.books.tries) > 0 || len(w.books.skip) != int(i.Failed) {
			t.Fatalf("the books remember %d tries and %d lines of %d failed items", len(w.books.tries), len(w.books.skip),
				i.Failed)
		}
		if repeat == RepeatOnce && (w.rounds > 1 || w.accepted != int64(rows)) {
			t.Fatalf("once, and there were %d rounds with %d items of %d rows", w.rounds, w.accepted, rows)
		}
		if c.OK != (c.Error == "") || c.OK && i.Failed > 0 || c.OK && repeat == RepeatUntilEmpty && len(w.table) > 0 {
			t.Fatalf("%+v with %+v and %d rows left", c, i, len(w.table))
		}
		if !c.OK && i.Failed == 0 && !strings.Contains(c.Error, "though the agent said OK") {
			t.Fatalf("%+v with %+v", c, i)
		}
	})
}

// drive runs a job over a table with an agent that answers at once.
func drive(t *testing.T, m *MSQ, query func(round int) []string, agent func(line string) Outcome) MSQVerdict {
	t.Helper()
	for round := 1; round < 1000; round++ {
		for _, line := range query(round) {
			item, ok := m.Row(line)
			for ok {
				fate, _ := m.Answer(Result{Line: &Line{Item: item, Args: line}, Outcome: agent(line)})
				ok = fate == ItemRetry
			}
		}
		m.End()
		if next, c := m.Turn(); next == NextFinish {
			return c
		}
	}
	t.Fatal("it does not end")
	return MSQVerdict{}
}

func TestMSQ_NoProgressBecauseOnlyFailedItemsAreLeft(t *testing.T) {
	t.Parallel()
	m, good := NewMSQ(RepeatUntilEmpty), map[string]bool{"b": true, "c": true}
	tries := map[string]int{}
	c := drive(t, m, func(int) []string {
		list := []string{"a"}
		for line := range good {
			list = append(list, line)
		}
		return list
	}, func(line string) Outcome {
		tries[line]++
		if !good[line] {
			return OutcomeFailed
		}
		delete(good, line)
		return OutcomeSucceeded
	})
	if c.OK || !strings.HasPrefix(c.Error, "no_progress: the query yields only 1 rows that have failed 3 times each") {
		t.Errorf("%+v", c)
	}
	if tries["a"] != ItemTries || m.Items != (Items{Total: 3, Done: 2, Failed: 1}) {
		t.Errorf("tries %v, items %+v", tries, m.Items)
	}
}

func TestMSQ_NoProgressThoughTheAgentSaysOK(t *testing.T) {
	t.Parallel()
	m := NewMSQ(RepeatUntilEmpty)
	orders := [][]string{{"a", "b"}, {"b", "a"}} // a query without ORDER BY
	c := drive(t, m, func(round int) []string { return orders[round%2] }, func(string) Outcome { return OutcomeSucceeded })
	if c.OK || !strings.HasPrefix(c.Error, "no_progress: the query yielded the same 2 rows 3 times") || m.Round != 3 {
		t.Errorf("%+v in round %d", c, m.Round)
	}
	// A queue that is refilled with equal numbers of other rows does make progress.
	m = NewMSQ(RepeatUntilEmpty)
	c = drive(t, m, func(round int) []string {
		if round > 50 {
			return nil
		}
		return []string{fmt.Sprint("x", round), fmt.Sprint("y", round)}
	}, func(string) Outcome { return OutcomeSucceeded })
	if !c.OK || m.Items != (Items{Total: 100, Done: 100}) {
		t.Errorf("%+v, %+v", c, m.Items)
	}
}

func TestMSQ_SomeItemsFailed(t *testing.T) {
	t.Parallel()
	m := NewMSQ(RepeatOnce)
	c := drive(t, m, func(int) []string { return []string{"a", "b", "c"} }, func(line string) Outcome {
		if line == "b" {
			return OutcomeDied
		}
		return OutcomeSucceeded
	})
	if c.OK || c.Error != "items_failed: 1 of 3 items failed; see bellhop.item" {
		t.Errorf("%+v", c)
	}
	if c := drive(t, NewMSQ(RepeatOnce), func(int) []string { return nil }, nil); !c.OK {
		t.Errorf("no rows: %+v", c)
	}
}

// A query that was cut off runs again. What failed for good before stays failed.
func TestMSQ_RestartForgetsNoFailure(t *testing.T) {
	t.Parallel()
	for _, repeat := range []Repeat{RepeatOnce, RepeatUntilEmpty} {
		m := NewMSQ(repeat)
		for range ItemTries {
			if m.InFlight() == 0 {
				m.Row("bad")
			}
			m.Answer(Result{Line: &Line{Item: 1, Args: "bad"}, Outcome: OutcomeFailed})
		}
		item, _ := m.Row("half way")
		m.Drop(item)
		m.Restart()
		left := []string{"bad", "good"}
		c := drive(t, m, func(int) []string { return left }, func(line string) Outcome {
			left = []string{"bad"}
			return OutcomeSucceeded
		})
		if c.OK || m.Items != (Items{Total: 2, Done: 1, Failed: 1}) {
			t.Errorf("%s: %+v, %+v", repeat, c, m.Items)
		}
	}
}

func TestMSQ_TooManyFailuresEndIt(t *testing.T) {
	t.Parallel()
	m := NewMSQ(RepeatUntilEmpty)
	n := 0
	c := drive(t, m, func(int) []string {
		var lines []string
		for range 1000 {
			n++
			lines = append(lines, fmt.Sprint(n))
		}
		return lines
	}, func(string) Outcome { return OutcomeFailed })
	if c.OK || !strings.HasPrefix(c.Error, "too_many_failures: ") || n > failedMost+1000 {
		t.Errorf("%+v after %d rows", c, n)
	}
}

// Memory does not grow with the number of rows.
func TestMSQ_RemembersNothingOfRowsThatAreDone(t *testing.T) {
	m := NewMSQ(RepeatUntilEmpty)
	line := []byte(`id="0000000000"`)
	n := 0
	perRow := testing.AllocsPerRun(200_000, func() {
		n++
		for i, v := len(line)-2, n; v > 0; i, v = i-1, v/10 {
			line[i] = byte('0' + v%10)
		}
		item, _ := m.Row(string(line))
		if n%10 == 0 {
			m.Answer(Result{Line: &Line{Item: item}, Outcome: OutcomeFailed})
		}
		m.Answer(Result{Line: &Line{Item: item}, Outcome: OutcomeSucceeded})
	})
	if perRow > 1 || len(m.tries) != 0 || len(m.skip) != 0 || m.InFlight() != 0 {
		t.Errorf("%d rows: %.0f allocations each, %d tries, %d lines, %d in flight", n, perRow, len(m.tries), len(m.skip),
			m.InFlight())
	}
}

func TestRepeatOf_ALimitMeansUntilEmpty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said  Repeat
		query string
		want  Repeat
	}{
		{"", "select id from t", RepeatOnce},
		{"", "select id from t limit 500", RepeatUntilEmpty},
		{"", "select id from t LiMiT 5", RepeatUntilEmpty},
		{"", "select speed_limit from t", RepeatOnce},
		{"", "select id from t fetch first 5 rows only", RepeatOnce},
		{RepeatOnce, "select id from t limit 500", RepeatOnce},
		{RepeatUntilEmpty, "select id from t", RepeatUntilEmpty},
	} {
		if got := RepeatOf(c.said, c.query); got != c.want {
			t.Errorf("RepeatOf(%q, %q) = %s, want %s", c.said, c.query, got, c.want)
		}
	}
}
