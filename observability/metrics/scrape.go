package metrics

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"bellhop/observability"
	"bellhop/scheduler"
)

// Sources are asked on each request for /metrics.
type Sources struct {
	Queue    func(ctx context.Context) (jobs []scheduler.Gauge, notifications float64, err error)
	Children func(ctx context.Context) []scheduler.ChildReport
	BellAge  func() time.Duration
	Gate     func() scheduler.GateState
	Dropped  func() (jobs, spans int64)
	Lags     func() map[string]int64 // of sensors, by workflow; nil: none
	// Findings counts what needs mending, by code; nil: it is not looked for.
	Findings func(ctx context.Context) (map[string]int64, error)
}

// patience bounds one scrape's questions.
const patience = 3 * time.Second

// scraped is what was read last.
type scraped struct {
	mu            sync.Mutex
	until         time.Time
	jobs          []scheduler.Gauge
	notifications float64
	findings      map[string]int64
	err           error
}

// read reads the queue, unless what it read last will do.
func (s *scraped) read(ctx context.Context, from Sources) ([]scheduler.Gauge, float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if began.Before(s.until) {
		return s.jobs, s.notifications, s.err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.jobs, s.notifications, s.err = from.Queue(ctx)
	if s.findings = nil; s.err == nil && from.Findings != nil {
		s.findings, s.err = from.Findings(ctx)
	}
	now := time.Now()
	s.until = now.Add(max(fresh, 20*now.Sub(began))) // a twentieth of the server's time at most
	return s.jobs, s.notifications, s.err
}

// Watch has the sources asked from now on.
func (m *Metrics) Watch(from Sources) error {
	if m == nil {
		return nil
	}
	var err error
	ints := func(of observability.Metric) (g metric.Int64ObservableGauge) {
		if err == nil {
			g, err = m.meter.Int64ObservableGauge(of.Name, metric.WithUnit(of.Unit), metric.WithDescription(of.About))
		}
		return g
	}
	floats := func(of observability.Metric) (g metric.Float64ObservableGauge) {
		if err == nil {
			g, err = m.meter.Float64ObservableGauge(of.Name, metric.WithUnit(of.Unit), metric.WithDescription(of.About))
		}
		return g
	}
	jobs, children, gate := ints(observability.Jobs), ints(observability.Children), ints(observability.GateState)
	database, lag, found := ints(observability.DatabaseUp), ints(observability.SensorLag), ints(observability.Findings)
	oldest, bell, notify := floats(
		observability.OldestReady), floats(observability.BellAge), floats(observability.NotifyUsage)
	if err != nil {
		return err
	}
	dropped, err := m.meter.Int64ObservableCounter(observability.Dropped.Name, metric.WithUnit(observability.Dropped.Unit),
		metric.WithDescription(observability.Dropped.About))
	if err != nil {
		return err
	}
	last := &scraped{}
	_, err = m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if queue, notifications, err := last.read(ctx, from); err != nil { // the rest is told all the same
			m.log.Debug("metrics: the queue cannot be read", "error", err)
			o.ObserveInt64(database, 0)
		} else {
			o.ObserveInt64(database, 1)
			o.ObserveFloat64(notify, notifications)
			for code, n := range last.findings {
				o.ObserveInt64(found, n, metric.WithAttributes(attribute.String(observability.LabelCode, code)))
			}
			for _, g := range queue {
				o.ObserveInt64(jobs, g.N, metric.WithAttributes(attribute.String(observability.LabelState, string(g.State)),
					attribute.String(observability.LabelType, string(g.Type))))
				if g.Oldest != nil {
					o.ObserveFloat64(oldest, max(0, *g.Oldest), metric.WithAttributes(attribute.String(observability.LabelType,
						string(g.Type))))
				}
			}
		}
		type kind struct {
			state string
			typ   scheduler.TypeName
		}
		counts := map[kind]int64{}
		asking, cancel := context.WithTimeout(ctx, patience/3)
		defer cancel()
		for _, c := range from.Children(asking) {
			counts[kind{strings.ToLower(c.State.String()), c.Type}]++
		}
		for k, n := range counts {
			o.ObserveInt64(children, n, metric.WithAttributes(attribute.String(observability.LabelState, k.state),
				attribute.String(observability.LabelType, string(k.typ))))
		}
		o.ObserveFloat64(bell, from.BellAge().Seconds())
		for s := scheduler.GateAwake; s <= scheduler.GateAsleep; s++ {
			is := int64(0)
			if s == from.Gate() {
				is = 1
			}
			o.ObserveInt64(gate, is,
				metric.WithAttributes(attribute.String(observability.LabelState, strings.ToLower(s.String()))))
		}
		if from.Lags != nil {
			for workflow, n := range from.Lags() {
				o.ObserveInt64(lag, n, metric.WithAttributes(attribute.String(observability.LabelWorkflow, workflow)))
			}
		}
		lostJobs, lostSpans := from.Dropped()
		o.ObserveInt64(dropped, lostJobs, metric.WithAttributes(attribute.String(observability.LabelWhat, "jobs")))
		o.ObserveInt64(dropped, lostSpans, metric.WithAttributes(attribute.String(observability.LabelWhat, "spans")))
		return nil
	}, jobs, children, gate, database, oldest, bell, notify, lag, found, dropped)
	return err
}
