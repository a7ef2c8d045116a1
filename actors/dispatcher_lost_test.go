package actors

import (
	"slices"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// Another server can have lost the claim of what runs here and know an older one, so that its job goes to another
// instance next. The run ends before this instance asserts, which all others wait for; and one whose end no actor tells
// of does not hold it up for ever.
func TestDispatcher_WhatIsLostEndsBeforeItAsserts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ends  bool
		after time.Duration // until a claim, at least
		most  time.Duration
	}{
		{"its child is killed", true, 2 * time.Second, 5 * time.Second},
		{"no child has it", false, 5 * time.Second, 9 * time.Second},
	} {
		q := &claims{}
		playDispatcher(t, q, func(s *stage, _ time.Time) {
			q.ready = []scheduler.Job{jobOf(1)}
			s.Tell(message.RoleDispatcher, &message.Rang{Inserted: true})
			after[message.Deals](s, time.Second, message.RoleHost("h"))
			start := time.Now()
			q.take(start)
			q.foreign = true
			s.Tell(message.RoleDispatcher, &message.ConnLost{})
			s.Tell(message.RoleDispatcher, &message.Rang{Inserted: true})
			drops := after[*message.Drop](s, 2*time.Second, message.RoleHosts)
			if len(drops) == 0 || !slices.Equal(drops[0].Claims, []scheduler.Claim{claimOf(1)}) {
				t.Fatalf("%s: dropped %+v", c.name, drops)
			}
			if names, _ := q.take(start); slices.ContainsFunc(names, func(n string) bool { return n != "assert" }) {
				t.Errorf("%s: while it runs: %q", c.name, names)
			}
			if c.ends {
				s.Tell(message.RoleDispatcher, &message.Settled{Claims: []scheduler.Claim{claimOf(1)}})
			}
			after[*message.Drop](s, 20*time.Second, message.RoleHosts)
			names, at := q.take(start)
			if i := slices.Index(names, "claim"); i < 0 || at[i] < c.after || at[i] > c.most {
				t.Errorf("%s: %q at %v", c.name, names, at)
			}
		})
	}
}
