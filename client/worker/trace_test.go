package worker_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
	"bellhop/pgdev/pgtest"
)

// collects is a collector of traces: it gives the ids of spans, with their parents', by trace.
func collects(t *testing.T) (url string, spans func(trace string) map[string]string) {
	var mu sync.Mutex
	all := map[string]map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request collector.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					trace := hex.EncodeToString(s.TraceId)
					if all[trace] == nil {
						all[trace] = map[string]string{}
					}
					all[trace][hex.EncodeToString(s.SpanId)] = hex.EncodeToString(s.ParentSpanId)
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func(trace string) map[string]string {
		mu.Lock()
		defer mu.Unlock()
		copied := map[string]string{}
		for id, parent := range all[trace] {
			copied[id] = parent
		}
		return copied
	}
}

// The app's own span, the job's, and the handler's are one trace.
func TestRun_AJobsSpansContinueTheAppsInsert(t *testing.T) {
	url, spans := collects(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	a := setup(t)
	given := make(chan string, 1)
	a.run(worker.Handle("invoice", func(_ context.Context, job *agent.Job[invoice]) error {
		given <- job.Traceparent
		return nil
	}))
	const trace, insert = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	id := a.submit(client.Job{Type: "invoice", JSON: invoice{Order: 1}, Traceparent: "00-" + trace + "-" + insert + "-01"})
	if o := a.outcome(id); o.State != "succeeded" {
		t.Fatalf("%+v", o)
	}
	parts := strings.Split(<-given, "-")
	if len(parts) != 4 || parts[1] != trace || parts[2] == insert {
		t.Fatalf("the handler's context is %v", parts)
	}
	pgtest.Eventually(t, time.Minute, "the run's span is below the app's", func() bool {
		got := spans(trace)
		for at := parts[2]; at != ""; at = got[at] {
			if at == insert {
				return true
			}
		}
		return false
	})
}
