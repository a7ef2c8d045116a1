package store

import (
	"context"
	"time"

	"bellhop/scheduler/sketch"
	"bellhop/sql"
)

// Counts are what an instance has counted for sketches, and not written yet. A nil
// one counts nothing.
type Counts struct {
	Took sketch.Tally // how long jobs took, by type
	Off  sketch.Tally // by how much forecasts were off, by how far ahead the start was
}

// What sketches are of: bellhop.sketch.what.
const sketchTook, sketchOff = "took", "off"

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
	return counts{sketchTook: k.Counts.Took.Take(), sketchOff: k.Counts.Off.Take()}
}

// giveBack keeps counts that could not be written.
func (c *Counts) giveBack(these counts) {
	if c != nil {
		c.Took.GiveBack(these[sketchTook])
		c.Off.GiveBack(these[sketchOff])
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

var lookSketchesSQL = sql.Query("look_sketches")

// Sketches are what is known of how long jobs took, by type, and of how far off
// forecasts were, by how far ahead they looked.
type Sketches struct{ Took, Off map[string]sketch.Sketch }

// Sketches reads them.
func (l Look) Sketches(ctx context.Context) (Sketches, error) {
	rows, err := collect[struct {
		What, Name string
		Pairs      []int32
	}](ctx, l.db, "read how long jobs took", lookSketchesSQL)
	if err != nil {
		return Sketches{}, err
	}
	all := Sketches{Took: map[string]sketch.Sketch{}, Off: map[string]sketch.Sketch{}}
	for _, r := range rows {
		var s sketch.Sketch
		s.AddPairs(r.Pairs)
		if r.What == sketchOff {
			all.Off[r.Name] = s
		} else {
			all.Took[r.Name] = s
		}
	}
	return all, nil
}

// Lasts is how long jobs of a type took: half of them, and nine of ten.
func (s Sketches) Lasts(typ string) (p50, p90 time.Duration, known bool) {
	took := s.Took[typ]
	p50, known = took.Quantile(.5)
	p90, _ = took.Quantile(.9)
	return p50, p90, known
}
