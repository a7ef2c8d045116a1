package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/sql/view"
)

// What the clock starts is a lane a type and a workflow, the soonest first.
func TestComing_IsALaneEach(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 23, 14, 0, 0, 0, time.Local)
	at := func(minute int, name string, workflow bool, n int64) view.ComingRow {
		return view.ComingRow{Name: name, Workflow: workflow, Minute: from.Add(time.Duration(minute) * time.Minute), N: n}
	}
	lanes, others := comingLanes([]view.ComingRow{
		at(30, "mail", false, 8), at(5, "mail", false, 2), at(1, "nightly", true, 1), at(60, "mail", false, 7),
	}, from)
	if len(lanes) != 2 || others != 0 || lanes[0].Workflow != "nightly" || lanes[1].Type != "mail" || lanes[1].N != 10 {
		t.Fatalf("%+v", lanes)
	}
	if p := lanes[1].Pieces; len(p) != 2 || p[0].X != 80 || p[0].Busy != 1 || p[1].Busy != 4 || p[1].Says != "14:30: 8 jobs" {
		t.Errorf("%+v", p)
	}
	if says := lanes[1].Says; says != "mail: 10 jobs within the hour, the first at 14:05" {
		t.Error(says)
	}
	var many []view.ComingRow
	for i := range 20 {
		many = append(many, at(i, strings.Repeat("x", i+1), false, 1))
	}
	if lanes, others = comingLanes(many, from); len(lanes) != timeLanesMost || others != 12 || lanes[0].Type != "x" {
		t.Errorf("%d lanes, %d others", len(lanes), others)
	}
}

// The overview shows jobs whose time comes within the hour, and no others; nothing where there is none.
func TestPages_OverviewShowsWhatComes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, run_at) values ('mail', now() + interval '2 h'), ('mail', 'infinity')`)
	if page := s.get(http.StatusOK, "/"); strings.Contains(page, "The next hour") {
		t.Error("what comes later is shown")
	}
	s.pages.recent.kept = nil // it keeps what it was told for some seconds
	s.exec(`insert into bellhop.jobqueue (type, run_at) select 'mail', now() + g * interval '10 min' from generate_series(1, 3) g`)
	s.exec(`insert into bellhop.jobqueue (type, run_at, held) values ('held', now() + interval '9 min', true)`)
	s.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "sensor": {"cron": "0 3 * * *"}, "steps": [{"name": "a", "type": "sh"}]}')`)
	s.exec(`update bellhop.sensor set next_fire = now() + interval '40 min'`)
	page := s.get(http.StatusOK, "/")
	_, coming, _ := strings.Cut(page, "The next hour")
	coming, _, _ = strings.Cut(coming, "</section>")
	for _, want := range []string{"mail: 3 jobs within the hour", `href="/workflows/nightly"`, "nightly: 1 run within the hour"} {
		if !strings.Contains(coming, want) {
			t.Errorf("the next hour has no %q:\n%s", want, coming)
		}
	}
	if strings.Contains(coming, "held") {
		t.Error("what is held comes")
	}
}
