package scheduler

import (
	"slices"
	"testing"
	"time"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	over, runs, later := Run{Over: true}, Run{}, Run{Over: true, Told: asked.Add(time.Second)}
	for name, c := range map[string]struct {
		runs        []Run
		fates       []Fate
		gone, again int
	}{
		"nothing ran":                    {nil, nil, 0, 0},
		"all has arrived":                {[]Run{over, over, runs}, []Fate{FateThere, FateThere, FateThere}, 0, 0},
		"the end is lost":                {[]Run{over, over, over}, []Fate{FateThere, FateGone, FateGone}, 2, 0},
		"an outcome is lost":             {[]Run{over, over}, []Fate{FateThere, FateAgain}, 0, 1},
		"its row was deleted, not lost":  {[]Run{over, over}, []Fate{FateGone, FateThere}, 0, 0},
		"the new server's own":           {[]Run{over, over, later}, []Fate{FateThere, FateGone, FateThere}, 1, 0},
		"what runs has no row":           {[]Run{over, runs}, []Fate{FateThere, FateGone}, 1, 0},
		"what runs is taken again":       {[]Run{runs}, []Fate{FateAgain}, 0, 0},
		"a run that is here proves none": {[]Run{over, runs}, []Fate{FateGone, FateThere}, 1, 0},
	} {
		before := slices.Clone(c.runs)
		gone, again := Missing(c.runs, c.fates, asked)
		if gone != c.gone || again != c.again || !slices.Equal(before, c.runs) {
			t.Errorf("%s: %d gone, %d again; want %d, %d", name, gone, again, c.gone, c.again)
		}
	}
}
