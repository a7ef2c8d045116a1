package intake

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

func TestExclusion_WhoMayStart(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	x := newExclusion([]scheduler.TypeName{"big", "vast"}, time.Minute)
	check := func(step string, running int, exclusive, others bool, asks int) {
		t.Helper()
		if e, o := x.may(running, now); e != exclusive || o != others || len(x.ask) != asks {
			t.Errorf("%s: may %v %v and asks for %v, want %v %v %d", step, e, o, x.ask, exclusive, others, asks)
		}
	}
	check("what runs is not known", 3, false, false, 0)
	check("nothing runs", 0, true, true, 0)
	check("others run", 3, false, true, 0)
	x.scan(now)
	check("a scan comes too early", 3, false, true, 0)
	now = now.Add(time.Minute)
	x.scan(now)
	check("at work for long: is one waiting?", 3, false, true, 2)
	x.asked("big", false)
	check("not of this type", 3, false, true, 1)
	x.asked("vast", true)
	check("but of that: nothing starts", 3, false, false, 0)
	x.scan(now)
	check("and it is asked again", 2, false, false, 2)
	x.asked("big", false)
	check("an answer to come", 2, false, false, 1)
	x.asked("vast", false)
	check("it was cancelled", 2, false, true, 0)
	x.scan(now)
	x.asked("big", true)
	check("another one", 2, false, false, 1)
	x.asked("vast", false)
	check("all others have ended: its turn, and nobody else's", 0, true, false, 0)
	x.scan(now)
	check("still, when there is no room for it yet", 0, true, false, 2)
	x.started()
	check("it runs", 1, false, false, 0)
	now = now.Add(time.Hour)
	check("and stays alone", 1, false, false, 0)
	check("it has ended", 0, true, true, 0)

	free := newExclusion(nil, time.Minute)
	free.scan(now)
	if e, o := free.may(5, now); e || !o || free.ask != nil {
		t.Error("an instance without exclusive types is held up")
	}
}

func TestExclusion_OneJobAtATime(t *testing.T) {
	t.Parallel()
	d := scheduler.Demand{
		Host:  "h",
		Total: 12,
		Types: []scheduler.TypeDemand{{Type: "a", Limit: 8, MaxPriority: 19}, {Type: "b", Limit: 4, MaxPriority: 19}},
	}
	if one := one(d); one.Total != 1 || len(one.Types) != 1 || one.Types[0].Limit != 1 || one.Types[0].Type != "a" {
		t.Errorf("got %+v", one)
	}
	if one := one(scheduler.Demand{}); len(one.Types) != 0 || one.Total != 0 {
		t.Errorf("of nothing: %+v", one)
	}
}
