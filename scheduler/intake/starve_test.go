package intake

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler"
)

// Law 2: no starvation. While children of a type on a host could take lines, a
// claim that has them is made within as many claims as there are turns, however
// much others have to do. Where jobs have locks, passes take turns with claims.
func TestIntake_NobodyStarves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.in.Exclusive, w.in.excl = nil, newExclusion(nil, time.Second)
		for range rapid.IntRange(0, 40).Draw(t, "before") {
			w.step()
			if w.leaving || len(w.control.Paused) > 0 || len(w.in.msqs) > 0 {
				t.Skip("something else is asked")
			}
		}
		if w.claim != nil {
			w.answer()
		}
		if len(w.in.msqs) > 0 {
			t.Skip("something else is asked")
		}
		name := w.host()
		c := w.hosts[name]
		if c.epoch == 0 {
			c.epoch = 1
		}
		c.now["a"]++
		w.happened(Offered{Host: name, Epoch: c.epoch, Now: map[scheduler.TypeName]int{"a": 1}})
		w.happened(Woken{Rang: true})
		turns := 2 * len(w.hosts)
		if w.in.passes.wanted {
			turns *= 2
		}
		for range turns {
			w.next()
			if w.claim == nil {
				t.Fatalf("nothing is asked for, and %s takes a", name)
			}
			d := w.claim.Demand
			isA := func(t scheduler.TypeDemand) bool { return t.Type == "a" }
			if d.Host == name && !d.Assigned && !d.Locked && slices.ContainsFunc(d.Types, isA) {
				return
			}
			w.full()
		}
		t.Fatalf("%d claims, and none for a on %s", turns, name)
	})
}

// full answers a claim with all it asks for; the host offers as much again.
func (w *world) full() {
	claim := *w.claim
	w.claim = nil
	d := claim.Demand
	ev, left := Claimed{Claim: claim}, d.Total
	again := Offered{Host: d.Host, Epoch: claim.Epoch, Now: map[scheduler.TypeName]int{}}
	again.PreemptingFor = w.in.capacities[d.Host].preemptingFor
	for _, t := range d.Types {
		for range min(left, t.Limit) {
			left--
			w.jobs++
			j := scheduler.Job{Type: t.Type, Host: d.Host}
			j.Claim = scheduler.Claim{Job: w.jobs, Fence: 1}
			ev.Jobs = append(ev.Jobs, j)
			if d.Assigned {
				again.Room++
			} else {
				again.Now[t.Type]++
			}
		}
	}
	c := w.hosts[d.Host]
	if d.Assigned {
		c.room += d.Total
	} else {
		for _, t := range d.Types {
			c.now[t.Type] += t.Limit
		}
	}
	if s := w.in.Apply(ev, w.at); len(s.Dispatch) == 0 && len(d.Types) > 0 {
		w.Fatalf("nothing is dispatched of %+v", ev)
	}
	w.happened(again)
}

// A query whose items take each slot as soon as it is free leaves the queue its turn, also if another claim is under
// way whenever one is free: a pass, or one for another type. meanwhile: so many slots become free during each of those.
func TestIntake_AQueryLeavesTheQueueItsTurn(t *testing.T) {
	t.Parallel()
	for _, pass := range []bool{true, false} {
		for meanwhile := range 4 {
			for first := range 2 {
				if n := claimsUntilTheQueueIsAsked(pass, meanwhile, first); n > 4 {
					t.Errorf("passes: %v, %d slots during each claim, turn %d: %d claims, and the queue was never asked",
						pass, meanwhile, first, n)
				}
			}
		}
	}
}

func claimsUntilTheQueueIsAsked(passes bool, meanwhile, first int) (n int) {
	at := time.Unix(1000, 0)
	in := New(Config{Types: []scheduler.TypeName{"a", "b"}, Cursors: 8,
		Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}})
	query := scheduler.Job{Type: "a", MSQ: "select 1", Host: "h"}
	query.Claim = scheduler.Claim{Job: 1, Fence: 1}
	in.turn["a"] = first
	in.Apply(Offered{Host: "h", Epoch: 1}, at)
	freed := func() { // an item ends, its lock is free, and another item wants the slot
		in.Apply(MSQWaits{Claim: query.Claim, Job: &query, Reading: true, Waiting: 1}, at)
		now := map[scheduler.TypeName]int{"a": 1}
		if passes {
			in.Apply(LocksWoken{}, at)
		} else {
			in.Apply(Woken{Rang: true}, at)
			now["b"] = 1
		}
		in.Apply(Offered{Host: "h", Epoch: 1, Now: now}, at)
	}
	for ; n < 20; n++ {
		freed()
		claim := in.Next(Can{Grant: true, Claim: true, Running: 1}, at).Claim
		isA := func(t scheduler.TypeDemand) bool { return t.Type == "a" }
		if claim == nil || !claim.Demand.Locked && slices.ContainsFunc(claim.Demand.Types, isA) {
			return n
		}
		for range meanwhile {
			freed()
			in.Next(Can{Grant: true, Claiming: true, Running: 1}, at)
		}
		in.Apply(Claimed{Claim: *claim}, at)
	}
	return n
}

// While the database is away, and a claim is not answered, the items that were read go on in all slots.
func TestIntake_ItemsGoOnWhileAClaimIsNotAnswered(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	in := New(Config{Types: []scheduler.TypeName{"a"}, Cursors: 8,
		Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}})
	query := scheduler.Job{Type: "a", MSQ: "select 1", Host: "h"}
	query.Claim = scheduler.Claim{Job: 1, Fence: 1}
	in.Apply(LocksWoken{}, at)
	in.Apply(Offered{Host: "h", Epoch: 1}, at)
	if pass := in.Next(Can{Grant: true, Claim: true, Running: 1}, at).Claim; pass == nil || !pass.Demand.Locked {
		t.Fatal("no pass is made")
	}
	in.Apply(MSQWaits{Claim: query.Claim, Job: &query, Reading: true, Waiting: 9}, at)
	in.Apply(Offered{Host: "h", Epoch: 1, Now: map[scheduler.TypeName]int{"a": 4}}, at)
	granted := func(after time.Duration) (n int) {
		for _, g := range in.Next(Can{Grant: true, Claiming: true, Running: 1}, at.Add(after)).Grants {
			n += g.Now
		}
		return n
	}
	if n := granted(claimPatience); n != 2 {
		t.Errorf("at first the items get %d of 4 slots", n)
	}
	if n := granted(claimPatience + time.Millisecond); n != 2 {
		t.Errorf("then they get %d of the other 2", n)
	}
}
