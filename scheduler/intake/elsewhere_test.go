package intake

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// A type's jobs go to an idle child on another host first. A query does not, where that host may open no other one.
func TestChoose_AQueryIsNotHeldBackForAHostThatIsFullOfQueries(t *testing.T) {
	t.Parallel()
	for cursors, want := range map[int]bool{1: true, 2: false} { // with two, the idle child can take it
		now := time.Unix(1000, 0)
		in := New(Config{Types: []scheduler.TypeName{"a"}, Cursors: cursors, ExclusiveAfter: time.Minute, Hosts: []Host{
			{Locality: scheduler.Locality{Host: "east"}}, {Locality: scheduler.Locality{Host: "west"}}}})
		can := Can{Grant: true, Claim: true}
		for _, host := range []scheduler.HostName{"east", "west"} {
			in.Apply(Offered{Host: host, Epoch: 1}, now)
		}
		query := scheduler.Job{Type: "a", MSQ: "select 1", Host: "west"}
		query.Claim = scheduler.Claim{Job: 1, Fence: 1}
		in.Apply(Claimed{Claim: Claim{Epoch: 1, Demand: scheduler.Demand{Host: "west", Total: 1,
			Types: []scheduler.TypeDemand{{Type: "a", Limit: 1}}}}, Jobs: []scheduler.Job{query}}, now)
		in.Apply(MSQWaits{Claim: query.Claim, Reading: true}, now)
		idle, none := map[scheduler.TypeName]int{"a": 1}, map[scheduler.TypeName]int{}
		in.Apply(Offered{Host: "west", Epoch: 2, Now: idle, Spawn: none}, now)
		in.Apply(Offered{Host: "east", Epoch: 2, Now: none, Spawn: idle, Room: 1}, now)
		asked := false
		for s := in.Next(can, now); s.Claim != nil; s = in.Next(can, now) {
			asked = asked || s.Claim.Demand.Host == "east" && s.Claim.Demand.MSQ
			in.Apply(Claimed{Claim: *s.Claim}, now) // the queue has nothing more
		}
		if asked != want {
			t.Errorf("of %d queries one runs: a query may start on the other host: %t, want %t", cursors, asked, want)
		}
	}
}
