package lock

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A promise by what Play says is kept if all take as long as was said, also with jobs that come later and jobs
// that need others: then each runs when Play says it does.
func TestPlay_APromiseIsKeptWhereDurationsAreKnown(t *testing.T) {
	t.Parallel()
	promises := 0
	rapid.Check(t, func(t *rapid.T) {
		jobs := arrivals(25).Draw(t, "jobs")
		coming := make([]Coming, len(jobs))
		for i := range jobs {
			if i > 0 && rapid.Bool().Draw(t, "needs") {
				jobs[i].Needs = []int{rapid.IntRange(0, i-1).Draw(t, "need")}
			}
			jobs[i].Type = fmt.Sprint(jobs[i].Takes)
			j := Job{ID: ID(i + 1), Type: jobs[i].Type, Locks: jobs[i].Locks, Priority: jobs[i].Priority,
				Share: jobs[i].Share, Since: epoch.Add(jobs[i].At)}
			coming[i] = Coming{Job: j, At: j.Since}
			for _, n := range jobs[i].Needs {
				coming[i].Needs = append(coming[i].Needs, ID(n+1))
			}
		}
		room := Room{Slots: rapid.IntRange(1, 3).Draw(t, "slots")}
		p := quick(rapid.SampledFrom([]Order{Predictive, FIFO}).Draw(t, "order"))
		spans := Scene{Policy: p, Slots: room.Slots, Coming: coming, Now: epoch}.Play(func(typ string) time.Duration {
			d, _ := time.ParseDuration(typ)
			return d
		})
		happened := Simulate(jobs, room, p)
		for i, start := range happened.Starts {
			promises++
			if span := spans[ID(i+1)]; epoch.Add(start + jobs[i].Takes).After(span.End) {
				t.Fatalf("%d was to end at %v, and ends at %v", i, span.End, epoch.Add(start+jobs[i].Takes))
			}
		}
	})
	t.Logf("%d promises, all kept", promises)
}
