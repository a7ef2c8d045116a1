package page

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// How far the items of a job are is told in numbers and by a bar; without a total no end is foretold.
func TestItemsOf(t *testing.T) {
	t.Parallel()
	n := func(n int64) *int64 { return &n }
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	begun := now.Add(-100 * time.Second)
	for _, c := range []struct {
		job          view.JobRow
		says, rest   string
		done, failed float64
	}{
		{view.JobRow{State: scheduler.Failed, ItemsTotal: n(2147), ItemsDone: n(1988), ItemsFailed: n(159)}, "1,988 done, 159 failed of 2,147", "", 926, 74},
		{view.JobRow{State: scheduler.Running, StartedAt: &begun, ItemsTotal: n(1000), ItemsDone: n(490), ItemsFailed: n(10)},
			"490 done, 10 failed of 1,000", "5/s, done in about 1 min 40 s", 490, 10},
		{view.JobRow{State: scheduler.Running, StartedAt: &begun, ItemsDone: n(400)}, "400 done, total unknown until the query's last row is read", "4/s", 800, 0},
		{view.JobRow{State: scheduler.Running, StartedAt: &begun, ItemsDone: n(0)}, "0 done, total unknown until the query's last row is read", "", 0, 0},
	} {
		b := itemsOf(c.job, now)
		far, want := fmt.Sprintf("%.0f %.0f", b.Done, b.Failed), fmt.Sprintf("%.0f %.0f", c.done, c.failed)
		if b.Says != c.says || b.Rest != c.rest || far != want {
			t.Errorf("%+v, not %+v", b, c)
		}
	}
	if itemsOf(view.JobRow{}, now) != nil {
		t.Error("a job without items has some")
	}
}

// Failed items are grouped by error, five of each, and another page has all of them.
func TestItems_GroupedByError(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, msq, state, attempt, fence, started_at, ended_at, items_total, items_done, items_failed, error)
		values ('ocr', 'select 1', 'failed', 1, 7, now(), now(), 400, 100, 300, 'items_failed')`)
	s.exec(`insert into bellhop.item (job, fence, item, line, tries, error) select 1, 7, g, 'file="<' || g || '>"', 3,
		case when g % 3 = 0 then 'killed' else 'bad picture at byte ' || g end from generate_series(1, 300) g`)
	page := s.get(http.StatusOK, "/jobs/1")
	if strings.Count(page, "<small>item ") != 10 || !strings.Contains(page, "<b>200 ×</b>") || !strings.Contains(page, "&lt;5&gt;") {
		t.Errorf("the page of the job has other items:\n%s", page)
	}
	_, rest, _ := strings.Cut(page, `<a href="/jobs/1/items?error=bad`)
	rest, _, _ = strings.Cut(rest, `"`)
	path, seen := "/jobs/1/items?error=bad"+html.UnescapeString(rest), 0
	for pages := 0; path != "" && pages < 9; pages++ {
		page := s.get(http.StatusOK, path)
		seen += strings.Count(page, `<td class="error">bad picture at byte `)
		if strings.Contains(page, ">killed<") {
			t.Error("another error is among them")
		}
		path = ""
		if _, rest, more := strings.Cut(page, `rel="next" href="`); more {
			path, _, _ = strings.Cut(rest, `"`)
			path = html.UnescapeString(path)
		}
	}
	if seen != 200 {
		t.Errorf("%d items were listed, not 200", seen)
	}
	s.get(http.StatusOK, "/jobs/1/items?fence=x&item=-1")
	s.get(http.StatusNotFound, "/jobs/9/items")
	s.who = aReader
	if page := s.get(http.StatusOK, "/jobs/1/items"); strings.Contains(page, "file=") {
		t.Error("a reader sees the lines of items")
	}
}
