package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// invoice is an agent in bellhop's json dialect: a line in, a line out. It goes
// on with the trace that the line brings.
func invoice(ctx context.Context, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, `{"bellhop":1,"type":"invoice"}`); err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // stdin closed: no more work
		}
		var job struct {
			ID          int64  `json:"id"`
			Args        string `json:"args"`
			Traceparent string `json:"traceparent"`
		}
		if err := json.Unmarshal(line, &job); err != nil {
			return fmt.Errorf("not a valid job: %w", err)
		}
		text := write(carrier.Extract(ctx, propagation.MapCarrier{"traceparent": job.Traceparent}), job.Args)
		answer, err := json.Marshal(map[string]any{"ok": true, "log": text})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", answer); err != nil {
			return err
		}
	}
}

// write takes as long as a page from a printer that is in a good mood.
func write(ctx context.Context, order string) string {
	_, span := tracer.Start(ctx, "write invoice", trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(attribute.String("shop.order", order)))
	defer span.End()
	time.Sleep(20 * time.Millisecond)
	return "invoice for order " + order
}
