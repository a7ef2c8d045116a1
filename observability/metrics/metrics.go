// Package metrics counts and times what happens to jobs, and answers Prometheus. Values from the database are read
// on request, and not more often than is cheap.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"bellhop/observability"
	"bellhop/scheduler"
)

// Metrics counts. A nil one counts nothing, at no cost.
type Metrics struct {
	log      *slog.Logger
	handler  http.Handler
	provider *sdk.MeterProvider
	meter    metric.Meter
	wait     *prometheus.HistogramVec
	pickup   *prometheus.HistogramVec
	run      *prometheus.HistogramVec
	forecast *prometheus.HistogramVec
	batch    metric.Int64Histogram
	starts   metric.Int64Counter
	deaths   metric.Int64Counter
	lost     metric.Int64Counter
	connects metric.Int64Counter
	aside    metric.Int64Counter
	sensors  metric.Int64Counter
	promises metric.Int64Counter
	claims   []metric.RecordOption
	settles  []metric.RecordOption

	mu    sync.Mutex
	types map[scheduler.TypeName]*ofType
}

// ofType is where the jobs of a type are measured: found once, since to look
// for it costs more than to measure.
type ofType struct {
	wait   prometheus.Observer
	pickup prometheus.Observer
	run    [scheduler.OutcomeLost + 1]prometheus.Observer
	label  []metric.AddOption
}

var (
	// seconds are bounds from half a millisecond, which a pick-up takes, to hours, which work may take.
	seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}
	sizes   = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000}
)

// Build is what is known of the program that runs.
type Build struct{ Version, Commit, Go string }

// New returns nil where OTEL_SDK_DISABLED is true or OTEL_METRICS_EXPORTER is none.
func New(build Build, log *slog.Logger) (*Metrics, error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") ||
		os.Getenv("OTEL_METRICS_EXPORTER") == "none" {
		return nil, nil
	}
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo(),
		otelprom.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	m := &Metrics{
		log:      log,
		provider: sdk.NewMeterProvider(sdk.WithReader(exporter)),
		types:    map[scheduler.TypeName]*ofType{},
	}
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4})
	m.meter = m.provider.Meter(observability.System)
	m.claims = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String(observability.LabelWhat, "claim")))}
	m.settles = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String(observability.LabelWhat, "settle")))}
	m.durations(registry)
	// What every program that is watched by Prometheus tells of itself: processor
	// time, memory, open files, goroutines.
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: strings.ReplaceAll(observability.Build.Name, ".", "_"),
		Help: observability.Build.About}, observability.Build.Labels)
	info.WithLabelValues(build.Version, build.Commit, build.Go).Set(1)
	registry.MustRegister(info)
	return m, m.instruments()
}

// durations are measured three times a job, with what OpenTelemetry's exporter
// itself stands on: an OpenTelemetry histogram takes a microsecond of it, which
// is 3 % of what a job costs, and this a tenth.
func (m *Metrics) durations(registry *prometheus.Registry) {
	for _, d := range []struct {
		to **prometheus.HistogramVec
		of observability.Metric
	}{{&m.wait, observability.JobWait}, {&m.pickup, observability.JobPickup}, {&m.run, observability.JobRun},
		{&m.forecast, observability.ForecastError}} {
		*d.to = prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name:    strings.ReplaceAll(d.of.Name, ".", "_") + "_seconds",
				Help:    d.of.About,
				Buckets: seconds,
			},
			d.of.Labels,
		)
		registry.MustRegister(*d.to) // their names differ
	}
}

func (m *Metrics) instruments() (err error) {
	counter := func(to *metric.Int64Counter, of observability.Metric) {
		if err == nil {
			*to, err = m.meter.Int64Counter(of.Name, metric.WithUnit(of.Unit), metric.WithDescription(of.About))
		}
	}
	counter(&m.starts, observability.ChildStarts)
	counter(&m.deaths, observability.ChildDeaths)
	counter(&m.lost, observability.FencesLost)
	counter(&m.connects, observability.BellConnects)
	counter(&m.aside, observability.Quarantined)
	counter(&m.sensors, observability.SensorFailures)
	counter(&m.promises, observability.Promises)
	if err == nil {
		m.batch, err = m.meter.Int64Histogram(observability.BatchSize.Name, metric.WithUnit(observability.BatchSize.Unit),
			metric.WithDescription(observability.BatchSize.About), metric.WithExplicitBucketBoundaries(sizes...))
	}
	if err == nil { // so that they are there, at 0, before the first
		m.lost.Add(context.Background(), 0)
		m.connects.Add(context.Background(), 0)
	}
	return err
}

// Handler answers /metrics; nil where nothing is counted.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return m.handler
}

func (m *Metrics) of(typ scheduler.TypeName) *ofType {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.types[typ]
	if t == nil {
		t = &ofType{wait: m.wait.WithLabelValues(string(typ)), pickup: m.pickup.WithLabelValues(string(typ)),
			label: []metric.AddOption{
				metric.WithAttributeSet(attribute.NewSet(attribute.String(observability.LabelType, string(typ)))),
			}}
		m.types[typ] = t
		m.aside.Add(context.Background(), 0, t.label...) // there before the first, so that its increase can be seen
	}
	return t
}

// ran is where runs of a type that ended so are measured: made when there is one.
func (m *Metrics) ran(t *ofType, typ scheduler.TypeName, o scheduler.Outcome) prometheus.Observer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.run[o] == nil {
		t.run[o] = m.run.WithLabelValues(string(typ), o.String())
	}
	return t.run[o]
}

// observe measures; a job that is traced is an example of it.
func observe(to prometheus.Observer, d time.Duration, l *scheduler.Line) {
	seconds := max(0, d.Seconds())
	if l.Origin.Sampled {
		if c, ok := scheduler.ParseTrace(l.Trace); ok {
			to.(prometheus.ExemplarObserver).ObserveWithExemplar(seconds,
				prometheus.Labels{"trace_id": c.TraceID(), "span_id": c.SpanID()})
			return
		}
	}
	to.Observe(seconds)
}

// Claimed is told which jobs one claim brought.
func (m *Metrics) Claimed(jobs []scheduler.Job) {
	if m == nil {
		return
	}
	m.batch.Record(context.Background(), int64(len(jobs)), m.claims...)
	var t *ofType
	var typ scheduler.TypeName // of t: most jobs are of the last one's
	for i := range jobs {
		o := jobs[i].Origin
		if o == nil {
			continue
		}
		if t == nil || o.Type != typ {
			t, typ = m.of(o.Type), o.Type
		}
		observe(t.wait, o.Claimed.Sub(o.Due), &jobs[i].Line)
	}
}

// Settled is told what was committed.
func (m *Metrics) Settled(records []scheduler.Record, stale []scheduler.Claim) {
	if m == nil {
		return
	}
	m.batch.Record(context.Background(), int64(len(records)), m.settles...)
	if len(stale) > 0 {
		m.lost.Add(context.Background(), int64(len(stale)))
	}
	var t *ofType
	var run prometheus.Observer
	var typ scheduler.TypeName
	var outcome scheduler.Outcome
	for i := range records {
		r := &records[i].Result
		o := records[i].Line().Origin
		if o != nil && records[i].Verdict.State == scheduler.Quarantined {
			m.aside.Add(context.Background(), 1, m.of(o.Type).label...)
		}
		if o == nil || r.Began.IsZero() {
			continue
		}
		if t == nil || o.Type != typ || r.Outcome != outcome {
			t, typ, outcome = m.of(o.Type), o.Type, r.Outcome
			run = m.ran(t, typ, outcome)
		}
		observe(t.pickup, r.Began.Sub(o.Due), r.Line)
		observe(run, r.Ended.Sub(r.Began), r.Line)
	}
}

// Missed is told by how much a forecast was off.
func (m *Metrics) Missed(ahead string, by time.Duration) {
	if m != nil {
		m.forecast.WithLabelValues(ahead).Observe(by.Seconds())
	}
}

// Promised is told what became of a promise.
func (m *Metrics) Promised(outcome string) {
	if m != nil {
		m.promises.Add(context.Background(), 1,
			metric.WithAttributes(attribute.String(observability.LabelOutcome, outcome)))
	}
}

// Up is told that a child of a type came up.
func (m *Metrics) Up(typ scheduler.TypeName) {
	if m != nil {
		m.starts.Add(context.Background(), 1, m.of(typ).label...)
	}
}

// Died is told that a child of a type died without having been told to.
func (m *Metrics) Died(typ scheduler.TypeName) {
	if m != nil {
		m.deaths.Add(context.Background(), 1, m.of(typ).label...)
	}
}

// SensorFailed is told that a sensor of a kind sees nothing.
func (m *Metrics) SensorFailed(kind string) {
	if m != nil {
		m.sensors.Add(context.Background(), 1, metric.WithAttributes(attribute.String(observability.LabelKind, kind)))
	}
}

// Connected is told that the listener has connected.
func (m *Metrics) Connected() {
	if m != nil {
		m.connects.Add(context.Background(), 1)
	}
}

// Stop ends it.
func (m *Metrics) Stop(ctx context.Context) {
	if m != nil {
		_ = m.provider.Shutdown(ctx) // nothing is sent anywhere
	}
}

// fresh is how long what was read from the database is shown again; longer
// where reading it took long, so that scrapes never keep the server busy.
const fresh = 3 * time.Second
