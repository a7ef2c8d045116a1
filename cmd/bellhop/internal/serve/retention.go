package serve

import (
	"time"

	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// keepAll is for how long what is over is kept, as the store takes it.
func keepAll(r config.Retention) store.KeepAll {
	keep := store.KeepAll{Every: r.Every, Keyed: r.Keyed, Runs: r.Runs, Archive: r.Archive}
	r.Each(func(typ, state string, d time.Duration) {
		keep.Jobs = append(keep.Jobs,
			store.Keep{Type: scheduler.TypeName(typ), State: scheduler.JobState(state), For: d})
	})
	return keep
}
