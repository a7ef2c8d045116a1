// Package traces makes OpenTelemetry spans of what happens to jobs. Nothing of
// the scheduler waits for it: what it is told goes into a bounded queue, and is
// dropped and counted when that is full. Spans are made after the fact, with
// the times at which things happened.
package traces

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"bellhop/observability"
	"bellhop/scheduler"
)

// Config is what traces need besides the OTEL_ variables of the environment.
type Config struct {
	Version string // of this program
	Name    string // of this instance
	Items   int    // each so many-th item of a query's job has a span of its own; 0: none
	Log     *slog.Logger
	// Needs finds the jobs that others needed, so that they can be linked; nil: they are not.
	Needs func(ctx context.Context, jobs []scheduler.JobID) (map[scheduler.JobID][]scheduler.Needed, error)
}

// Tracer makes spans. A nil one makes none, at no cost.
type Tracer struct {
	Config
	tracer   trace.Tracer
	sampler  sampler
	provider *sdk.TracerProvider
	queue    chan any
	waiting  atomic.Int64 // jobs and items in the queue
	dropped  atomic.Int64
	lost     atomic.Int64
	stop     context.CancelFunc
	ended    chan struct{}
	mu       sync.Mutex
	came     map[string]came // by host and child: how it came up
}

type came struct{ launched, ready time.Time }

// queued is how much may wait to be made into spans: so many batches, of so
// many jobs and items in all.
const (
	queued     = 256
	queuedJobs = 8192
)

// Start reads the OTEL_ variables. Where they name no exporter it returns nil,
// which makes no span. A value that it does not know is an error.
func Start(ctx context.Context, c Config) (*Tracer, error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
		return nil, nil
	}
	s, err := samplerOf(os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG"))
	if err != nil {
		return nil, err
	}
	exporters, err := exporters(ctx)
	if err != nil || len(exporters) == 0 {
		return nil, err
	}
	about, err := resource.New(
		ctx,
		resource.WithAttributes(semconv.ServiceName(observability.System), semconv.ServiceVersion(c.Version),
			semconv.ServiceInstanceID(c.Name)),
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithProcessPID(),
		resource.WithFromEnv(),
	)
	if err != nil {
		c.Log.Warn("traces: what is known of this process is not complete", "error", err)
	}
	return start(c, s, about, exporters), nil
}

func start(c Config, s sampler, about *resource.Resource, exporters []sdk.SpanExporter) *Tracer {
	t := &Tracer{Config: c, sampler: s, queue: make(chan any, queued), ended: make(chan struct{}), came: map[string]came{}}
	options := []sdk.TracerProviderOption{
		sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithIDGenerator(ids{}),
		sdk.WithResource(about),
	}
	for _, e := range exporters {
		// Blocking holds up only our own goroutine: what does not fit then is dropped, and counted, in one place.
		options = append(options, sdk.WithBatcher(&counted{e, t, atomic.Int64{}}, sdk.WithBlocking()))
	}
	t.provider = sdk.NewTracerProvider(options...)
	t.tracer = t.provider.Tracer(observability.System, trace.WithInstrumentationVersion(c.Version))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Log.Debug("traces", "error", err) }))
	ctx, cancel := context.WithCancel(context.Background())
	t.stop = cancel
	go t.work(ctx)
	return t
}

// exporters are those that the environment asks for: OTEL_TRACES_EXPORTER, or
// OTLP where an endpoint is named.
func exporters(ctx context.Context) (list []sdk.SpanExporter, err error) {
	names := os.Getenv("OTEL_TRACES_EXPORTER")
	if names == "" &&
		(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "") {
		names = "otlp"
	}
	for _, name := range strings.Split(names, ",") {
		var e sdk.SpanExporter
		switch strings.TrimSpace(name) {
		case "", "none":
			continue
		case "console":
			e, err = stdouttrace.New(stdouttrace.WithWriter(os.Stderr))
		case "otlp":
			e, err = otlp(ctx)
		default:
			err = fmt.Errorf("OTEL_TRACES_EXPORTER is %q: bellhop knows otlp, console and none", names)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func otlp(ctx context.Context) (sdk.SpanExporter, error) {
	// The exporters take what they cannot read for nothing, and send to localhost.
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if text := os.Getenv(name); text != "" {
			if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return nil, fmt.Errorf("%s is %q: it is a URL such as http://localhost:4318", name, text)
			}
		}
	}
	protocol := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx) // it connects at its first use
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: bellhop speaks http/protobuf and grpc", protocol)
}

// counted counts the spans that an exporter could not get rid of, and says so
// when that begins and when it is over.
type counted struct {
	sdk.SpanExporter
	t     *Tracer
	fails atomic.Int64
}

func (e *counted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		e.t.lost.Add(int64(len(spans)))
		if e.fails.Add(1) == 1 {
			e.t.Log.Warn("traces: the collector does not take spans; they are dropped, jobs are not held up", "error", err, "spans", len(spans))
		}
	} else if e.fails.Swap(0) > 0 {
		e.t.Log.Info("traces: the collector takes spans again", "lost", e.t.lost.Load())
	}
	return err
}

// Dropped is of how many jobs and items no spans were made since too much
// waited, and how many spans the collector did not take.
func (t *Tracer) Dropped() (jobs, spans int64) {
	if t == nil {
		return 0, 0
	}
	return t.dropped.Load(), t.lost.Load()
}

// Stop sends what is left. It does not wait past the end of ctx.
func (t *Tracer) Stop(ctx context.Context) {
	if t == nil {
		return
	}
	t.stop()
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		t.Log.Warn("traces: not everything could be sent before the end", "error", err)
	}
	if jobs, spans := t.Dropped(); jobs+spans > 0 {
		t.Log.Warn("traces: dropped", "jobs", jobs, "spans", spans)
	}
}

// put queues something about n jobs or items for work, or drops it.
func (t *Tracer) put(what any, n int) {
	if t.waiting.Add(int64(n)) <= queuedJobs {
		select {
		case t.queue <- what:
			return
		default:
		}
	}
	t.waiting.Add(-int64(n))
	t.dropped.Add(int64(n))
}

// gather is for how long outcomes gather before spans are made of them: one
// question to the database for all, and one wake-up.
const gather = 100 * time.Millisecond

// work makes spans until it is told to stop, and then of what still waits.
func (t *Tracer) work(ctx context.Context) {
	defer close(t.ended)
	for {
		select {
		case what := <-t.queue:
			select {
			case <-time.After(gather):
			case <-ctx.Done():
			}
			t.spansOf(t.waits(what))
		case <-ctx.Done():
			t.spansOf(t.waits())
			return
		}
	}
}

// waits is all that waits just now, behind what was taken already.
func (t *Tracer) waits(all ...any) []any {
	for {
		select {
		case what := <-t.queue:
			all = append(all, what)
		default:
			return all
		}
	}
}

// ids gives spans the ids that their context names.
type ids struct{}

type idKey struct{}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(idKey{}).(scheduler.TraceContext)
	return c.Trace, c.Span
}

func (g ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := g.NewIDs(ctx)
	return span
}

// span is one to be made.
type span struct {
	name       string
	kind       trace.SpanKind
	at         scheduler.TraceContext
	parent     scheduler.TraceContext // no span: it begins the trace
	remote     bool                   // the parent is another program's
	from, to   time.Time
	attributes []attribute.KeyValue
	links      []trace.Link
	failed     string // why it is an error; empty: it is none
}

func (t *Tracer) make(s span) {
	ctx := context.WithValue(context.Background(), idKey{}, s.at)
	if s.parent.Span != [8]byte{} {
		ctx = trace.ContextWithSpanContext(ctx, spanContext(s.parent, s.remote))
	}
	if s.to.Before(s.from) {
		s.to = s.from
	}
	_, made := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.from),
		trace.WithAttributes(s.attributes...), trace.WithLinks(s.links...))
	setStatus(made, s.failed)
	made.End(trace.WithTimestamp(s.to))
}

func spanContext(c scheduler.TraceContext, remote bool) trace.SpanContext {
	return trace.NewSpanContext(
		trace.SpanContextConfig{TraceID: c.Trace, SpanID: c.Span, TraceFlags: trace.TraceFlags(c.Flags), Remote: remote})
}

func link(to scheduler.TraceContext, why string) trace.Link {
	return trace.Link{
		SpanContext: spanContext(to, true),
		Attributes:  []attribute.KeyValue{attribute.String(observability.AttrLink, why)},
	}
}

func sortedByJob(list []scheduler.Needed) {
	slices.SortFunc(list, func(a, b scheduler.Needed) int { return int(a.Job - b.Job) })
}
