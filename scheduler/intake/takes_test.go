package intake

import (
	"fmt"
	"testing"
	"time"

	"bellhop/scheduler"
)

// What a host has of a resource is claimed at most once, whichever types take it, and whatever is claimed by turns.
func TestClaim_NeverMoreThanThereIs(t *testing.T) {
	t.Parallel()
	gpu := func(n int) scheduler.Takes { return scheduler.Takes{Of: scheduler.Resources{"gpu": n}} }
	in := New(Config{Types: []scheduler.TypeName{"one", "two", "plain"},
		Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}},
		Takes: map[scheduler.TypeName]scheduler.Takes{"one": gpu(1), "two": gpu(2)}})
	now := time.Unix(1000, 0)
	in.Apply(Offered{Host: "h", Epoch: 1, Room: 8, Spawn: map[scheduler.TypeName]int{"one": 3, "two": 1, "plain": 8},
		Free: scheduler.Resources{"gpu": 3}}, now)
	used, id := map[scheduler.TypeName]int{}, scheduler.JobID(0)
	var told []string
	for {
		claim := in.Next(Can{Grant: true, Claim: true}, now).Claim
		if claim == nil {
			break
		}
		back := Claimed{Claim: *claim}
		text := ""
		for _, d := range claim.Demand.Types {
			text += fmt.Sprintf("%d %s ", d.Limit, d.Type)
			for n := 0; n < d.Limit && len(back.Jobs) < claim.Demand.Total; n++ { // as many of each as there may be
				id++
				job := scheduler.Job{Type: d.Type}
				job.Claim.Job = id
				back.Jobs = append(back.Jobs, job)
				used[d.Type]++
			}
		}
		told = append(told, fmt.Sprintf("%sof %d", text, claim.Demand.Total))
		in.Apply(back, now)
	}
	gpus, slots := used["one"]+2*used["two"], used["one"]+used["two"]+used["plain"]
	if gpus > 3 || slots > 8 || used["plain"] == 0 {
		t.Errorf("%d gpus of 3, %d slots of 8: %q", gpus, slots, told)
	}
	if len(told) > 5 {
		t.Errorf("plain jobs are claimed one at a time: %q", told)
	}
}

// A host is looked at for the sake of a type that lacks a resource, although slots are free.
func TestBacklog_OfATypeThatLacks(t *testing.T) {
	t.Parallel()
	for _, lacking := range [][]scheduler.TypeName{nil, {"one"}} {
		in := New(Config{Types: []scheduler.TypeName{"one"}, Takes: map[scheduler.TypeName]scheduler.Takes{"one": {}},
			Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}})
		now := time.Unix(1000, 0)
		in.Apply(Offered{Host: "h", Epoch: 1, Room: 8, Spawn: map[scheduler.TypeName]int{}, Lacking: lacking}, now)
		if read := in.Next(Can{Grant: true, Claim: true}, now).Read; (read != nil) != (lacking != nil) {
			t.Errorf("%v lack something: %+v is read", lacking, read)
		}
	}
}
