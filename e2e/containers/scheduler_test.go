package containers

import (
	"testing"
	"time"
)

// A scheduler's machine is gone, or nobody hears of it any more. What it ran is
// dead before another one begins it, lag and a beat later at the most.
func TestScheduler_Lost(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]struct{ lose, mend func(*node) }{
		"killed":  {(*node).kill, (*node).boot},
		"cut off": {(*node).cut, (*node).connect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			one := b.scheduler("one", b.local(4))
			b.submit(4, "hold")
			b.waitBegun("one", 4)
			first := b.waitLive("one")
			b.scheduler("two", b.local(4))
			loss.lose(one)
			began := time.Now()
			b.waitBegun("two", 4)
			b.within("the other runs the jobs", time.Since(began), lag+beat)
			if n := b.alive(); n != 4 {
				t.Errorf("%d agents are alive for 4 jobs", n)
			}
			loss.mend(one)
			b.waitLive("one", first)
			b.submit(4, "hold") // the other has no room
			b.waitBegun("one", 8)
			b.letGo()
			b.waitAll(8)
		})
	}
}

// One scheduler after the other is replaced under load. What they ran is given
// back at once, so nobody waits for a lag, and none of it counts.
func TestScheduler_RollingRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	yaml := b.local(3)
	nodes := map[string]*node{"one": b.scheduler("one", yaml), "two": b.scheduler("two", yaml)}
	const jobs = 150
	b.submit(jobs, "0.15")
	for _, name := range []string{"one", "two"} {
		before := b.waitLive(name)
		busy := b.begun(name)
		b.waitBegun(name, busy+15)
		nodes[name].stop()
		var held int
		if err := b.query.QueryRow(t.Context(), "select count(*) from bellhop.jobqueue where instance = $1 and state in ('assigned', 'running')", before).Scan(&held); err != nil {
			t.Fatal(err)
		}
		if held != 0 {
			t.Errorf("%d jobs wait for %s, which is stopped", held, name)
		}
		nodes[name].boot()
		b.waitLive(name, before)
	}
	b.waitAll(jobs)
}
