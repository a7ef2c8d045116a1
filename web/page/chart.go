package page

import (
	"fmt"
	"time"

	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// A chart is drawn in units of its own, and scaled to the page's width.
const (
	chartWidth  = 960
	chartHeight = 120
)

// failedShare says how much of what ended has failed: "0.1 %". Empty: nothing failed, or nothing ended.
func failedShare(history []view.HistoryRow, failed int64) string {
	var ended int64
	for _, h := range history {
		ended += h.Succeeded + h.Failed
	}
	return share(failed, ended)
}

// share is how much of a whole a part is: "0.1 %". Empty: nothing of it.
func share(part, whole int64) string {
	switch {
	case part <= 0 || part > whole:
		return ""
	case part == whole:
		return "100 %"
	}
	return fmt.Sprintf("%.2g %%", min(float64(part)*100/float64(whole), 99))
}

// chart is bars, one a minute, with what succeeded under what failed, and what
// was taken as a line above them.
type chart struct {
	Width, Height int
	Bars          []bar
	Taken         string // points of a polyline
	Marks         []mark
	Lane          []bar  // failures alone, on a height of their own: beside many successes they would not be seen
	Most          string // what the height stands for
	Empty         bool
	Says          string // the same as text, for screen readers
}

type bar struct {
	X, W          float64
	OKY, OKH      float64
	BadY, BadH    float64
	Says          string
	Full          bool
	HitY, HitHigh float64
}

type mark struct {
	X    float64
	Says string
}

// barChart draws so many pieces of time from a time on. Values in, a picture out.
func barChart(history []view.HistoryRow, from time.Time, pieces int, piece time.Duration) chart {
	type count struct{ taken, ok, bad int64 }
	counts := make([]count, pieces)
	var most, worst, ok, bad int64
	for _, h := range history {
		i := int(h.Minute.Sub(from) / piece)
		if h.Minute.Before(from) || i >= pieces {
			continue
		}
		c := &counts[i]
		c.taken += h.Taken
		c.ok += h.Succeeded
		c.bad += h.Failed
		ok += h.Succeeded
		bad += h.Failed
		most, worst = max(most, c.taken, c.ok+c.bad), max(worst, c.bad)
	}
	each := "min"
	if piece > time.Minute {
		each = fmt.Sprintf("%.0f min", piece.Minutes())
	}
	c := chart{Width: chartWidth, Height: chartHeight, Empty: most == 0, Most: words.Grouped(most) + "/" + each}
	c.Says = fmt.Sprintf("Within %s %s succeeded and %s failed; at most %s.",
		words.Lasting((time.Duration(pieces) * piece).Seconds()), words.Grouped(ok), words.Grouped(bad), c.Most)
	if c.Empty {
		return c
	}
	step := float64(chartWidth) / float64(pieces)
	high := func(n int64) float64 { return float64(n) / float64(most) * (chartHeight - 16) }
	for i, n := range counts {
		x := float64(i) * step
		b := bar{X: x + 0.5, W: step - 1, OKH: high(n.ok), BadH: high(n.bad), HitHigh: chartHeight}
		b.OKY = chartHeight - b.OKH
		b.BadY = b.OKY - b.BadH
		at := from.Add(time.Duration(i) * piece).UTC()
		if n.taken+n.ok+n.bad > 0 {
			b.Full = true
			b.Says = fmt.Sprintf(
				"%s: %s started, %s succeeded, %s failed",
				at.Format("15:04"),
				words.Grouped(n.taken),
				words.Grouped(n.ok),
				words.Grouped(n.bad),
			)
		}
		c.Bars = append(c.Bars, b)
		if n.bad > 0 {
			h := 3 + 11*float64(n.bad)/float64(worst)
			c.Lane = append(c.Lane, bar{X: b.X, W: b.W, BadY: 16 - h, BadH: h, Says: b.Says})
		}
		c.Taken += fmt.Sprintf("%.1f,%.1f ", x+step/2, chartHeight-high(n.taken))
		if at.Minute()%15 == 0 {
			c.Marks = append(c.Marks, mark{x + step/2, at.Format("15:04")})
		}
	}
	return c
}
