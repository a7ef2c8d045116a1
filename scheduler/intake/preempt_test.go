package intake

import (
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
)

// On a host of one slot that busy holds, a claim brings nothing that is less
// urgent than what waits of types that would come up there if they could; and
// what waits is read, unless there is nobody to make room for.
func TestPreemptors_WhomAFullHostIsAskedToMakeRoomFor(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	types := []scheduler.TypeName{"busy", "other", "third"}
	for _, c := range []struct {
		name   string
		offer  Offered
		events []Event
		want   []scheduler.TypeName
		reads  bool
	}{
		{name: "both of the others", want: []scheduler.TypeName{"other", "third"}, reads: true},
		{name: "not for a paused type", want: []scheduler.TypeName{"third"}, reads: true,
			events: []Event{Controlled{scheduler.ControlState{Paused: []scheduler.TypeName{"other"}}}}},
		{name: "for nobody while there is room", offer: Offered{Room: 1}},
		{name: "for both where the room is that of a child that would go", offer: Offered{Room: 1, Full: true},
			want: []scheduler.TypeName{"other", "third"}, reads: true},
		{name: "not for whom room is being made already", offer: Offered{PreemptingFor: []scheduler.TypeName{"other"}},
			want: []scheduler.TypeName{"third"}, reads: true},
		{name: "not for a type that cannot come up", offer: Offered{Spawn: map[scheduler.TypeName]int{"third": 1}},
			want: []scheduler.TypeName{"third"}, reads: true},
		{name: "not for one that has a child", offer: Offered{Now: map[scheduler.TypeName]int{"busy": 1, "other": 1}},
			want: []scheduler.TypeName{"third"}, reads: true},
		{name: "not for one whose jobs are locked", want: []scheduler.TypeName{"third"},
			events: []Event{BacklogRead{Read: Read{Suspected: []scheduler.TypeName{"other"}}, Locked: []scheduler.TypeName{"other"}}},
			reads:  true},
	} {
		in := New(Config{Types: types, Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}, Cursors: 1})
		o := c.offer
		o.Host, o.Epoch = "h", 1
		if o.Now == nil {
			o.Now = map[scheduler.TypeName]int{"busy": 1}
		}
		if o.Spawn == nil {
			o.Spawn = map[scheduler.TypeName]int{"other": 1, "third": 1}
		}
		for _, ev := range append([]Event{o}, c.events...) {
			in.Apply(ev, now)
		}
		can := Can{Grant: true, Claim: true, Attached: true, Running: 1}
		s := in.Next(can, now)
		if (s.Read != nil) != c.reads {
			t.Errorf("%s: what waits is read: %v", c.name, s.Read)
		}
		for s.Claim != nil && s.Claim.Demand.Assigned { // that for children to come up has its turn too
			in.Apply(Claimed{Claim: *s.Claim}, now)
			s = in.Next(can, now)
		}
		if s.Claim == nil || !slices.Equal(s.Claim.Demand.Preemptors, c.want) {
			t.Errorf("%s: the claim is %+v, want beside it %v", c.name, s.Claim, c.want)
		}
	}
}

// The claim that was cut for others' sake has the backlog read again, at most
// every tenth of a second, and the host is told what waits.
func TestPreemptors_ACutClaimHasTheBacklogRead(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	in := New(
		Config{Types: []scheduler.TypeName{"busy", "other"}, Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}},
			Cursors: 1})
	can := Can{Grant: true, Claim: true, Running: 1, Attached: true}
	in.Apply(Offered{Host: "h", Epoch: 1, Now: map[scheduler.TypeName]int{"busy": 1},
		Spawn: map[scheduler.TypeName]int{"other": 1}}, now)
	s := in.Next(can, now)
	if s.Read == nil || s.Claim == nil {
		t.Fatalf("got %+v", s)
	}
	in.Apply(BacklogRead{Read: *s.Read, Of: map[scheduler.HostName][]scheduler.Backlog{"h": nil}}, now)
	in.Apply(Claimed{Claim: *s.Claim}, now) // nothing as urgent
	if s = in.Next(can, now.Add(time.Millisecond)); s.Read != nil || !s.ReadAt.Equal(now.Add(backlogSoon)) ||
		s.Claim != nil {
		t.Errorf("too early, and outranked until something rings: %+v", s)
	}
	if s = in.Next(can, now.Add(backlogSoon)); s.Read == nil || !s.Read.Cut {
		t.Fatalf("a tenth of a second later: %+v", s)
	}
	waiting := map[scheduler.HostName][]scheduler.Backlog{"h": {{Type: "other", Jobs: 1}}}
	told := in.Apply(BacklogRead{Read: *s.Read, Of: waiting}, now)
	if len(told.Backlogs) != 1 || !slices.Equal(told.Backlogs[0].Types, waiting["h"]) {
		t.Errorf("the host is told %+v", told.Backlogs)
	}
	if s = in.Next(can, now.Add(backlogSoon)); s.Claim == nil || s.Claim.Demand.Types[0].Type != "busy" {
		t.Errorf("busy goes on meanwhile: %+v", s)
	}
}

// On a host of one slot whose idle child may go, that child's credit and the credit of a child in its place are one
// slot's: the running child is asked first, and what spends the slot voids the other credit.
func TestFull_OneSlotIsSpentOnce(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	can := Can{Grant: true, Claim: true, Running: 1, Attached: true}
	full := Offered{Host: "h", Epoch: 1, Now: map[scheduler.TypeName]int{"warm": 1}, Room: 1, Full: true,
		Spawn: map[scheduler.TypeName]int{"other": 1}}
	job := func(t scheduler.TypeName) []scheduler.Job { return []scheduler.Job{{Type: t}} }
	begin := func() (*Intake, Claim) {
		in := New(Config{Types: []scheduler.TypeName{"warm", "other"}, Cursors: 1,
			Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}})
		in.Apply(full, now)
		s := in.Next(can, now)
		before := []scheduler.TypeName{"other"}
		if s.Claim == nil || s.Claim.Demand.Assigned || !slices.Equal(s.Claim.Demand.Preemptors, before) {
			t.Fatalf("first of all it claims %+v", s.Claim)
		}
		return in, *s.Claim
	}
	in, first := begin()
	if s := in.Apply(Claimed{Claim: first, Jobs: job("warm")}, now); !s.Dispatch[0].Recount {
		t.Error("the running child has work, and the slot is offered still")
	}
	if s := in.Next(can, now); s.Claim != nil {
		t.Errorf("the slot is taken, and it claims %+v", s.Claim)
	}

	in, first = begin()
	in.Apply(Claimed{Claim: first}, now) // other has something more urgent
	second := in.Next(can, now).Claim
	if second == nil || !second.Demand.Assigned {
		t.Fatalf("then it claims %+v", second)
	}
	if s := in.Apply(Claimed{Claim: *second, Jobs: job("other")}, now); !s.Dispatch[0].Recount {
		t.Error("another type gets the slot, and the child that has to go is offered still")
	}
	if s := in.Next(can, now); s.Claim != nil {
		t.Errorf("the slot is taken, and it claims %+v", s.Claim)
	}
	anew := full
	anew.Epoch, anew.Room = 2, 0
	in.Apply(anew, now)
	if s := in.Next(can, now); s.Claim == nil || s.Claim.Demand.Types[0].Type != "warm" {
		t.Errorf("what was more urgent has begun, and it claims %+v", s.Claim)
	}
}

// Running children that always take more do not keep the slot of an idle child from another type.
func TestFull_BothHaveTheirTurn(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	can := Can{Grant: true, Claim: true, Running: 1, Attached: true}
	in := New(Config{Types: []scheduler.TypeName{"warm", "other"}, Cursors: 1,
		Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}})
	var turns []bool
	for epoch := range uint64(6) {
		in.Apply(Offered{Host: "h", Epoch: epoch + 1, Now: map[scheduler.TypeName]int{"warm": 1}, Room: 1, Full: true,
			Spawn: map[scheduler.TypeName]int{"other": 1}}, now)
		s := in.Next(can, now)
		if s.Claim == nil {
			t.Fatal("it claims nothing")
		}
		d := s.Claim.Demand
		turns = append(turns, d.Assigned)
		in.Apply(Claimed{Claim: *s.Claim, Jobs: []scheduler.Job{{Type: d.Types[0].Type}}}, now)
	}
	if want := []bool{false, true, false, true, false, true}; !slices.Equal(turns, want) {
		t.Errorf("for children to come up: %v, want %v", turns, want)
	}
}
