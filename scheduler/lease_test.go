package scheduler

import (
	"math/rand/v2"
	"testing"
	"time"
)

// day is one day of an instance in virtual time. It stands still now and then, for at most as long as given, and each
// statement takes up to 20 ms on its way to the database's clock, and as long back.
type day struct {
	Lease
	now, until, beat time.Time // beat is the last one by the database's clock
	luck             *rand.Rand
	lost, buried     int // leases that ended, and moments at which others might count it as dead
	alive            int // of those, with agents that might have lived
}

// pass lets time go by. The guard ends agents when the lease ends, though the instance stands still.
func (d *day) pass(by time.Duration) {
	d.now = d.now.Add(by)
	dead := d.beat.Add(d.Lag)
	if d.now.After(dead) {
		d.buried++
		if !d.until.Before(dead) {
			d.alive++
		}
	}
	if d.now.After(d.until) {
		d.lost++
	}
}

func (d *day) live(stall time.Duration) {
	some := func(most time.Duration) time.Duration { return time.Duration(d.luck.Int64N(int64(most))) }
	d.until, d.beat = d.Until(d.now), d.now
	for end := d.now.Add(24 * time.Hour); d.now.Before(end); {
		pause := d.Next(false)
		if d.luck.IntN(3) == 0 { // it stands still somewhere in this pause
			before := some(pause)
			d.pass(before)
			d.pass(some(stall))
			pause -= min(pause, before)
		}
		d.pass(pause)
		sent := d.now
		d.pass(some(20 * time.Millisecond))
		d.beat = d.now
		d.pass(some(20 * time.Millisecond))
		d.until = d.Until(sent)
	}
}

// A day of stalls that an instance bears: no lease is lost, and no instance that lives counts as dead. Longer ones may
// cost both, but agents are dead before others take over.
func TestLease_ADayOfStalls(t *testing.T) {
	t.Parallel()
	for _, l := range []Lease{{2 * time.Second, 10 * time.Second}, {time.Second, 3 * time.Second},
		{500 * time.Millisecond, 2500 * time.Millisecond}, {time.Minute, time.Hour}} {
		for seed := range uint64(5) {
			bears := day{Lease: l, luck: rand.New(rand.NewPCG(seed, 1))}
			bears.live(l.Bears() - 80*time.Millisecond) // two statements, there and back
			if bears.lost > 0 || bears.buried > 0 {
				t.Errorf("%+v, seed %d: %d leases lost and %d burials by stalls of at most %v", l, seed, bears.lost, bears.buried, l.Bears())
			}
			longer := day{Lease: l, luck: rand.New(rand.NewPCG(seed, 1))}
			longer.live(3 * l.Lag)
			if longer.alive > 0 {
				t.Errorf("%+v, seed %d: %d times agents might have lived beside another instance's", l, seed, longer.alive)
			}
			if longer.lost == 0 || longer.buried == 0 {
				t.Errorf("%+v, seed %d: stalls of up to %v cost nothing: the test sees nothing", l, seed, 3*l.Lag)
			}
		}
	}
}
