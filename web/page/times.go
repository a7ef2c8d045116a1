package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// timeLanesMost is of how many types the overview shows when they ran.
const timeLanesMost = 8

// timeLane is a type, and when something of it ran: pieces of as many minutes as were about as busy.
type timeLane struct {
	Type         scheduler.TypeName
	Done, Failed int64
	Pieces       []timePiece
	Says         string // the same as text, for screen readers
}

// timePiece is some minutes of a lane, drawn on a width of chartWidth.
type timePiece struct {
	X, W   float64
	Busy   int     // 1 to 4: up to a quarter of the busiest minute of the lane, up to a half, …
	Failed bool    // something did
	Y, H   float64 // the part of the height that is red
	Says   string
}

// timeLanes draws when types ran in so many minutes from a time on, the busiest types
// first; others is how many are left out. Values in, a picture out.
func timeLanes(history []view.HistoryRow, from time.Time, minutes int) (lanes []timeLane, others int) {
	type count struct{ taken, ok, bad int64 }
	types := map[scheduler.TypeName][]count{}
	for _, h := range history {
		i := int(h.Minute.Sub(from) / time.Minute)
		if i < 0 || i >= minutes || h.Taken+h.Succeeded+h.Failed == 0 {
			continue
		}
		if types[h.Type] == nil {
			types[h.Type] = make([]count, minutes)
		}
		c := &types[h.Type][i]
		c.taken, c.ok, c.bad = c.taken+h.Taken, c.ok+h.Succeeded, c.bad+h.Failed
	}
	step := float64(chartWidth) / float64(minutes)
	at := func(i int) string { return from.Add(time.Duration(i) * time.Minute).UTC().Format("15:04") }
	for name, counts := range types {
		l := timeLane{Type: name}
		most, busy := int64(0), 0
		for _, c := range counts {
			l.Done, l.Failed = l.Done+c.ok, l.Failed+c.bad
			most = max(most, c.taken, c.ok+c.bad)
		}
		level := func(c count) int { return int((max(c.taken, c.ok+c.bad)*4 + most - 1) / most) }
		for i := 0; i < minutes; {
			first, sum := i, count{}
			alike := func(c count) bool {
				return level(c) == level(counts[first]) && (c.bad > 0) == (counts[first].bad > 0)
			}
			for ; i < minutes && alike(counts[i]); i++ {
				sum.ok, sum.bad = sum.ok+counts[i].ok, sum.bad+counts[i].bad
			}
			if level(counts[first]) == 0 {
				continue
			}
			busy += i - first
			y, red := redPart(sum.ok, sum.bad)
			l.Pieces = append(l.Pieces, timePiece{
				X:      float64(first) * step,
				W:      float64(i-first) * step,
				Busy:   level(counts[first]),
				Failed: sum.bad > 0,
				Y:      y,
				H:      red,
				Says: fmt.Sprintf("%s to %s: %s succeeded, %s failed", at(first), at(i),
					words.Grouped(sum.ok), words.Grouped(sum.bad)),
			})
		}
		l.Says = fmt.Sprintf("%s in %d of %d minutes: %s succeeded, %s failed", clean(name), busy, minutes,
			words.Grouped(l.Done), words.Grouped(l.Failed))
		lanes = append(lanes, l)
	}
	slices.SortFunc(lanes, func(a, b timeLane) int {
		return cmp.Or(cmp.Compare(b.Done+b.Failed, a.Done+a.Failed), cmp.Compare(a.Type, b.Type))
	})
	others = max(0, len(lanes)-timeLanesMost)
	return lanes[:len(lanes)-others], others
}

// pieceHeight is how high a piece is drawn; a failure is seen from redLeast of it on.
const (
	pieceHeight = 12.0
	redLeast    = 2.0
)

// redPart is where the failures among the jobs that ended begin, and how high they are.
func redPart(ok, bad int64) (y, h float64) {
	if bad == 0 {
		return 0, 0
	}
	h = math.Round(max(redLeast, pieceHeight*float64(bad)/float64(ok+bad))*10) / 10
	return 1 + pieceHeight - h, h
}
