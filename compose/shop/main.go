// Command shop is the app of the stack to play with, and the agent that does
// its jobs. It shows what an app has to do with bellhop: nothing but SQL.
//
//	shop sell      take an order every few seconds; each submits a job
//	shop invoice   the agent: one line of JSON per job, on stdin
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
)

// tracer makes the spans of both.
var tracer = otel.Tracer("shop")

// carrier reads and writes a span's context as a traceparent.
var carrier = propagation.TraceContext{}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// OTEL_EXPORTER_OTLP_ENDPOINT says where spans go, OTEL_SERVICE_NAME whose they are. Without a collector only
	// spans are lost.
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter, trace.WithBatchTimeout(time.Second)))
	otel.SetTracerProvider(provider)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = provider.Shutdown(ctx) // it has had its time
	}()
	switch {
	case len(args) > 0 && args[0] == "sell":
		return sell(ctx, args[1:])
	case len(args) == 1 && args[0] == "invoice":
		return invoice(ctx, os.Stdin, os.Stdout)
	}
	return fmt.Errorf("usage: shop sell [-every 5s] [-orders N] | shop invoice")
}
