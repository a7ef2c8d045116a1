package memory

import (
	"fmt"
	"testing"
	"time"

	"bellhop/scheduler"
)

// The queue in memory keeps what the tree leans on: each job once, the more
// urgent first, and outcomes only from who holds it.
func TestMemory_ClaimsOnceInOrderUnderAFence(t *testing.T) {
	t.Parallel()
	m := New(func(scheduler.Entry) {}, func(*Job) {})
	for _, priority := range []int{0, 5, -20, 0} {
		m.Submit("a", nil, priority, "")
	}
	m.Submit("b", nil, 0, "")
	demand := scheduler.Demand{
		Host:  "local",
		Total: 3,
		Types: []scheduler.TypeDemand{{Type: "a", Limit: 3, MaxPriority: 19}},
	}
	jobs, _ := m.Claim(t.Context(), 1, demand)
	var ids []scheduler.JobID
	for _, j := range jobs {
		ids = append(ids, j.Claim.Job)
	}
	if fmt.Sprint(ids) != "[3 1 4]" || jobs[0].Fence != 1 || jobs[0].Attempt != 1 {
		t.Fatalf("claimed %v: %+v", ids, jobs)
	}
	write := func(r scheduler.Record) (stale int) {
		list, _, err := m.Write(t.Context(), 1, scheduler.Batch{Records: []scheduler.Record{r}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	done := scheduler.Verdict{State: scheduler.Succeeded}
	old := jobs[0].Claim
	if write(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: old}) != 0 {
		t.Error("its holder may not give it back")
	}
	again, _ := m.Claim(t.Context(), 1, demand)
	if len(again) != 2 || again[0].Claim.Job != 3 || again[0].Fence != 2 || again[0].Attempt != 1 ||
		again[1].Claim.Job != 2 {
		t.Fatalf("claimed again %+v", again)
	}
	if write(scheduler.Record{Kind: scheduler.RecordSettle, Claim: old, Verdict: done}) != 1 {
		t.Error("an outcome under an old fence was taken")
	}
	if write(scheduler.Record{Kind: scheduler.RecordSettle, Claim: again[0].Claim, Verdict: done}) != 0 {
		t.Error("its holder's outcome was not taken")
	}
	select {
	case <-m.Wait("a", 3):
	case <-m.Wait("b", 0):
		t.Error("b is open")
	default:
		t.Error("three of a are open, and that is not seen")
	}
}
