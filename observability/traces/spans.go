package traces

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"bellhop/observability"
	"bellhop/scheduler"
)

// needsPatience bounds the look for what jobs needed.
const needsPatience = 10 * time.Second

// What work is told.
type (
	sent    []sending // jobs that were claimed for the first time
	sending struct {
		of      scheduler.Claim
		attempt int
		origin  *scheduler.Origin
	}
	settled struct { // outcomes that are committed
		records []scheduler.Record
		at      time.Time
	}
	items []scheduler.Result
)

// Claimed decides which jobs are traced, and gives those their agents' context.
// Others keep the app's.
func (t *Tracer) Claimed(jobs []scheduler.Job) {
	if t == nil {
		return
	}
	var first sent
	for i := range jobs {
		j := &jobs[i]
		o := j.Origin
		if o == nil {
			continue
		}
		c, own := scheduler.JobTrace(o.Traceparent, j.Claim.Job, o.CreatedAt)
		if o.Sampled = t.sampler.takes(c, own); !o.Sampled {
			continue
		}
		o.Items = int64(t.Config.Items)
		j.Trace = c.At(j.Claim.Job, scheduler.StepRun, int64(j.Fence)).String()
		if j.Fence == 1 { // told once, and before the instance can die
			first = append(first, sending{j.Claim, j.Attempt, o})
		}
	}
	if len(first) > 0 {
		t.put(first, len(first))
	}
}

// Settled is told what was committed, and when.
func (t *Tracer) Settled(records []scheduler.Record, stale []scheduler.Claim, at time.Time) {
	if t == nil {
		return
	}
	var sampled []scheduler.Record
	for i := range records {
		if o := records[i].Line().Origin; o != nil && o.Sampled {
			sampled = append(sampled, records[i])
		}
	}
	if len(sampled) == 0 {
		return
	}
	if len(stale) > 0 { // another instance tells of them
		not := make(map[scheduler.Claim]bool, len(stale))
		for _, c := range stale {
			not[c] = true
		}
		kept := sampled[:0]
		for _, r := range sampled {
			if !not[r.Claim] {
				kept = append(kept, r)
			}
		}
		sampled = kept
	}
	t.put(settled{sampled, at}, len(sampled))
}

// Up is told that a child came up.
func (t *Tracer) Up(host scheduler.HostName, child scheduler.ChildName, launched, ready time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.came[string(host)+"/"+string(child)] = came{launched, ready}
	t.mu.Unlock()
}

// Ran is told what became of items.
func (t *Tracer) Ran(results []scheduler.Result) {
	if t == nil || t.Config.Items == 0 {
		return
	}
	var some items
	for i := range results {
		if results[i].Line.Origin.ItemSampled(results[i].Line.Item) {
			some = append(some, results[i])
		}
	}
	if len(some) > 0 {
		t.put(some, len(some))
	}
}

func (t *Tracer) spansOf(all []any) {
	var done []settled
	for _, what := range all {
		switch w := what.(type) {
		case sent:
			for _, s := range w {
				t.send(s)
			}
			t.waiting.Add(-int64(len(w)))
		case settled:
			done = append(done, w)
		case items:
			for i := range w {
				t.item(&w[i])
			}
			t.waiting.Add(-int64(len(w)))
		}
	}
	needs := t.needs(done)
	for _, w := range done {
		for i := range w.records {
			t.process(&w.records[i], w.at, needs[w.records[i].Claim.Job])
		}
		t.waiting.Add(-int64(len(w.records)))
	}
}

// needs asks for the jobs that some needed. Without an answer they are not linked.
func (t *Tracer) needs(done []settled) map[scheduler.JobID][]scheduler.Needed {
	var jobs []scheduler.JobID
	for _, w := range done {
		for i := range w.records {
			jobs = append(jobs, w.records[i].Claim.Job)
		}
	}
	if t.Needs == nil || len(jobs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), needsPatience)
	defer cancel()
	needs, err := t.Config.Needs(ctx, jobs)
	if err != nil {
		t.Log.Debug("traces: what jobs needed cannot be read; they are not linked", "error", err)
	}
	for _, list := range needs {
		sortedByJob(list)
	}
	return needs
}

func (t *Tracer) send(s sending) {
	c, own := scheduler.JobTrace(s.origin.Traceparent, s.of.Job, s.origin.CreatedAt)
	sp := span{
		name:       observability.SpanSend + " " + string(s.origin.Type),
		kind:       trace.SpanKindProducer,
		at:         c.At(s.of.Job, scheduler.StepSend, 0),
		from:       s.origin.Created,
		to:         s.origin.Created,
		remote:     true,
		attributes: job(s.of.Job, s.origin.Type, "send", "send"),
	}
	if !own {
		sp.parent = c
	}
	t.make(sp)
}

// process makes the spans of one attempt.
func (t *Tracer) process(r *scheduler.Record, committed time.Time, needs []scheduler.Needed) {
	line, o := r.Result.Line, r.Result.Line.Origin
	id, fence, attempt := line.Claim.Job, int64(line.Fence), int64(r.Attempt)
	c, _ := scheduler.JobTrace(o.Traceparent, id, o.CreatedAt)
	sent := c.At(id, scheduler.StepSend, 0)
	at := c.At(id, scheduler.StepProcess, attempt)
	if r.Result.Outcome == scheduler.OutcomeLost { // the next one has the same number
		at = c.At(id, scheduler.StepLost, fence)
	}
	var links []trace.Link // none to send: it is the parent, and Jaeger shows one reference between two spans
	if attempt > 1 {
		links = append(links, link(c.At(id, scheduler.StepProcess, attempt-1), "retry"))
	}
	for _, n := range needs {
		other, _ := scheduler.JobTrace(n.Traceparent, n.Job, n.CreatedAt)
		links = append(links, link(other.At(n.Job, scheduler.StepProcess, int64(n.Attempt)), "needs"))
	}
	failed := failure(&r.Result)
	about := append(job(id, o.Type, "process", "process"), outcome(r, failed)...)
	t.make(span{name: observability.SpanProcess + " " + string(o.Type), kind: trace.SpanKindConsumer, at: at, parent: sent,
		from: o.Due, to: committed, attributes: about, links: links, failed: failed})
	step := func(name string, step scheduler.Step, from, to time.Time, operation, operationType, failed string,
		more ...attribute.KeyValue) {
		t.make(span{name: name, kind: trace.SpanKindInternal, at: c.At(id, step, fence), parent: at, from: from, to: to,
			attributes: append(job(id, o.Type, operation, operationType), more...), failed: failed})
	}
	step(observability.SpanWait, scheduler.StepWait, o.Due, o.Asked, "wait", "", "")
	step(observability.SpanClaim, scheduler.StepClaim, o.Asked, o.Claimed, "claim", "receive", "")
	where := []attribute.KeyValue{
		attribute.String(observability.AttrHost, string(r.Result.Host)),
		attribute.String(observability.AttrChild, string(r.Result.Child)),
	}
	t.mu.Lock()
	up := t.came[string(r.Result.Host)+"/"+string(r.Result.Child)]
	t.mu.Unlock()
	if line.Assigned && up.ready.After(o.Claimed) {
		name := observability.SpanSpawn + " " + string(o.Type)
		step(name, scheduler.StepSpawn, up.launched, up.ready, "spawn", "", "", where...)
	}
	if !r.Result.Began.IsZero() {
		name := observability.SpanRun
		if r.Result.Child == "" {
			name = observability.SpanExpand + " " + string(o.Type)
			where = where[:1]
		}
		where = append(where, counts(r)...)
		step(name, scheduler.StepRun, r.Result.Began, r.Result.Ended, "run", "process", failed, where...)
	}
	step(observability.SpanSettle, scheduler.StepSettle, r.Result.Ended, committed, "settle", "settle", "")
}

// counts are those of the items of an MSQ job.
func counts(r *scheduler.Record) []attribute.KeyValue {
	n := r.Items
	if n == nil {
		return nil
	}
	list := []attribute.KeyValue{attribute.Int64(observability.AttrItemsDone, n.Done),
		attribute.Int64(observability.AttrItemsFailed, n.Failed)}
	if n.Total >= 0 {
		list = append(list, attribute.Int64(observability.AttrItemsTotal, n.Total))
	}
	return list
}

func (t *Tracer) item(r *scheduler.Result) {
	o, id := r.Line.Origin, r.Line.Claim.Job
	c, _ := scheduler.JobTrace(o.Traceparent, id, o.CreatedAt)
	failed := failure(r)
	t.make(
		span{
			name:   observability.SpanItem + " " + string(o.Type),
			kind:   trace.SpanKindInternal,
			at:     c.OfItem(id, r.Line.Fence, r.Line.Item),
			parent: c.At(id, scheduler.StepRun, int64(r.Line.Fence)),
			from:   r.Began,
			to:     r.Ended,
			failed: failed,
			attributes: append(job(id, o.Type, "run", "process"), attribute.Int64(observability.AttrItem, r.Line.Item),
				attribute.String(observability.AttrHost, string(r.Host)),
				attribute.String(observability.AttrChild, string(r.Child))),
		},
	)
}

// failure is the class of what went wrong; empty: nothing did.
func failure(r *scheduler.Result) string {
	if r.Outcome == scheduler.OutcomeSucceeded {
		return ""
	}
	return r.Outcome.String()
}

func job(id scheduler.JobID, typ scheduler.TypeName, operation, operationType string) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String(observability.AttrSystem, observability.System),
		attribute.String(observability.AttrDestination,
			string(typ)), attribute.String(observability.AttrMessage, strconv.FormatInt(int64(id), 10)),
		attribute.String(observability.AttrOperation, operation)}
	if operationType != "" {
		list = append(list, attribute.String(observability.AttrOperationType, operationType))
	}
	return list
}

func outcome(r *scheduler.Record, failed string) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.Int(observability.AttrAttempt, r.Attempt),
		attribute.Int64(observability.AttrFence, int64(r.Claim.Fence)),
		attribute.String(observability.AttrOutcome, r.Result.Outcome.String()),
		attribute.String(observability.AttrState, string(r.Verdict.State)),
		attribute.Int(observability.AttrExitCode, r.Result.ExitCode),
	}
	if failed != "" {
		list = append(list, attribute.String(observability.AttrError, failed))
	}
	return list
}

func setStatus(s trace.Span, failed string) {
	if failed != "" {
		s.SetStatus(codes.Error, failed)
	}
}
