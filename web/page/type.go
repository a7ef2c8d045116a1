package page

import (
	"fmt"
	"math"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/sketch"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// A page of a type shows a day, in pieces of a quarter of an hour.
const (
	dayPieces = 96
	dayPiece  = 15 * time.Minute
)

type typeData struct {
	typeRow
	typeDay
	typeKeys
	In       view.Arrivals // the last 5 minutes
	Reason   *view.WhyRow  // of the job that is next
	First    *scheduler.JobID
	Agents   []agent
	Children []view.ChildRow
	Others   int // children that are not listed
	Failures []failureGroup
	Address  string
	Several  bool // instances: each is named
}

// spread is the waits of a quarter of an hour, from the median up to p99, on a scale of logarithms.
type spread struct {
	X, W, Y, H float64
	Says       string
}

// ofType is the page of a type: what an operator asks of it first.
func ofType(r *request) (content, error) {
	name := scheduler.TypeName(r.arg)
	d := typeData{typeRow: typeRow{Type: name}, Address: r.pages.Address}
	f, err := r.fleet()
	if err != nil {
		return content{}, err
	}
	if err := d.queue(r, f); err != nil {
		return content{}, err
	}
	if d.typeKeys, err = keysOf(r, name); err != nil {
		return content{}, err
	}
	if err := d.day(r); err != nil {
		return content{}, err
	}
	if err := d.workers(r, f); err != nil {
		return content{}, err
	}
	failed, err := r.failedLately()
	if err != nil {
		return content{}, err
	}
	failed = slices.DeleteFunc(slices.Clone(failed), func(f view.FailedRow) bool { return f.Type != name })
	d.Failed = max(d.Failed, int64(failedJobs(failed))) // a minute is history when it is over
	d.Failures = groupFailures(failed)
	d.Failures = d.Failures[:min(len(d.Failures), 5)]
	return content{Title: clean(name), Template: "type", Data: d}, nil
}

// queue is what waits and what runs, and what came in.
func (d *typeData) queue(r *request, f fleet) error {
	rows, err := r.Look.Waits(r)
	if err != nil {
		return err
	}
	history, err := r.past(overviewMinutes)
	if err != nil {
		return err
	}
	for _, t := range typeRows(rows, history, f) {
		if t.Type == d.Type {
			d.typeRow = t
		}
	}
	for _, w := range rows {
		if w.State == scheduler.Ready && w.Type == d.Type {
			d.First = w.First
		}
	}
	if d.First != nil {
		why, err := r.Look.Why(r, []scheduler.JobID{*d.First})
		if err != nil {
			return err
		}
		if len(why) > 0 {
			d.Reason = &why[0]
		}
	}
	key := "arrivals of " + string(d.Type)
	d.In, err = remembered(r.pages, r.who.Role, key, 5*time.Second, func() (view.Arrivals, error) {
		return r.Look.Arrivals(r, d.Type)
	})
	return err
}

// typeDay is the last 24 hours of a type.
type typeDay struct {
	Out            view.Arrivals // what ended within the last 5 minutes
	Chart          chart
	Spreads        []spread
	Lines          []float64 // 1 s, 1 min and 1 h in the picture of waits
	DayP50, DayP99 time.Duration
	DayShare       string
	DayEnded       int64
}

// day adds the last 24 hours: what is kept for a while is the picture, which is small beside its rows.
func (d *typeData) day(r *request) (err error) {
	key := "day of " + string(d.Type)
	d.typeDay, err = remembered(r.pages, r.who.Role, key, 20*time.Second, func() (typeDay, error) {
		from := r.now.Truncate(dayPiece).Add(-(dayPieces - 1) * dayPiece)
		history, err := r.Look.HistoryOf(r, d.Type, from)
		return dayOf(history, from, r.now), err
	})
	return err
}

// dayOf draws a day. Values in, pictures out.
func dayOf(history []view.HistoryRow, from, now time.Time) (d typeDay) {
	d.Chart = barChart(history, from, dayPieces, dayPiece)
	d.Spreads, d.Lines = spreads(history, from)
	var waits sketch.Sketch
	var failed int64
	this := now.Truncate(time.Minute)
	d.Out.Seconds = 300
	for _, h := range history {
		waits.AddPairs(h.Wait)
		failed += h.Failed
		d.DayEnded += h.Succeeded + h.Failed
		if age := this.Sub(h.Minute); age > 0 && age <= 5*time.Minute {
			d.Out.Jobs += h.Succeeded + h.Failed
		}
	}
	d.DayShare = share(failed, d.DayEnded)
	d.DayP50, _ = waits.Quantile(0.5)
	d.DayP99, _ = waits.Quantile(0.99)
	return d
}

// workers adds the agents that serve the type, and their children.
func (d *typeData) workers(r *request, f fleet) error {
	children, err := r.Look.Children(r)
	if err != nil {
		return err
	}
	said := map[view.AgentKey]map[string]string{}
	if r.may.Operates {
		if said, err = r.Look.AgentWords(r); err != nil {
			return err
		}
	}
	d.Several = len(f.Instances) > 1
	for _, a := range f.Agents {
		if a.Type == d.Type {
			d.Agents = append(d.Agents, oneAgent(a, f, children, said))
		}
	}
	for _, c := range children {
		if c.Type == d.Type && c.State != "FREE" {
			d.Children = append(d.Children, c)
		}
	}
	d.Others = max(0, len(d.Children)-lanesMost)
	d.Children = d.Children[:len(d.Children)-d.Others]
	return nil
}

// Yourself are the deeds of the buttons of a type.
func (d typeData) Yourself() []deed {
	o := deeds{address: d.Address}
	if d.Paused {
		o.add("resume", "", d.Type, "")
	} else {
		o.add("pause", "", d.Type, "")
	}
	return o.list
}

// level is where a wait stands in a picture of a height of chartHeight: a millisecond at its foot, a day at its top.
func level(d time.Duration) float64 {
	const decades = 8 // from 1 ms to 100,000 s
	at := (math.Log10(max(d.Seconds(), 1e-3)) + 3) / decades
	return math.Round((1-min(at, 1))*chartHeight*10) / 10
}

// spreads draws the waits of a day. Values in, a picture out.
func spreads(history []view.HistoryRow, from time.Time) (list []spread, lines []float64) {
	var at [dayPieces]sketch.Sketch
	for _, h := range history {
		if i := int(h.Minute.Sub(from) / dayPiece); !h.Minute.Before(from) && i < dayPieces {
			at[i].AddPairs(h.Wait)
		}
	}
	const step = float64(chartWidth) / dayPieces
	for i := range at {
		half, ok := at[i].Quantile(0.5)
		if !ok {
			continue
		}
		most, _ := at[i].Quantile(0.99)
		y := min(level(most), chartHeight-2)
		list = append(list, spread{X: float64(i)*step + 1, W: step - 2, Y: y, H: max(level(half)-y, 2),
			Says: fmt.Sprintf("%s: p50 %s, p99 %s", from.Add(time.Duration(i)*dayPiece).UTC().Format("15:04"),
				words.Took(half.Seconds()), words.Took(most.Seconds()))})
	}
	return list, []float64{level(time.Second), level(time.Minute), level(time.Hour)}
}
