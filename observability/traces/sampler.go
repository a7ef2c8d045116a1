package traces

import (
	"context"
	"fmt"
	"strconv"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"bellhop/scheduler"
)

// sampler is OTEL_TRACES_SAMPLER. The SDK reads it too, but can only be asked
// by starting a span; here every job that is claimed is asked about.
type sampler struct {
	byParent bool // a job with a traceparent is sampled when that is
	root     sdk.Sampler
}

// samplerOf understands the values of the specification. Unset is parentbased_always_on.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
func samplerOf(name, arg string) (s sampler, err error) {
	switch name {
	case "", "parentbased_always_on":
		return sampler{true, sdk.AlwaysSample()}, nil
	case "always_on":
		return sampler{false, sdk.AlwaysSample()}, nil
	case "parentbased_always_off":
		return sampler{true, sdk.NeverSample()}, nil
	case "always_off":
		return sampler{false, sdk.NeverSample()}, nil
	case "traceidratio", "parentbased_traceidratio":
		ratio := 1.0
		if arg != "" {
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q: a number from 0 to 1 is wanted", arg)
			}
		}
		return sampler{name != "traceidratio", sdk.TraceIDRatioBased(ratio)}, nil
	}
	return s, fmt.Errorf("OTEL_TRACES_SAMPLER is %q: bellhop knows always_on, always_off, traceidratio, and each with parentbased_ in front", name)
}

func (s sampler) takes(c scheduler.TraceContext, own bool) bool {
	if s.byParent && !own {
		return c.Sampled()
	}
	return s.root.ShouldSample(
		sdk.SamplingParameters{ParentContext: context.Background(), TraceID: c.Trace}).Decision == sdk.RecordAndSample
}
