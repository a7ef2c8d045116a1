package view

import (
	"context"
	"time"

	"bellhop/scheduler/sketch"
	"bellhop/sql"
)

// What sketches are of: bellhop.sketch.what.
const SketchTook, SketchOff = "took", "off"

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
		if r.What == SketchOff {
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
