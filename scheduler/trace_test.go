package scheduler_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler"
)

const app = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParseTrace_TakesWhatTheStandardSaysAndNothingElse(t *testing.T) {
	t.Parallel()
	c, ok := scheduler.ParseTrace(app)
	if !ok || !c.Sampled() || c.TraceID() != "4bf92f3577b34da6a3ce929d0e0e4736" || c.SpanID() != "00f067aa0ba902b7" ||
		c.String() != app {
		t.Errorf("got %+v, %v: %s", c, ok, c)
	}
	if c, ok := scheduler.ParseTrace(app[:53] + "00"); !ok || c.Sampled() {
		t.Errorf("unsampled: %+v, %v", c, ok)
	}
	if _, ok := scheduler.ParseTrace("01" + app[2:] + "-more"); !ok {
		t.Error("a later version may say more")
	}
	for _, bad := range []string{"", "x", app[:54], app + "0", app + "-more", "ff" + app[2:], "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01"} {
		if c, ok := scheduler.ParseTrace(bad); ok {
			t.Errorf("%q: %+v", bad, c)
		}
	}
}

func TestJobTrace_IsTheSameForWhoeverWorksItOut(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	given, own := scheduler.JobTrace(app, 7, at)
	if own || given.String() != app {
		t.Errorf("the app's: %s, own %v", given, own)
	}
	first, own := scheduler.JobTrace("nonsense", 7, at)
	again, _ := scheduler.JobTrace("", 7, at.In(time.FixedZone("x", 3600)))
	other, _ := scheduler.JobTrace("", 8, at)
	later, _ := scheduler.JobTrace("", 7, at.Add(time.Microsecond))
	if !own || first != again || first.Trace == other.Trace || first.Trace == later.Trace {
		t.Errorf("own %v: %s, %s, %s, %s", own, first, again, other, later)
	}
	if _, ok := scheduler.ParseTrace(first.At(7, scheduler.StepRun, 1).String()); !ok {
		t.Errorf("not a traceparent: %s", first.At(7, scheduler.StepRun, 1))
	}
}

// No two spans of a trace have the same id, and all are sampled.
func TestTraceContext_StepsDiffer(t *testing.T) {
	t.Parallel()
	c, _ := scheduler.ParseTrace(app)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (scheduler.JobID, scheduler.Step, int64) {
			return scheduler.JobID(rapid.Int64Range(1, 1000).Draw(t, name+" job")),
				scheduler.Step(rapid.Uint64Range(1, 9).Draw(t, name+" step")), rapid.Int64Range(0, 1000).Draw(t, name+" n")
		}
		j1, s1, n1 := draw("a")
		j2, s2, n2 := draw("b")
		a, b := c.At(j1, s1, n1), c.At(j2, s2, n2)
		if (a == b) != (j1 == j2 && s1 == s2 && n1 == n2) || a.Trace != c.Trace || !a.Sampled() {
			t.Errorf("%s, %s", a, b)
		}
	})
}

// A ratio sampler reads the last eight bytes of the trace id as a number.
func TestJobTrace_SpreadsEvenly(t *testing.T) {
	t.Parallel()
	const n = 100_000
	low := 0
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		c, _ := scheduler.JobTrace("", scheduler.JobID(i), at.Add(time.Duration(i)*10*time.Microsecond))
		if c.Trace[8]&0x7f < 16 { // an eighth of them
			low++
		}
	}
	if low < n/8-n/100 || low > n/8+n/100 {
		t.Errorf("%d of %d", low, n)
	}
}

func TestOrigin_GivesSomeItemsASpanOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := scheduler.Claim{Job: 3, Fence: 2}
	some := &scheduler.Origin{Sampled: true, Items: 10}
	if got := some.TraceOfItem(c, app, 20); got == app {
		t.Error("the twentieth has none")
	}
	if got := some.TraceOfItem(c, app, 21); got != app {
		t.Errorf("the twenty-first: %s", got)
	}
	for _, none := range []*scheduler.Origin{nil, {}, {Sampled: true}, {Items: 1}} {
		if got := none.TraceOfItem(c, app, 20); got != app {
			t.Errorf("%+v: %s", none, got)
		}
	}
}
