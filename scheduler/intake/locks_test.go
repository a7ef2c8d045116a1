package intake

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// Whether passes are made hangs on whether some job has locks: what rings says
// so, and so does what maintenance finds.
func TestPasses_AreMadeWhileJobsHaveLocks(t *testing.T) {
	some, none := Controlled{State: scheduler.ControlState{Locks: true}}, Controlled{}
	scan := Woken{Scan: true}
	for name, c := range map[string]struct {
		happens []Event
		want    bool
	}{
		"nothing has locks":               {[]Event{scan, none, scan}, false},
		"one came":                        {[]Event{LocksWoken{}}, true},
		"one is found":                    {[]Event{none, some}, true},
		"one came while maintenance read": {[]Event{LocksWoken{}, none, scan}, true},
		"the last has ended":              {[]Event{LocksWoken{}, none, none, scan}, false},
		"another came then":               {[]Event{LocksWoken{}, none, none, LocksWoken{}}, true},
		"another is found then":           {[]Event{some, none, none, some}, true},
		"one is there still":              {[]Event{some, some, none, some, none, scan}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := New(Config{Types: []scheduler.TypeName{"a"}, Hosts: []Host{{Locality: scheduler.Locality{Host: "x"}}}})
			now := time.Unix(1000, 0)
			in.Apply(Offered{Host: "x", Epoch: 1, Now: map[scheduler.TypeName]int{"a": 1}}, now)
			for _, ev := range c.happens {
				in.Apply(ev, now)
			}
			claim := in.claimOf(false, Can{Grant: true, Claim: true})
			if got := claim != nil && claim.Demand.Locked; got != c.want {
				t.Errorf("a pass is made: %v", got)
			}
		})
	}
}
