package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/scheduler/sketch"
	"bellhop/sql"
	"bellhop/sql/view"
)

// What is told twice stands once, what was told last counts, and what is old goes by itself.
func TestHistory_StandsOnceHoweverOftenItIsTold(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	minute := time.Now().Truncate(time.Minute).Add(-time.Minute)
	m := history.Minute{Type: "cat", Minute: minute,
		Counts: history.Counts{Taken: 3, Succeeded: 2, Failed: 1, ItemsDone: 1 << 40}}
	for _, d := range []time.Duration{time.Millisecond, time.Second, time.Second} {
		m.Wait.Add(d)
		m.Run.Add(2 * d)
	}
	old := history.Minute{Type: "cat", Minute: minute.Add(-33 * 24 * time.Hour), Counts: history.Counts{Succeeded: 1}}
	for range 2 {
		if err := e.registry.History(t.Context(), e.me, []history.Minute{m, old}); err != nil {
			t.Fatal(err)
		}
		m.Succeeded++
	}
	if err := e.registry.History(t.Context(), e.me+1, []history.Minute{m}); err != nil {
		t.Fatal(err)
	}
	look := view.NewLook(e.conn)
	rows, err := look.History(t.Context(), minute.Add(-40*24*time.Hour), time.Time{}, nil)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	r := rows[0]
	if r.Taken != 3 || r.Succeeded != 3 || r.Failed != 1 || r.ItemsDone != 1<<40 ||
		!r.Minute.Equal(minute) || r.Instance != int64(e.me) {
		t.Errorf("%+v", r)
	}
	var run sketch.Sketch
	run.AddPairs(slices.Concat(r.Run, rows[1].Run))
	if p50, _ := run.Quantile(0.5); run.N() != 6 || p50 < 1875*time.Millisecond || p50 > 2125*time.Millisecond {
		t.Errorf("%d runs, p50 %v", run.N(), p50)
	}
	rows, err = look.History(t.Context(), minute, time.Time{}, []scheduler.TypeName{"dog"})
	if err != nil || len(rows) != 0 {
		t.Errorf("of another type: %v, %v", rows, err)
	}
}

// A page that shows a day reads that day, however much there is. Which of two indexes serves, the planner decides:
// that of types skips to the day, too, where there are few types.
func TestHistory_IsReadByAnIndex(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.history
		select timestamptz '2026-01-01' + g * interval '1 min', 'cat', 1, 1, 1, 0, 0, 0, 0, 0, '{}', '{}'
		from generate_series(1, 20000) g`)
	e.exec("analyze bellhop.history")
	since := time.Date(2026, 1, 14, 0, 0, 0, 0, time.UTC)
	rows, err := e.conn.Query(t.Context(), "explain "+sql.Query("look_history"), since, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if !strings.Contains(plan.String(), "Index Cond: ((minute >=") || strings.Contains(plan.String(), "Seq Scan") {
		t.Errorf("more than the day is read:\n%s", plan.String())
	}
}
