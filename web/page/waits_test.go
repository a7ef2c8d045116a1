package page

import (
	"net/http"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// Types that wait for the same are one row, and what waiting alone does not change comes first. No row has a bare code.
func TestFoldWaits_TheStuckFirst(t *testing.T) {
	t.Parallel()
	ready := func(name, why string, age float64, reason *view.WhyRow) waiting {
		id := scheduler.JobID(len(name))
		row := view.QueueRow{State: scheduler.Ready, Type: scheduler.TypeName(name), Jobs: 10, Why: why}
		return waiting{view.WaitRow{QueueRow: row, First: &id, Age: age}, reason}
	}
	why := func(code, says, next string, stuck bool) *view.WhyRow {
		return &view.WhyRow{ReasonRow: view.ReasonRow{Code: code, Sentence: says, Next: next}, Stuck: stuck}
	}
	full := func(max string) *view.WhyRow {
		return why("no_room", "All slots that it may use are taken: max is "+max+".", "bellhop ls -s running", false)
	}
	unknown := why("unknown_type", "No running instance has an agent of type 'pdf'.", "add it", true)
	rows := foldWaits([]waiting{
		ready("mail", "", 90, full("2")),
		ready("ship", "", 80, full("4")),
		ready("pdf", "unknown_type", 70, unknown),
		ready("pdf2", "unknown_type", 60, nil),
		ready("tape", "no_host: srv:0", 50, nil),
		ready("later", "", 40, nil),
	})
	var told []string
	for _, r := range rows {
		var names []string
		for _, w := range r.Types {
			names = append(names, string(w.Type))
		}
		told = append(told, strings.Join(names, "+")+": "+r.Says+" "+r.Next)
	}
	want := []string{
		"pdf+pdf2: No running instance has an agent of these types. add it",
		"mail+ship: All slots that they may use are taken. bellhop ls -s running",
		"tape: No host: srv:0. bellhop explain 4",
		"later: Its turn has not come. The page of the type says what is before it. ",
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the rows are\n%s\nnot\n%s", got, strings.Join(want, "\n"))
	}
	if rows[1].Jobs != 20 || rows[1].Age != 90 || rows[0].One() != nil || rows[2].One() == nil {
		t.Errorf("the sums are %+v", rows[1])
	}
}

// What needs mending stands first on the overview, and the menu of each page has its number.
func TestOverview_WhatNeedsMendingComesFirst(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
	        values ('one', 'shop1', 'm', 41, '1', 'v', '1h')`)
	s.exec(`insert into bellhop.host (instance, name, slots, serves, state, trouble)
	        values (1, 'gpu2', 4, '{}', 'down', 'no route to host')`)
	if page := s.get(http.StatusOK, "/jobs"); strings.Contains(page, "tomend") {
		t.Error("there is a number before a look")
	}
	page := s.get(http.StatusOK, "/")
	at, tiles := strings.Index(page, "To mend"), strings.Index(page, "The queue now")
	if at < 0 || at > tiles || !strings.Contains(page, "gpu2 is down") || !strings.Contains(page, `href="/hosts">Hosts</a></li>`) {
		t.Errorf("the overview does not begin with the host that is down:\n%s", page)
	}
	if page := s.get(http.StatusOK, "/jobs"); !strings.Contains(page, `class="tomend"`) {
		t.Error("the menu has no number")
	}
}

// One cause over several types is one row: its words, the types with their numbers, and one retry for all of them. What
// began within the hour is marked as new.
func TestFailures_OneCauseIsOneRow(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		select type, 'failed', 1, now(), now() - ago, 'dial 10.0.0.' || g || ': refused'
		  from (values ('mail', interval '5 min'), ('mail', interval '2 h'), ('ship', interval '1 min')) x (type, ago), generate_series(1, 3) g`)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		values ('ship', 'failed', 1, now(), now() - interval '9 min', 'no paper'), ('mail', 'failed', 1, now(), now() - interval '2 days', 'old')`)
	page := s.get(http.StatusOK, "/failures")
	if !strings.Contains(page, "Retry 9…") || strings.Count(page, `<span class="state failed">new</span>`) != 1 ||
		strings.Contains(page, ">old</a>") || !strings.Contains(page, "mail</a> <small>6</small>") {
		t.Errorf("the page is\n%s", page)
	}
	if page := s.get(http.StatusOK, "/failures?since="); !strings.Contains(page, ">old</a>") {
		t.Error("all time is not all time")
	}
	if page := s.get(http.StatusOK, "/"); !strings.Contains(page, "+1 type") || !strings.Contains(page, "no paper") {
		t.Error("the overview has another list")
	}
}
