package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/sql"
	"bellhop/sql/view"
)

// ran inserts n jobs of a key that started so many minutes ago, and took a minute.
func (e *env) ran(share string, n, minutes int) {
	e.Helper()
	e.exec(`insert into bellhop.jobqueue (type, share, state, attempt, fence, created_at, started_at, ended_at, exit_code)
		select 'cat', nullif($1, '-'), 'succeeded', 1, 1, t, t, t + interval '1 minute', 0
		  from generate_series(1, $2), lateral (select now() - $3 * interval '1 minute' as t) x`, share, n, minutes)
}

// hour shows the last hour of the keys of a type: starts, minutes of slots, part, and the part that the weight gives.
func (e *env) hour() string {
	e.Helper()
	of := "cat"
	rows, err := view.NewLook(e.conn).Shares(e.Context(), &of)
	if err != nil {
		e.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		h := r.Hour
		got = append(got, fmt.Sprintf("%s %d %.0f %.2f %.2f", r.Name, h.Starts, h.Seconds/60, h.Part, h.Due))
		if !r.Hour.Whole {
			got = append(got, "…")
		}
	}
	return strings.Join(got, ", ")
}

// The last hour tells of each key what it had, whether or not it has work now. A job that was tried again counts once.
func TestShareHour_CountsWhatEachKeyHad(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.ran("old", 9, 70)
	if got := e.hour(); got != "" {
		t.Errorf("without a start in the hour it is %s", got)
	}
	e.ran("a", 6, 30)
	e.ran("b", 3, 20)
	e.ran("-", 3, 10)
	e.exec("insert into bellhop.share values ('cat', 'a', 3), ('cat', 'idle', 90)")
	e.exec("update bellhop.jobqueue set attempt = 2, attempt_at = now() - interval '5 minutes', ended_at = now() where share = 'b'")
	e.exec("insert into bellhop.jobqueue (type, share) values ('dog', 'a')")
	if got, want := e.hour(), "a 6 6 0.50 0.60, b 3 15 0.25 0.20, idle 0 0 0.00 0.00"; got != want {
		t.Errorf("it is %s\nwant %s", got, want)
	}
	e.shared("waits", 2)
	e.exec("insert into bellhop.share_line select 'cat', '', 0, 'waits', 0, 0, 1, false, 0")
	if got, want := e.hour(), "a 6 6 0.50 0.50, b 3 15 0.25 0.17, idle 0 0 0.00 0.00, waits 0 0 0.00 0.17"; got != want {
		t.Errorf("it is %s\nwant %s", got, want)
	}
}

// A key with more waiting jobs than rows are read still has its starts: they stand before its first ready job. If rows
// that are not read may tell of the hour, it is said.
func TestShareHour_LooksBehindTheBacklogOfAKey(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.ran("old", 10, 90)
	e.ran("flood", 40, 30)
	e.shared("flood", 2000)
	e.ran("late", 5, 3)
	for most, want := range map[int]string{50_000: "flood 40 true, late 5 true", 100: "flood 40 false, late 5 false", 40: "flood 19 false, late 5 false"} {
		got := e.one("with r as ("+sql.Query("look_share_hour")+") select string_agg(concat_ws(' ', name, starts, whole::text), ', ' order by name) from r",
			"cat", most, time.Now().Add(-time.Hour))
		if got != want {
			t.Errorf("of %d rows it is %s, want %s", most, got, want)
		}
	}
}

// What the last hour reads is bounded, however many jobs have ended, and it uses the indexes that it names.
func TestPlans_ShareHourReadsBoundedRows(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.ran("a", 30000, 30)
	e.ran("b", 60000, 200)
	e.exec("vacuum analyze bellhop.jobqueue")
	text := sql.Query("look_share_hour")
	args := []string{"'cat'", "5000", "now() - interval '1 hour'"}
	plan, pages := planned(t, e.conn, text, args...)
	if readsAll(t, plan, "jobqueue") || pages > 600 {
		t.Errorf("it reads %d pages:\n%s", pages, plan)
	}
	e.exec("insert into bellhop.jobqueue (type, share) select 'cat', 'key ' || g % 300 from generate_series(1, 30000) g")
	e.exec("vacuum analyze bellhop.jobqueue")
	if plan, pages = planned(t, e.conn, text, args...); readsAll(t, plan, "jobqueue") || pages > 900 {
		t.Errorf("behind a backlog of 300 keys it reads %d pages:\n%s", pages, plan)
	}
	for _, index := range []string{`"jobqueue_shared"`, `"jobqueue_pkey"`} {
		if !strings.Contains(plan, index) {
			t.Errorf("it does not use %s:\n%s", index, plan)
		}
	}
}
