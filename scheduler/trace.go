package scheduler

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// TraceContext is a W3C trace context: the trace, and the span in it that what
// comes next belongs under. The ids of a job's spans are worked out of what its
// row says, not drawn: so another instance, a later attempt and `bellhop trace`
// find the same ones, and nothing has to be kept for them.
type TraceContext struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte // bit 0: sampled
}

// traceSampled is the bit of the flags that says that the trace is recorded.
const traceSampled = 1

// traceLength is that of a traceparent: 00-<32>-<16>-<2>.
const traceLength = 55

// Needed is a job that another one needed, for the link between their traces.
type Needed struct {
	Job         JobID
	Attempt     int
	Traceparent string
	CreatedAt   time.Time
}

// ParseTrace reads a traceparent; ok is false for what is none.
// https://www.w3.org/TR/trace-context/#traceparent-header
func ParseTrace(s string) (t TraceContext, ok bool) {
	if len(s) < traceLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return TraceContext{}, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		to   []byte
		text string
	}{{version[:], s[:2]}, {t.Trace[:], s[3:35]}, {t.Span[:], s[36:52]}, {flags[:], s[53:55]}} {
		if !lowerHex(part.text) {
			return TraceContext{}, false
		}
		_, _ = hex.Decode(part.to, []byte(part.text)) // it was looked at just now
	}
	t.Flags = flags[0]
	switch {
	case version[0] == 0xff, version[0] == 0 && len(s) != traceLength, len(s) > traceLength && s[traceLength] != '-',
		t.Trace == [16]byte{}, t.Span == [8]byte{}:
		return TraceContext{}, false
	}
	return t, true
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Sampled reports whether the trace is recorded.
func (t TraceContext) Sampled() bool { return t.Flags&traceSampled != 0 }

// TraceID is the trace in hex, as traces are looked up by.
func (t TraceContext) TraceID() string { return hex.EncodeToString(t.Trace[:]) }

// SpanID is the span in hex.
func (t TraceContext) SpanID() string { return hex.EncodeToString(t.Span[:]) }

// String is the traceparent.
func (t TraceContext) String() string {
	b := make([]byte, 0, traceLength)
	b = hex.AppendEncode(append(b, "00-"...), t.Trace[:])
	b = hex.AppendEncode(append(b, '-'), t.Span[:])
	return string(hex.AppendEncode(append(b, '-'), []byte{t.Flags}))
}

// JobTrace is the context that a job was submitted under: its traceparent. A
// job that has none, or one that is no traceparent, begins a trace of its own;
// then own is true and there is no span to be under.
func JobTrace(traceparent string, job JobID, created time.Time) (t TraceContext, own bool) {
	if t, ok := ParseTrace(traceparent); ok {
		return t, false
	}
	a := scatter(uint64(job), uint64(created.UnixMicro()))
	b := scatter(a, uint64(job))
	binary.BigEndian.PutUint64(t.Trace[:8], a)
	binary.BigEndian.PutUint64(t.Trace[8:], b) // which samplers read as a random number
	return t, true
}

// Step is one of the spans of a job.
type Step uint64

const (
	// StepSend: it was submitted. n is 0.
	StepSend Step = iota + 1
	// StepProcess: an attempt, from when it could begin until it is settled. n is the attempt.
	StepProcess
	// StepLost: an attempt that did not count. n is the fence.
	StepLost
	// StepWait: from when it could begin until it is asked for. n is the fence, from here on.
	StepWait
	// StepClaim: the statement that took it.
	StepClaim
	// StepSpawn: a child came up for it.
	StepSpawn
	// StepRun: the agent has it, or an MSQ job's query is read and its items are dealt.
	StepRun
	// StepSettle: from the agent's answer until that is committed.
	StepSettle
	// StepItem: one item of an MSQ job; n is the fence and the item.
	StepItem
)

// At is the context of a span of a job in the same trace, sampled.
func (t TraceContext) At(job JobID, step Step, n int64) TraceContext {
	s := scatter(binary.BigEndian.Uint64(t.Trace[:8])^binary.BigEndian.Uint64(t.Trace[8:]), uint64(job))
	s = scatter(scatter(s, uint64(step)), uint64(n))
	binary.BigEndian.PutUint64(t.Span[:], s|1) // never all zeros
	t.Flags |= traceSampled
	return t
}

// OfItem is the context of an item's span within its job's run.
func (t TraceContext) OfItem(job JobID, fence Fence, item int64) TraceContext {
	return t.At(job, StepItem, int64(scatter(uint64(fence), uint64(item))))
}

// scatter mixes two numbers into one that looks random (splitmix64's finalizer).
func scatter(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Origin is where a line comes from: its trace and its times are counted from there. Every holder of the line may
// read it; it does not change after the claim.
type Origin struct {
	Traceparent string // the row's own
	Type        TypeName
	// On this machine's clock, whatever the database's shows.
	Created time.Time // when it was submitted
	Due     time.Time // when it could begin: Created, or later where run_at or a retry said so
	Asked   time.Time // when the claim set out
	Claimed time.Time // and when it was back
	// CreatedAt is when it was submitted on the database's clock.
	CreatedAt time.Time
	Sampled   bool  // spans are made of it, and Line.Trace is the span that the agent's are under
	Items     int64 // of an MSQ job: each so many-th item has a span of its own; 0: none
}

// Submitted is when the line's job was, on the database's clock; zero: not known.
func (l *Line) Submitted() time.Time {
	if l.Origin == nil {
		return time.Time{}
	}
	return l.Origin.CreatedAt
}

// ItemSampled reports whether an item has a span of its own.
func (o *Origin) ItemSampled(item int64) bool {
	return o != nil && o.Sampled && o.Items > 0 && item%o.Items == 0
}

// TraceOfItem is what an item's agent gets as its context, given its job's.
func (o *Origin) TraceOfItem(c Claim, trace string, item int64) string {
	if !o.ItemSampled(item) {
		return trace
	}
	t, _ := ParseTrace(trace)
	return t.OfItem(c.Job, c.Fence, item).String()
}
