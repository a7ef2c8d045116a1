package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"time"
)

// measureTraces is the drain with traces of one job in a hundred, beside the
// same without traces, which is how it ships, and without metrics either.
func measureTraces(ctx context.Context, b *bench, round int) error {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a collector takes what it is given
	}))
	defer collector.Close()
	const n = 200_000 // two seconds, as 50,000 take, differ by a tenth from the next two
	take := func(p *bellhop) func() error {
		return func() error {
			return b.with(ctx, p, options{Drain: true}, func(s *session) error { return s.traced(ctx, round, n) })
		}
	}
	off := &bellhop{b: b, label: "bellhop, no metrics either", env: []string{"OTEL_SDK_DISABLED=true"}}
	ships := &bellhop{b: b, label: "bellhop, no traces"}
	on := &bellhop{b: b, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}}
	return inTurn(round, take(off), take(ships), take(on))
}

const drainTraced = "drain of 200,000, traces of 1 %"

// traced drains and notes the rate, and what of the processors the scheduler
// took: of that the load of the machine changes less.
func (s *session) traced(ctx context.Context, round, n int) error {
	if err := s.fill(ctx, 2000); err != nil {
		return err
	}
	if err := s.settle(ctx, time.Minute); err != nil {
		return err
	}
	if err := s.vacuum(ctx); err != nil {
		return err
	}
	before, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	rate, err := s.drain(ctx, n)
	if err != nil {
		return err
	}
	after, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	s.b.note(round, drainTraced, s.name(), rate, "jobs/s")
	s.b.note(round, drainTraced+": processor time of the scheduler", s.name(),
		float64((after-before).Nanoseconds())/1000/float64(n), "µs/job")
	return s.check(ctx)
}
