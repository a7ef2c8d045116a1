package store

import (
	"time"

	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// Counts are what an instance has counted for sketches, and not written yet. A nil
// one counts nothing.
type Counts struct {
	Took sketch.Tally // how long jobs took, by type
	Off  sketch.Tally // by how much forecasts were off, by how far ahead the start was
}

// countsEvery is how often counts are written: a round of commands may come more often.
const countsEvery = 4 * time.Second

// counts were taken along.
type counts map[string]map[string]*sketch.Sketch

// counted is what is to be written now; none: nothing.
func (k *Maintenance) counted(now time.Time) counts {
	if k.Counts == nil || now.Sub(k.took) < countsEvery {
		return nil
	}
	k.took = now
	return counts{view.SketchTook: k.Counts.Took.Take(), view.SketchOff: k.Counts.Off.Take()}
}

// giveBack keeps counts that could not be written.
func (c *Counts) giveBack(these counts) {
	if c != nil {
		c.Took.GiveBack(these[view.SketchTook])
		c.Off.GiveBack(these[view.SketchOff])
	}
}

// args are the counts as bellhop.sketch_in takes them; NULL where there are none.
func (c counts) args() []any {
	var whats, names []string
	var buckets, ns []int32
	for what, named := range c {
		for name, s := range named {
			for pairs := s.Pairs(); len(pairs) > 0; pairs = pairs[2:] {
				whats, names = append(whats, what), append(names, name)
				buckets, ns = append(buckets, pairs[0]), append(ns, pairs[1])
			}
		}
	}
	return []any{whats, names, buckets, ns}
}
