package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"bellhop/pgdev/pgtest"
)

// jaegerVersion is what scripts/jaeger builds.
const jaegerVersion = "v1.76.0"

// jaeger starts a real one on loopback ports of its own, and gives where it
// takes spans and where it answers.
func jaeger(t *testing.T) (otlp, query string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(cache, "bellhop-test", "jaeger-"+jaegerVersion, "jaeger")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("SKIPPED: no Jaeger at %s: `make jaeger` builds it from its Go module in a minute or two", program)
	}
	var ports, held = make([]string, 3), make([]net.Listener, 3) // held, or one would be given twice
	for i := range ports {
		if held[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		ports[i] = held[i].Addr().String()
	}
	for _, l := range held {
		_ = l.Close()
	}
	file := filepath.Join(t.TempDir(), "jaeger.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}
  telemetry: {metrics: {level: none}, logs: {level: warn}}
extensions:
  jaeger_storage: {backends: {memory: {memory: {max_traces: 1000}}}}
  jaeger_query: {storage: {traces: memory}, http: {endpoint: %q}, grpc: {endpoint: %q}}
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {jaeger_storage_exporter: {trace_storage: memory}}
`, ports[0], ports[1], ports[2]), 0o600); err != nil {
		t.Fatal(err)
	}
	return startJaeger(t, program, file, ports)
}

func startJaeger(t *testing.T, program, file string, ports []string) (otlp, query string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "jaeger.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config", file)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("jaeger said:\n%s", text)
		}
		_ = log.Close()
	})
	query = "http://" + ports[0]
	pgtest.Eventually(t, 2*patience, "Jaeger answers", func() bool {
		r, err := http.Get(query + "/api/services")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	})
	return "http://" + ports[2], query
}

// The same as with the sink, and read back as people do.
func TestTrace_IsOneInARealJaeger(t *testing.T) {
	t.Parallel()
	otlp, query := jaeger(t)
	e := setup(t)
	e.tracing(otlp)
	e.serve(agents(tracedAgent("traced", otlp, "exec")))
	e.sql(fmt.Sprintf("begin; set local bellhop.traceparent = '00-%s-%s-01'; insert into bellhop.jobqueue (type) values ('traced'); commit", appTrace, appSpan))
	e.waitAll("succeeded 1")
	one := oneTrace(t, func(trace string) map[string]sunk { return askJaeger(t, query, trace) }, "traced", "agent's own")
	if own, process := one["agent's own"].service, one["process traced"].service; own != "the-agent" || process != "bellhop" {
		t.Errorf("services %q and %q", own, process)
	}
}

// askJaeger reads a trace by /api/traces.
func askJaeger(t *testing.T, query, trace string) map[string]sunk {
	t.Helper()
	r, err := http.Get(query + "/api/traces/" + trace)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Body.Close() }()
	var answer struct {
		Data []struct {
			Spans []struct {
				SpanID, OperationName, ProcessID string
				References                       []struct{ RefType, TraceID, SpanID string }
				StartTime, Duration              uint64 // µs
			}
			Processes map[string]struct{ ServiceName string }
		}
	}
	if r.StatusCode != http.StatusOK { // it has not come yet
		return nil
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	found := map[string]sunk{}
	for _, one := range answer.Data {
		for _, s := range one.Spans {
			sp := &tracepb.Span{
				Name:              s.OperationName,
				StartTimeUnixNano: s.StartTime * 1000,
				EndTimeUnixNano:   (s.StartTime + s.Duration) * 1000,
			}
			sp.SpanId, _ = hex.DecodeString(s.SpanID)
			for _, ref := range s.References {
				if ref.RefType == "CHILD_OF" {
					sp.ParentSpanId, _ = hex.DecodeString(ref.SpanID)
				}
			}
			found[s.OperationName] = sunk{sp, one.Processes[s.ProcessID].ServiceName}
		}
	}
	return found
}
