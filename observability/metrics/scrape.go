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
	g := gauges{
		jobs: ints(observability.Jobs), children: ints(observability.Children), gate: ints(observability.GateState),
		database: ints(observability.DatabaseUp), lag: ints(observability.SensorLag), found: ints(observability.Findings),
		oldest: floats(observability.OldestReady), bell: floats(observability.BellAge),
		notify: floats(observability.NotifyUsage),
	}
	if err != nil {
		return err
	}
	if g.dropped, err = m.meter.Int64ObservableCounter(observability.Dropped.Name,
		metric.WithUnit(observability.Dropped.Unit), metric.WithDescription(observability.Dropped.About)); err != nil {
		return err
	}
	last := &scraped{}
	_, err = m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if queue, notifications, err := last.read(ctx, from); err != nil { // the rest is told all the same
			m.log.Debug("metrics: the queue cannot be read", "error", err)
			o.ObserveInt64(g.database, 0)
		} else {
			o.ObserveInt64(g.database, 1)
			o.ObserveFloat64(g.notify, notifications)
			g.observeQueue(o, queue, last.findings)
		}
		g.observeInstance(ctx, o, from)
		return nil
	}, g.jobs, g.children, g.gate, g.database, g.oldest, g.bell, g.notify, g.lag, g.found, g.dropped)
	return err
}

// gauges are the instruments that a request for /metrics reads.
type gauges struct {
	jobs, children, gate, database, lag, found metric.Int64ObservableGauge
	oldest, bell, notify                       metric.Float64ObservableGauge
	dropped                                    metric.Int64ObservableCounter
}

func label[T ~string](name string, value T) metric.ObserveOption {
	return metric.WithAttributes(attribute.String(name, string(value)))
}

func (g *gauges) observeQueue(o metric.Observer, queue []scheduler.Gauge, findings map[string]int64) {
	for code, n := range findings {
		o.ObserveInt64(g.found, n, label(observability.LabelCode, code))
	}
	for _, q := range queue {
		typ := label(observability.LabelType, q.Type)
		o.ObserveInt64(g.jobs, q.N, label(observability.LabelState, q.State), typ)
		if q.Oldest != nil {
			o.ObserveFloat64(g.oldest, max(0, *q.Oldest), typ)
		}
	}
}

func (g *gauges) observeInstance(ctx context.Context, o metric.Observer, from Sources) {
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
		o.ObserveInt64(g.children, n, label(observability.LabelState, k.state), label(observability.LabelType, k.typ))
	}
	o.ObserveFloat64(g.bell, from.BellAge().Seconds())
	for s := scheduler.GateAwake; s <= scheduler.GateAsleep; s++ {
		is := int64(0)
		if s == from.Gate() {
			is = 1
		}
		o.ObserveInt64(g.gate, is, label(observability.LabelState, strings.ToLower(s.String())))
	}
	if from.Lags != nil {
		for workflow, n := range from.Lags() {
			o.ObserveInt64(g.lag, n, label(observability.LabelWorkflow, workflow))
		}
	}
	lostJobs, lostSpans := from.Dropped()
	o.ObserveInt64(g.dropped, lostJobs, label(observability.LabelWhat, "jobs"))
	o.ObserveInt64(g.dropped, lostSpans, label(observability.LabelWhat, "spans"))
}
