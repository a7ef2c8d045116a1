package tree

import "bellhop/scheduler"

// Traced is what a line of the log says besides about a job that is traced.
func Traced(traceparent string, about ...any) []any {
	if c, ok := scheduler.ParseTrace(traceparent); ok {
		about = append(about, "trace_id", c.TraceID(), "span_id", c.SpanID())
	}
	return about
}
