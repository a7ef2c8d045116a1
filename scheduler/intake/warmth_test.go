package intake

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// warmClaims plays a claim that has come back, and asks Next whenever it wants to
// be asked: how often something is claimed, and until when.
func warmClaims(in *Intake, ev Claimed, begin time.Time) (n int, last time.Duration) {
	now := begin
	in.Apply(ev, now)
	for range 1000 {
		s := in.Next(Can{Grant: true, Claim: true}, now)
		switch {
		case s.Claim != nil:
			if last = now.Sub(begin); last > 0 { // at once it is for what there may be still
				n++
			}
			in.Apply(Claimed{Claim: *s.Claim}, now)
		case s.WarmAt.IsZero():
			return n, last
		default:
			now = s.WarmAt
		}
	}
	return n, last
}

func TestWarmth_ClaimsAreKeptWarmForAMoment(t *testing.T) {
	t.Parallel()
	job := scheduler.Job{Type: "a"}
	for name, c := range map[string]struct {
		off       bool
		busy      bool // whoever claimed has no credit left
		instances int
		change    func(*Claimed)
		claims    int
	}{
		"each 2 ms, for 50":                  {claims: 24},
		"with others, as often together":     {instances: 4, claims: 6},
		"not where there are many":           {instances: 25},
		"not where it is not wanted":         {off: true},
		"not behind one that brought none":   {change: func(c *Claimed) { c.Jobs = nil }},
		"nor behind one that failed":         {change: func(c *Claimed) { c.Failed = true }},
		"nor behind a pass":                  {change: func(c *Claimed) { c.Claim.Demand.Locked = true }},
		"nor for children that come up":      {change: func(c *Claimed) { c.Claim.Demand.Assigned = true }},
		"nor while nobody could take a line": {busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Unix(1000, 0)
			in := New(Config{Types: []scheduler.TypeName{"a"}, Warm: !c.off})
			in.Apply(Controlled{scheduler.ControlState{Instances: c.instances}}, begin)
			free := 2
			if c.busy {
				free = 1
			}
			in.Apply(Offered{Host: "x", Epoch: 1, Now: map[scheduler.TypeName]int{"a": free}}, begin)
			claim := in.Next(Can{Grant: true, Claim: true}, begin).Claim
			ev := Claimed{Claim: *claim, Jobs: []scheduler.Job{job}}
			if c.change != nil {
				c.change(&ev)
			}
			n, last := warmClaims(in, ev, begin)
			if n != c.claims || last >= warmFor {
				t.Errorf("%d claims, the last %v later; want %d", n, last, c.claims)
			}
		})
	}
}
