package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// Jobs of one type that failed with one error, numbers aside, are one line from the third on; so are those that never
// ran since another one failed. A line begins only while there is room.
func TestFoldJobs(t *testing.T) {
	t.Parallel()
	row := func(id int, typ, text string, attempt int) view.JobRow {
		return view.JobRow{
			ID:      scheduler.JobID(id),
			Type:    scheduler.TypeName(typ),
			State:   scheduler.Failed,
			Error:   &text,
			Attempt: attempt,
		}
	}
	ready := view.JobRow{ID: 3, Type: "mail", State: scheduler.Ready}
	rows := []view.JobRow{
		row(9, "mail", "451 later (queue 9)", 1), row(8, "mail", "451 later (queue 12)", 1), row(7, "bill", "451 later (queue 1)", 1),
		row(6, "mail", "451 later (queue 7)", 1), row(5, "etl", "job 4 (a), which it needs, failed", 0),
		row(4, "etl", "job 1, which it needs, failed because of job 0", 0), ready, row(2, "etl", "job 1, which it needs, failed", 0),
	}
	for _, c := range []struct {
		most  int
		each  bool
		want  string
		taken int
	}{
		{50, false, "9+2 7 5+2 3", 8}, {50, true, "9 8 7 6 5 4 3 2", 8}, {2, false, "9+2 7", 4}, {3, false, "9+2 7 5+1", 6},
	} {
		lines, taken := foldJobs(rows, c.most, c.each)
		var got []string
		for _, l := range lines {
			text := fmt.Sprint(l.ID)
			if len(l.Also) > 0 {
				text += fmt.Sprintf("+%d", len(l.Also))
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want || taken != c.taken {
			t.Errorf("%d lines, each %v: %v of %d rows, not %s of %d", c.most, c.each, got, taken, c.want, c.taken)
		}
	}
	if lines, _ := foldJobs(rows, 50, false); !lines[2].NotRun() || lines[0].NotRun() {
		t.Error("what never ran is not told from what failed")
	}
}

// A list says how many jobs there are, has no column in which nothing stands, and a mark on its line means all of them.
func TestJobs_TheListSaysWhatItHas(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		select 'mail', 'failed', 1, now() - interval '3 s', now(), 'disk ' || g || ' is full' from generate_series(1, 60) g`)
	s.exec(`insert into bellhop.jobqueue (type) select 'other' from generate_series(1, 4) g`)
	page := s.get(http.StatusOK, "/jobs")
	for _, want := range []string{"Unfinished and failed jobs <small>64 jobs</small>", `<b class="also">+59</b>`, "<th class=\"n\">Took", "Show each job"} {
		if !strings.Contains(page, want) {
			t.Errorf("it has no %q:\n%s", want, page)
		}
	}
	for _, column := range []string{"<th>Key", "<th class=\"n\">Priority", "<th class=\"n\">Attempt", "<th>Where"} {
		if strings.Contains(page, column) {
			t.Errorf("it has %q, in which nothing stands", column)
		}
	}
	folded := page
	page = s.get(http.StatusOK, "/jobs?each=yes")
	if strings.Count(page, `<tr id="job-`) != 50 || !strings.Contains(page, `rel="next"`) {
		t.Error("each job is no line of its own")
	}
	_, rest, _ := strings.Cut(folded, `<input type="checkbox" name="id" value="60 `)
	ids, _, _ := strings.Cut(rest, `"`)
	s.post(http.StatusSeeOther, "/do/retry", url.Values{"id": {"60 " + ids}})
	if n := s.one("select count(*)::text from bellhop.jobqueue where type = 'mail' and state = 'ready'"); n != "60" {
		t.Errorf("%s jobs were retried by one mark, not 60", n)
	}
	s.exec(`update bellhop.jobqueue set priority = 7 where id = 61`)
	s.exec(`update bellhop.jobqueue set priority = -7 where id = 62`)
	for order, first := range map[string]string{
		"oldest": "1", "priority": "62", "type": "60", "nonsense": "64", "": "64",
	} {
		page := s.get(http.StatusOK, "/jobs?order="+order)
		_, rest, _ := strings.Cut(page, `<tr id="job-`)
		if got, _, _ := strings.Cut(rest, `"`); got != first {
			t.Errorf("%q begins with job %s, not %s", order, got, first)
		}
	}
	if page := s.get(http.StatusOK, "/jobs?key=x"); !strings.Contains(page, "0 jobs") {
		t.Error("an empty list says no number")
	}
}

// A list of jobs that fold goes on to the older ones until it has its lines; the states have their numbers, and a line
// that has nothing else to say has the arguments.
func TestJobs_TheListIsFull(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, args) select 'mail', 'order ' || g from generate_series(1, 60) g`)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		select 'mail', 'failed', 1, now() - interval '3 s', now(), 'disk ' || g || ' is full' from generate_series(1, 250) g`)
	page := s.get(http.StatusOK, "/jobs")
	for _, want := range []string{`<b class="also">+249</b>`, `<span class="given">order 60</span>`,
		`ready <b>60</b></span>`, `failed <b>250</b></span>`, `held <b>0</b></span>`, "<small>310 jobs</small>"} {
		if !strings.Contains(page, want) {
			t.Errorf("it has no %q:\n%s", want, page)
		}
	}
	if n := strings.Count(page, `<tr id="job-`); n != jobsMost {
		t.Errorf("it has %d lines", n)
	}
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		select 'mail', 'failed', 1, now() - interval '3 s', now(), 'disk ' || g || ' is full' from generate_series(1, 900) g`)
	if page := s.get(http.StatusOK, "/jobs?type=mail"); !strings.Contains(page, "<small>more than 1,000 jobs</small>") {
		t.Errorf("a filtered list does not count its jobs:\n%s", page)
	}
	if page := s.get(http.StatusOK, "/jobs?type=mail&since=1h"); !strings.Contains(page, "the same without the times:") {
		t.Error("the command is said to be the same")
	}
}
