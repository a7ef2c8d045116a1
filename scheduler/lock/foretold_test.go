package lock

import (
	"testing"
	"time"
)

func TestForetold_KnowsHowFarOffItWas(t *testing.T) {
	t.Parallel()
	var f Foretold
	in := func(d time.Duration) Estimate { return Estimate{P50: epoch.Add(d), P90: epoch.Add(2 * d)} }
	f.Remember(map[ID]Estimate{1: in(10 * sec), 2: in(0), 3: in(time.Hour), 4: in(sec)}, epoch)
	f.Remember(map[ID]Estimate{1: in(20 * sec)}, epoch.Add(5*sec)) // what was said first counts
	if jobs := f.Jobs(); len(jobs) != 3 {
		t.Fatalf("%v", jobs)
	}
	if m, ok := f.Started(1, epoch.Add(13*sec)); !ok || m != (Miss{Ahead: 10 * sec, By: 3 * sec}) {
		t.Errorf("%+v", m)
	}
	if m, ok := f.Started(3, epoch.Add(59*time.Minute)); !ok || m != (Miss{Ahead: time.Hour, By: time.Minute}) {
		t.Errorf("earlier than was said: %+v", m)
	}
	if m, ok := f.Started(4, epoch.Add(-sec)); ok {
		t.Errorf("an earlier attempt: %+v", m)
	}
	f.Forget(4)
	f.Remember(map[ID]Estimate{5: in(sec)}, epoch)
	f.Forget(5)
	if m, ok := f.Started(5, epoch.Add(sec)); ok || len(f.Jobs()) != 0 {
		t.Errorf("forgotten: %+v", m)
	}
}

// Of many that wait some are remembered, the first and the last among them; there is room for no more then.
func TestForetold_RemembersSomeOfMany(t *testing.T) {
	t.Parallel()
	var f Foretold
	many := map[ID]Estimate{}
	for id := range ID(10_000) {
		many[id+1] = Estimate{P50: epoch.Add(time.Duration(id+1) * sec)}
	}
	for range 2 {
		f.Remember(many, epoch)
	}
	if jobs := f.Jobs(); len(jobs) != foretoldMost || jobs[0] != 1 || jobs[len(jobs)-1] < 9900 {
		t.Errorf("%d from %d to %d", len(jobs), jobs[0], jobs[len(jobs)-1])
	}
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                "10s",
		10 * sec:         "10s",
		11 * sec:         "1m",
		10 * time.Minute: "10m",
		time.Hour:        "1h",
		61 * time.Minute: "longer",
	} {
		if got := Horizon(d); got != want {
			t.Errorf("%s is within %s", d, got)
		}
	}
}
