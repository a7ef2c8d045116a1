package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bellhop/scheduler"
)

// A list of jobs, of failures, and an order for all that match keep within the time that somebody typed.
func TestTimes_ListsAndOrdersKeepWithinThem(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, key, state, attempt, created_at, started_at, ended_at, error)
		select 'mail', 'h' || g, 'failed', 1, now() - g * interval '1 hour', now() - g * interval '1 hour', now() - g * interval '1 hour', 'after ' || repeat('x', g)
		  from generate_series(1, 9) g`)
	keys := func(page string) (found string) {
		for g := 1; g <= 9; g++ {
			if strings.Contains(page, fmt.Sprintf(`<td class="key">h%d<`, g)) {
				found += fmt.Sprint(g)
			}
		}
		return found
	}
	for query, want := range map[string]string{
		"since=150m": "12", "until=150m": "3456789", "since=330m&until=150m": "345", "": "123456789",
		"since=2000-01-01&until=150m":             "3456789",
		"since=150m&state=failed&state=succeeded": "12", "since=soon": "123456789",
	} {
		if got := keys(s.get(http.StatusOK, "/jobs?"+query)); got != want {
			t.Errorf("/jobs?%s has %s, not %s", query, got, want)
		}
	}
	for query, want := range map[string]int{"since=150m": 2, "until=150m": 7, "since=330m&until=150m": 3, "": 9, "within=1h": 0} {
		if page := s.get(http.StatusOK, "/failures?"+query); strings.Count(page, `id="g-`) != want {
			t.Errorf("/failures?%s has %d groups, not %d", query, strings.Count(page, `id="g-`), want)
		}
	}
	for _, path := range []string{"/jobs?since=soon", "/failures?until=soon"} {
		if page := s.get(http.StatusOK, path); !strings.Contains(page, "is not a valid time. So long ago: 90m, 2h, 3d") {
			t.Errorf("%s does not say what is wrong", path)
		}
	}
	to := s.post(http.StatusSeeOther, "/do/plan", url.Values{"verb": {"retry"}, "since": {"330m"}, "until": {"150m"}})
	if page := s.get(http.StatusOK, to); !strings.Contains(page, "3 jobs would be changed") || !strings.Contains(page, "submitted since") {
		t.Errorf("the plan is not for what was shown:\n%s", page)
	}
	// What is no time is no leave to take all.
	s.post(http.StatusBadRequest, "/do/plan", url.Values{"verb": {"retry"}, "since": {"soon"}})
	s.post(http.StatusBadRequest, "/do/plan", url.Values{"verb": {"retry"}, "type": {"x"}, "failure": {"x"}, "until": {"soon"}})
}

// A job is tried again with other words and another priority at once, or not at all.
func TestAgain_ARetryWithChanges(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, args, state, attempt, started_at, ended_at)
		values ('mail', 'to "ann"', 'failed', 1, now(), now()), ('mail', null, 'failed', 1, now(), now()), ('mail', 'to bob', 'ready', 0, null, null)`)
	is := func(id int) string {
		return s.one(`select concat_ws('|', state, priority, args) from bellhop.jobqueue where id = $1`, id)
	}
	page := s.get(http.StatusOK, "/jobs/1")
	if !strings.Contains(page, `name="args" value="to &#34;ann&#34;"`) || !strings.Contains(page, `action="/do/again"`) {
		t.Errorf("the page offers no retry with changes:\n%s", page)
	}
	s.post(http.StatusBadRequest, "/do/again", url.Values{"id": {"1"}, "priority": {"77"}, "args": {"to eve"}})
	s.post(http.StatusConflict, "/do/again", url.Values{"id": {"1"}, "priority": {"7"}, "args": {"to\neve"}})
	s.post(http.StatusBadRequest, "/do/again", url.Values{"id": {"1"}, "priority": {"soon"}})
	if got := is(1); got != `failed|0|to "ann"` {
		t.Errorf("what was refused has left %s", got)
	}
	to := s.post(http.StatusSeeOther, "/do/again", url.Values{"id": {"1"}, "priority": {"-3"}, "args": {"to eve"}, "was": {`to "ann"`}, "back": {"/jobs/1"}})
	if page = s.get(http.StatusOK, to); is(1) != "ready|-3|to eve" || !strings.Contains(page, "1 job was to be tried again, with your changes") {
		t.Errorf("it is %s", is(1))
	}
	// What has no argument keeps none, and what is not over stays as it is.
	s.post(http.StatusSeeOther, "/do/again", url.Values{"id": {"2"}, "args": {""}, "was": {""}, "priority": {"0"}})
	s.post(http.StatusSeeOther, "/do/again", url.Values{"id": {"3"}, "args": {"to eve"}, "was": {"to bob"}, "priority": {"5"}})
	if a, b := is(2), is(3); a != "ready|0" || b != "ready|0|to bob" {
		t.Errorf("they are %s and %s", a, b)
	}
	if page = s.get(http.StatusOK, "/jobs/3"); strings.Contains(page, `action="/do/again"`) {
		t.Error("what waits is offered to be tried again")
	}
	s.who = aReader
	s.post(http.StatusForbidden, "/do/again", url.Values{"id": {"1"}, "args": {"mine"}})
}

// A long log comes page by page, each line once, and a page is never larger than one can load.
func TestLog_PageByPage(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('short'), ('long')`)
	s.exec(`insert into bellhop.log (job, attempt, level, line) select 1, 1, case when g % 1000 = 0 then 'err' else 'out' end, 'line ' || g from generate_series(1, 4500) g`)
	s.exec(`insert into bellhop.log (job, attempt, level, line) select 2, 1, 'out', repeat('<"&>', 400) from generate_series(1, 900) g`)
	for job, want := range map[int][]int{1: {2000, 2000, 500}, 2: nil} {
		path, seen := fmt.Sprintf("/jobs/%d", job), map[string]bool{}
		for n := 0; path != ""; n++ {
			page := s.get(http.StatusOK, path)
			if len(page) > 2_000_000 {
				t.Errorf("%s has %d bytes", path, len(page))
			}
			lines := strings.Split(page, `<tr id="l-`)[1:]
			if want != nil && len(lines) != want[n] {
				t.Errorf("%s has %d lines, not %d", path, len(lines), want[n])
			}
			for _, l := range lines {
				id, _, _ := strings.Cut(l, `"`)
				if seen[id] {
					t.Fatalf("line %s comes twice", id)
				}
				seen[id] = true
			}
			path = ""
			if _, rest, more := strings.Cut(page, `rel="prev" href="`); more {
				path, _, _ = strings.Cut(rest, `"`)
				path = strings.ReplaceAll(path, "&amp;", "&")
			}
		}
		if all := map[int]int{1: 4500, 2: 900}[job]; len(seen) != all {
			t.Errorf("job %d: %d lines, not %d", job, len(seen), all)
		}
	}
	page := s.get(http.StatusOK, "/jobs/1?find=line+3000")
	if strings.Count(page, `<tr id="l-`) != 1 || strings.Contains(page, `rel="prev"`) {
		t.Error("what is looked for is not found alone")
	}
	if page = s.get(http.StatusOK, "/jobs/1?level=err"); strings.Count(page, `<tr id="l-`) != 4 {
		t.Error("the level is not minded")
	}
}

// Failures are kept for a moment, and not for longer than until a job is heard to have changed.
func TestFailures_AreCurrentAfterAChange(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, error, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'mail', 'disk ' || g || ' is full', 'failed', 1, 1, now(), now(), 1 from generate_series(1, 3) g`)
	shows := func(words string) {
		t.Helper()
		if body := s.get(http.StatusOK, "/failures"); !strings.Contains(body, words) {
			t.Errorf("it does not say %q:\n%s", words, body)
		}
	}
	shows("3 jobs failed, in 1 group")
	s.post(http.StatusSeeOther, "/do/retry", url.Values{"id": {"1"}, "back": {"/failures"}})
	shows("2 jobs failed, in 1 group")
	s.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = 2")
	s.pages.Happened([]scheduler.JobID{2})
	shows("1 job failed, in 1 group")
}
