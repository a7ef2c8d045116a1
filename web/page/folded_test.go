package page

import (
	"fmt"
	"testing"

	"bellhop/scheduler/history"
	"bellhop/sql/view"
)

// Skipped runs of one workflow with one reason are one row, once there are three.
func TestRuns_FoldsWhatWasSkipped(t *testing.T) {
	t.Parallel()
	full, other := "a run was queued already", "it was inactive"
	skipped := func(id int64, why *string) view.RunRow {
		return view.RunRow{ID: id, Workflow: "w", State: "skipped", Reason: why}
	}
	rows := runs([]view.RunRow{
		{ID: 9, Workflow: "w", State: "running"},
		skipped(8, &full), skipped(7, &full), skipped(6, &full), skipped(5, &other), skipped(4, &other),
	})
	if len(rows) != 4 || rows[1].Skips != 3 || rows[1].First != 6 || rows[2].Skips != 0 || rows[3].ID != 4 {
		t.Errorf("the rows are %+v", rows)
	}
}

// What starts a workflow is said by its schedule, or by the kind of its sensor.
func TestStartedBy_IsTheScheduleInWords(t *testing.T) {
	t.Parallel()
	cron, every, file, hours := "cron", "every", "file", "every 2h"
	line, period, wrong := "0 2 * * * in Europe/Prague", "every 20s", "x in UTC"
	for _, c := range []struct {
		sensor, schedule *string
		want             string
	}{
		{&cron, &line, "at 02:00; every day; Europe/Prague (0 2 * * *)"},
		{&every, &period, "every 20 s"},
		{&every, &hours, "every 2 hours"},
		{&file, nil, "when a file comes"},
		{&cron, &wrong, "x in UTC"},
		{nil, nil, ""},
	} {
		if got := startedBy(view.WorkflowRow{Sensor: c.sensor, Schedule: c.schedule}); got != c.want {
			t.Errorf("%v: %q, not %q", c.schedule, got, c.want)
		}
	}
}

// Workflows in trouble stand first; each has its last runs.
func TestWorkflowLines_TroubleFirst(t *testing.T) {
	t.Parallel()
	failed, done, problem := "failed", "succeeded", "the file cannot be read"
	lines := workflowLines([]view.WorkflowRow{
		{Name: "a", Active: true, State: &done}, {Name: "b", State: &failed}, {Name: "c", Active: true, State: &failed},
		{Name: "d", Active: true, Problem: &problem},
	}, []view.LastRunRow{
		{Workflow: "a", ID: 1, State: done}, {Workflow: "c", ID: 2, State: failed}, {Workflow: "a", ID: 3, State: done},
	})
	got := ""
	for _, l := range lines {
		got += fmt.Sprint(l.Name, len(l.Last), " ")
	}
	if got != "d0 c1 a2 b0 " {
		t.Error(got)
	}
}

// The share of failures is of all that ended; without any, nothing is said.
func TestFailedShare(t *testing.T) {
	t.Parallel()
	past := []view.HistoryRow{{Counts: history.Counts{Succeeded: 59_932, Failed: 68}}}
	if got := failedShare(past, 68); got != "0.11 %" {
		t.Errorf("68 of 60,000 are %q", got)
	}
	if got := failedShare(past, 0) + failedShare(nil, 3); got != "" {
		t.Errorf("nothing to share: %q", got)
	}
}
