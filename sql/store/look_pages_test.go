package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
	"bellhop/sql/view"
)

// Failed jobs are found however many they are and however old, page by page, by their index: a full page each time.
func TestUnfinished_FailedOnesHoweverManyAndOld(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, key, state, attempt, fence, started_at, ended_at, exit_code, run_at)
	        select case when g % 7 = 0 then 'rare' else 'cat' end, 'k' || g, 'failed', 1, 1, now(), now(), 1, case when g % 50 = 0 then now() end
	          from generate_series(1, 5000) g`)
	e.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'cat', 'succeeded', 1, 1, now(), now(), 0 from generate_series(1, 60000)`)
	look := view.NewLook(e.conn)
	all := func(f view.JobFilter, full bool) (seen []scheduler.JobID) {
		t.Helper()
		var before *int64
		for {
			jobs, next, err := look.Unfinished(t.Context(), f, before, 500)
			if err != nil {
				t.Fatal(err)
			}
			for i := range jobs {
				if jobs[i].State != scheduler.Failed {
					t.Fatalf("job %d is %s", jobs[i].ID, jobs[i].State)
				}
				seen = append(seen, jobs[i].ID)
			}
			if next == nil {
				break
			}
			if full && len(jobs) != 500 {
				t.Fatalf("a page of %d jobs, and there are more", len(jobs))
			}
			before = next
		}
		if !slices.IsSortedFunc(seen, func(a, b scheduler.JobID) int { return int(b - a) }) {
			t.Error("they are not in order")
		}
		return slices.Compact(seen)
	}
	failed := []scheduler.JobState{scheduler.Failed}
	for _, c := range []struct {
		name string
		f    view.JobFilter
		want int
		full bool
	}{
		{"all", view.JobFilter{States: failed}, 5000, true},
		{"of a type", view.JobFilter{States: failed, Types: []scheduler.TypeName{"rare"}}, 714, true},
		{"of a key", view.JobFilter{States: failed, Key: "k49"}, 111, false},
		{"and held ones", view.JobFilter{States: append(failed, scheduler.Held)}, 5000, true},
	} {
		if n := len(all(c.f, c.full)); n != c.want {
			t.Errorf("%s: %d jobs, not %d", c.name, n, c.want)
		}
	}
}

// What failed is told of by type, host and words, each with its jobs, the newest first, and within a time.
func TestLatestFailed_TogetherWhatSaysTheSame(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, host, error, state, attempt, fence, started_at, ended_at, exit_code, run_at)
	        select 'cat', 'host' || g % 2, 'disk is full', 'failed', 1, 1, now(), now() - make_interval(hours => g), 1, case when g > 4 then now() end
	          from generate_series(1, 6) g`)
	e.exec(`insert into bellhop.jobqueue (type, error, state, attempt, fence, started_at, ended_at, exit_code)
	        values ('dog', 'disk is full', 'quarantined', 1, 1, now(), now(), 1), ('dog', null, 'failed', 1, 1, now(), now(), 1)`)
	told := func(within view.Span) (lines []string) {
		t.Helper()
		rows, err := view.NewLook(e.conn).LatestFailed(t.Context(), 100, within)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			host := "-"
			if r.Host != nil {
				host = *r.Host
			}
			hours := r.LastAt.Sub(*r.FirstAt).Round(time.Hour)
			lines = append(lines, fmt.Sprintf("%s %s %q %v %v", r.Type, host, r.Error, r.Jobs, hours))
		}
		slices.Sort(lines)
		return lines
	}
	want := []string{`cat host0 "disk is full" [6 4 2] 4h0m0s`, `cat host1 "disk is full" [5 3 1] 4h0m0s`,
		`dog - "" [8] 0s`, `dog - "disk is full" [7] 0s`}
	if got := told(view.Span{}); !slices.Equal(got, want) {
		t.Errorf("they are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	want = []string{`cat host0 "disk is full" [4 2] 2h0m0s`, `cat host1 "disk is full" [3] 0s`}
	if got := told(view.Span{Since: 270 * time.Minute, Until: 90 * time.Minute}); !slices.Equal(got, want) {
		t.Errorf("within a time they are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A list is planned once a connection, however large the queue: where it was planned at each
// look, that took longer than the look.
func TestLists_ArePlannedOnce(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'cat', case when g % 100 = 0 then 'failed' else 'succeeded' end, 1, 1, now(), now(), 0
	          from generate_series(1, 20000) g`)
	e.exec("insert into bellhop.jobqueue (type) select 'dog' from generate_series(1, 5000)")
	e.exec("analyze bellhop.jobqueue")
	look := view.NewLook(e.conn)
	for _, state := range []scheduler.JobState{scheduler.Ready, scheduler.Held, scheduler.Failed, scheduler.Succeeded} {
		for range 7 {
			filter := view.JobFilter{States: []scheduler.JobState{state}}
			if _, _, err := look.Unfinished(t.Context(), filter, nil, 50); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := look.LatestFailed(t.Context(), 100, view.Span{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"few": listing("page_jobs", "%"), "newest": listing("web_jobs", "%"), "failed": sql.Query("page_failed")} {
		var anew int64
		err := e.conn.QueryRow(t.Context(), "select custom_plans from pg_prepared_statements where statement like $1", text).Scan(&anew)
		if err != nil || anew != 0 {
			t.Errorf("%s: planned %d times for certain values: %v", name, anew, err)
		}
	}
	var mode string
	if err := e.conn.QueryRow(t.Context(), "show plan_cache_mode").Scan(&mode); err != nil || mode != "auto" {
		t.Errorf("statements that follow are planned with %q: %v", mode, err)
	}
}

// Who lists what failed alike, and who orders something for it, mean the same jobs.
func TestMasked_LeavesOutWhatDiffersFromJobToJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for text, want := range map[string]string{
		"disk 7 is full": "disk # is full", "disk 712 is full\nmore": "disk # is full", "id 3f2a-99": "id #-#",
		"no number": "no number", "": "", strings.Repeat("x", 400): strings.Repeat("x", 300), "a\r\nb": "a",
	} {
		var got string
		if err := e.conn.QueryRow(t.Context(), "select bellhop.masked($1)", text).Scan(&got); err != nil || got != want {
			t.Errorf("%q: %q, not %q: %v", text, got, want, err)
		}
	}
}
