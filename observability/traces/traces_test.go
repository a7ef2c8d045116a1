package traces

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"bellhop/scheduler"
)

const app = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func claimed(traceparent string, n int) []scheduler.Job {
	jobs := make([]scheduler.Job, n)
	at := time.Now()
	for i := range jobs {
		jobs[i].Claim = scheduler.Claim{Job: scheduler.JobID(i + 1), Fence: 1}
		jobs[i].Trace = traceparent
		jobs[i].Origin = &scheduler.Origin{
			Traceparent: traceparent,
			Type:        "a",
			CreatedAt:   at,
			Created:     at,
			Due:         at,
			Asked:       at,
			Claimed:     at,
		}
	}
	return jobs
}

func outcomes(jobs []scheduler.Job) []scheduler.Record {
	list := make([]scheduler.Record, len(jobs))
	for i, j := range jobs {
		list[i] = scheduler.Record{
			Kind:    scheduler.RecordSettle,
			Claim:   j.Claim,
			Attempt: 1,
			Result:  scheduler.Result{Line: &j.Line, Child: "a.1", Began: time.Now(), Ended: time.Now()},
		}
	}
	return list
}

// stuck is an exporter that returns only when its context has ended.
type stuck struct{}

func (stuck) ExportSpans(ctx context.Context, _ []sdk.ReadOnlySpan) error {
	<-ctx.Done()
	return errors.New("stuck")
}
func (stuck) Shutdown(context.Context) error { return nil }

// What is told never waits, and what is dropped is counted.
func TestTracer_NeverBlocksWhoTellsIt(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
	s, err := samplerOf("", "")
	if err != nil {
		t.Fatal(err)
	}
	tracer := start(Config{Log: slog.New(slog.DiscardHandler)}, s, resource.Empty(), []sdk.SpanExporter{stuck{}})
	const batches, each = 100, 1000
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range batches {
			jobs := claimed(app, each)
			tracer.Claimed(jobs)
			tracer.Settled(outcomes(jobs), nil, time.Now())
		}
	}()
	select {
	case <-told:
	case <-time.After(10 * time.Minute): // a hang is what this is about
		t.Fatal("it blocks")
	}
	// All but what waits is counted: twice each job, as claimed and as settled.
	if jobs, _ := tracer.Dropped(); jobs < 2*batches*each-queuedJobs-2*each || jobs > 2*batches*each {
		t.Errorf("%d dropped", jobs)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan struct{})
	go func() { tracer.Stop(ctx); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the end waits for the collector")
	}
}

// An app's context that nobody records costs nothing, and stays what it is.
func TestClaimed_LeavesWhatIsNotSampledAlone(t *testing.T) {
	s, err := samplerOf("parentbased_always_off", "")
	if err != nil {
		t.Fatal(err)
	}
	tracer := start(Config{Log: slog.New(slog.DiscardHandler)}, s, resource.Empty(), nil)
	defer tracer.Stop(t.Context())
	jobs := append(claimed(app[:53]+"00", 10), claimed("", 10)...)
	if n := testing.AllocsPerRun(100, func() { tracer.Claimed(jobs) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, j := range jobs {
		if j.Trace != j.Origin.Traceparent || j.Origin.Sampled {
			t.Errorf("%+v", j)
		}
	}
	var off *Tracer
	if n := testing.AllocsPerRun(100, func() { off.Claimed(jobs); off.Settled(nil, nil, time.Time{}) }); n != 0 {
		t.Errorf("off: %v allocations", n)
	}
}

func TestSampler_DoesWhatTheVariablesSay(t *testing.T) {
	t.Parallel()
	yes, _ := scheduler.ParseTrace(app)
	no := yes
	no.Flags = 0
	for _, c := range []struct {
		name, arg           string
		sampled, not, roots bool
	}{
		{"", "", true, false, true},
		{"parentbased_always_on", "", true, false, true},
		{"parentbased_always_off", "", true, false, false},
		{"always_on", "", true, true, true},
		{"always_off", "", false, false, false},
		{"traceidratio", "0", false, false, false},
		{"traceidratio", "1", true, true, true},
		{"parentbased_traceidratio", "0", true, false, false},
		{"parentbased_traceidratio", "", true, false, true},
	} {
		s, err := samplerOf(c.name, c.arg)
		if err != nil {
			t.Fatal(err)
		}
		root, own := scheduler.JobTrace("", 1, time.Now())
		if a, b, r := s.takes(yes, false), s.takes(no, false), s.takes(root, own); a != c.sampled || b != c.not ||
			r != c.roots {
			t.Errorf("%s %s: sampled %v, not sampled %v, no parent %v", c.name, c.arg, a, b, r)
		}
	}
	for name, arg := range map[string]string{"sometimes": "", "traceidratio": "half", "parentbased_traceidratio": "1.5"} {
		if _, err := samplerOf(name, arg); err == nil {
			t.Errorf("%s %s: no error", name, arg)
		}
	}
}
