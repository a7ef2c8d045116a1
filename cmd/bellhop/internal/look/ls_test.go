package look

import (
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// TestLs_SaysWhatItsFiguresAre: a bare [0] told nobody anything.
func TestLs_SaysWhatItsFiguresAre(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	half, page := float32(0.5), "page 1"
	for _, c := range []struct {
		j    view.JobRow
		want string
	}{
		{view.JobRow{}, ""},
		{view.JobRow{IsMSQ: true}, ""},
		{view.JobRow{IsMSQ: true, ItemsDone: n(0), ItemsFailed: n(0)}, ""},
		{view.JobRow{IsMSQ: true, ItemsDone: n(1)}, "1 item done"},
		{view.JobRow{IsMSQ: true, ItemsDone: n(1200), ItemsFailed: n(2)}, "1,200 items done, 2 failed"},
		{view.JobRow{IsMSQ: true, ItemsDone: n(12), ItemsTotal: n(500), ItemsFailed: n(3)}, "12/500 items, 3 failed"},
		{view.JobRow{State: scheduler.Running, Progress: &half, ProgressText: &page}, "50 %, page 1"},
		{view.JobRow{State: scheduler.Running, Progress: &half}, "50 %"},
		{view.JobRow{State: scheduler.Failed, Progress: &half}, ""},
	} {
		if got := progress(c.j); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
