package serve

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/instance"
	"bellhop/observability/metrics"
	"bellhop/observability/traces"
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/store"
	"bellhop/sql/view"
	"bellhop/web/api"
	"bellhop/web/page"
)

// telemetryPatience is how long what is left of spans may take to be sent at the end.
const telemetryPatience = 2 * time.Second

// telemetry stands between the tree and its ports and tells others what passes.
// It changes nothing but the context that agents get.
type telemetry struct {
	tracer  *traces.Tracer   // nil: no spans are wanted
	metrics *metrics.Metrics // nil: no metrics are wanted
	past    *instance.Past
	lags    func() map[string]int64    // of sensors, by workflow; nil: not yet
	pages   atomic.Pointer[page.Pages] // nil: not yet
	hub     atomic.Pointer[api.Hub]    // nil: not yet
}

// startTelemetry reads the OTEL_ variables of the environment.
func startTelemetry(
	ctx context.Context, c config.Config, name string, reads *store.Metrics, log *slog.Logger,
) (*telemetry, error) {
	tracer, err := traces.Start(ctx,
		traces.Config{Version: cli.Version(), Name: name, Items: c.Observability.ItemSpans, Log: log,
			Needs: reads.Needs})
	if err != nil {
		return nil, cli.Usage("serve", err.Error(), "fix it; or without traces: unset OTEL_TRACES_EXPORTER OTEL_TRACES_SAMPLER OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	b := cli.Built()
	counts, err := metrics.New(metrics.Build{Version: b.Version, Commit: b.Commit, Go: runtime.Version()}, log)
	t := &telemetry{tracer: tracer, metrics: counts, past: &instance.Past{Log: log}}
	t.past.Watched = func() bool { p := t.pages.Load(); return p != nil && p.Watched() }
	return t, err
}

// watch has /metrics ask the tree and the database.
func (t *telemetry) watch(tree *actors.System, reads *store.Metrics) error {
	return t.metrics.Watch(metrics.Sources{
		Queue: reads.Gauges,
		Findings: func(ctx context.Context) (map[string]int64, error) {
			counts := map[string]int64{}
			err := reads.Look(ctx, func(ctx context.Context, l view.Look) error {
				scene, err := report.LookAround(ctx, l)
				counts = report.Count(report.Judge(scene))
				return err
			})
			return counts, err
		},
		Children: func(ctx context.Context) []scheduler.ChildReport { return tree.Summary(ctx).Children },
		BellAge:  tree.BellAge, Gate: tree.Gate, Dropped: t.tracer.Dropped, Lags: t.lags,
	})
}

// stop sends what is left, for a bounded time.
func (t *telemetry) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryPatience)
	defer cancel()
	t.tracer.Stop(ctx)
	t.metrics.Stop(ctx)
}

// watchedQueue tells of claims.
type watchedQueue struct {
	port.Queue
	*telemetry
}

func (q watchedQueue) Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	jobs, err := q.Queue.Claim(ctx, me, d)
	if len(jobs) > 0 {
		q.tracer.Claimed(jobs) // first: it says which are traced
		q.metrics.Claimed(jobs)
		q.past.Took(jobs)
		if p := q.pages.Load(); p != nil && p.Watched() {
			p.Happened(claimed(jobs))
		}
		if h := q.hub.Load(); h != nil && h.Watched() {
			h.Happened(began(jobs))
		}
	}
	return jobs, err
}

// claimed are the ids of jobs.
func claimed(jobs []scheduler.Job) []scheduler.JobID {
	ids := make([]scheduler.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].Claim.Job
	}
	return ids
}

// watchedRecords tells of outcomes that are committed.
type watchedRecords struct {
	port.Records
	*telemetry
}

func (r watchedRecords) Write(
	ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time,
) ([]scheduler.Claim, bool, error) {
	stale, released, err := r.Records.Write(ctx, me, b, now)
	if err == nil && len(b.Records) > 0 {
		r.tracer.Settled(b.Records, stale, time.Now())
		r.metrics.Settled(b.Records, stale)
		r.past.Settled(b.Records, stale)
		if p := r.pages.Load(); p != nil && p.Watched() {
			p.Happened(b.Jobs())
		}
		if h := r.hub.Load(); h != nil {
			if h.Awaited() {
				h.Over(over(b.Records))
			}
			if h.Watched() {
				h.Happened(settled(b.Records))
			}
		}
	}
	return stale, released, err
}

// began and settled are the events told to their clients.
func began(jobs []scheduler.Job) []api.JobEvent {
	list := make([]api.JobEvent, len(jobs))
	for i := range jobs {
		list[i] = api.JobEvent{ID: jobs[i].Claim.Job, Type: jobs[i].Type, State: scheduler.Running}
	}
	return list
}

func settled(records []scheduler.Record) (list []api.JobEvent) {
	for i := range records {
		if r := &records[i]; r.Kind == scheduler.RecordSettle {
			list = append(list, api.JobEvent{ID: r.Claim.Job, State: r.Verdict.State})
		}
	}
	return list
}

// over are the jobs that end with some records, unless what they say is stale: to be told is a hint to look.
func over(records []scheduler.Record) (ids []scheduler.JobID) {
	for i := range records {
		if r := &records[i]; r.Kind == scheduler.RecordSettle && r.Verdict.State.Final() {
			ids = append(ids, r.Claim.Job)
		}
	}
	return ids
}

// Up, Died and Ran make it the tree's observer.

func (t *telemetry) Up(
	host scheduler.HostName, child scheduler.ChildName, typ scheduler.TypeName, launched, ready time.Time,
) {
	t.tracer.Up(host, child, launched, ready)
	t.metrics.Up(typ)
}

func (t *telemetry) Died(typ scheduler.TypeName) { t.metrics.Died(typ) }

func (t *telemetry) Ran(items []scheduler.Result) {
	t.tracer.Ran(items)
	t.past.Ran(items)
}
