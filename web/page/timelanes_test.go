package page

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/sql/view"
)

// What ran when is a lane a type: minutes that were about as busy are one piece, and where something failed is seen.
func TestTimeLanes_ShowWhatRanWhen(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 23, 14, 0, 0, 0, time.Local)
	at := func(minute int, name string, ok, bad int64) view.HistoryRow {
		return view.HistoryRow{Minute: from.Add(time.Duration(minute) * time.Minute), Type: scheduler.TypeName(name),
			Counts: history.Counts{Taken: ok + bad, Succeeded: ok, Failed: bad}}
	}
	lanes, others := timeLanes([]view.HistoryRow{
		at(0, "mail", 100, 0), at(1, "mail", 90, 0), at(2, "mail", 10, 0), at(3, "mail", 10, 1), at(9, "mail", 100, 0),
		at(5, "load", 1, 0), at(-1, "load", 7, 0), at(10, "load", 7, 0), at(4, "idle", 0, 0),
	}, from, 10)
	if len(lanes) != 2 || others != 0 || lanes[0].Type != "mail" || lanes[1].Type != "load" {
		t.Fatalf("%+v", lanes)
	}
	want := []timePiece{
		{X: 0, W: 192, Busy: 4, Says: "14:00 to 14:02: 190 succeeded, 0 failed"},
		{X: 192, W: 96, Busy: 1, Says: "14:02 to 14:03: 10 succeeded, 0 failed"},
		{X: 288, W: 96, Busy: 1, Failed: true, Y: 11, H: 2, Says: "14:03 to 14:04: 10 succeeded, 1 failed"},
		{X: 864, W: 96, Busy: 4, Says: "14:09 to 14:10: 100 succeeded, 0 failed"},
	}
	for i, p := range lanes[0].Pieces {
		if len(lanes[0].Pieces) != len(want) || p != want[i] {
			t.Fatalf("piece %d is %+v of %d", i, p, len(lanes[0].Pieces))
		}
	}
	for _, c := range [][4]float64{{5, 0, 0, 0}, {3, 1, 10, 3}, {0, 2, 1, 12}, {1000, 1, 11, 2}} {
		if y, h := redPart(int64(c[0]), int64(c[1])); y != c[2] || h != c[3] {
			t.Errorf("of %v that succeeded and %v that failed, red begins at %v and is %v high", c[0], c[1], y, h)
		}
	}
	if says := lanes[0].Says; says != "mail in 5 of 10 minutes: 310 succeeded, 1 failed" {
		t.Error(says)
	}
	if p := lanes[1].Pieces; len(p) != 1 || p[0].X != 480 || p[0].Busy != 4 {
		t.Errorf("%+v", p)
	}
	var many []view.HistoryRow
	for i := range 20 {
		many = append(many, at(1, strings.Repeat("x", i+1), int64(i)+1, 0))
	}
	if lanes, others = timeLanes(many, from, 10); len(lanes) != timeLanesMost || others != 12 || lanes[0].Done != 20 {
		t.Errorf("%d lanes, %d others", len(lanes), others)
	}
}

// A lane has most of the width, and its words and numbers the rest.
func TestBrowser_TimeLanesAreWide(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.history
	        select date_trunc('minute', now() - interval '9 min'), 'mail', 1, 10, 9, 1, 0, 0, 0, 0, '{}', '{}'`)
	b.run(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.base+"/"), chromedp.WaitReady("table.times"))
	b.until(`document.querySelector('.times svg').clientWidth > 0.6 * document.querySelector('.times').clientWidth`)
}
