package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// sink takes spans by OTLP/HTTP, as a collector does.
type sink struct {
	*httptest.Server
	mu    sync.Mutex
	spans map[string]sunk // by trace id, span id
}

type sunk struct {
	*tracepb.Span
	service string
}

func newSink(t *testing.T) *sink {
	s := &sink{spans: map[string]sunk{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, res := range request.ResourceSpans {
			service := attributes(res.Resource.Attributes)["service.name"]
			for _, scope := range res.ScopeSpans {
				for _, sp := range scope.Spans {
					s.spans[hex.EncodeToString(sp.TraceId)+" "+hex.EncodeToString(sp.SpanId)] = sunk{sp, service}
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// of gives the spans of a trace, by name; of those with the same name the one that began last.
func (s *sink) of(trace string) map[string]sunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]sunk{}
	for at, sp := range s.spans {
		if !strings.HasPrefix(at, trace) {
			continue
		}
		if other, is := found[sp.Name]; !is || other.StartTimeUnixNano < sp.StartTimeUnixNano {
			found[sp.Name] = sp
		}
	}
	return found
}

// count is how many spans of a name a trace has.
func (s *sink) count(trace, name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, sp := range s.spans {
		if strings.HasPrefix(at, trace) && sp.Name == name {
			n++
		}
	}
	return n
}

func attributes(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			all[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[kv.Key] = fmt.Sprint(v.IntValue)
		}
	}
	return all
}

// tracingAgent is an agent that is traced itself: under the context that it is
// given it sends a span of its own to a collector. With "exec" it is one
// process a job; else it speaks json and does a line at a time.
func tracingAgent(args []string) {
	endpoint := args[0]
	if args[1] == "exec" {
		emit(endpoint, os.Getenv("TRACEPARENT"))
		return
	}
	fmt.Println(`{"bellhop":1,"type":"traced"}`)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var job struct{ Traceparent string }
		if err := json.Unmarshal(in.Bytes(), &job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		emit(endpoint, job.Traceparent)
		fmt.Println(`{"ok":true}`)
	}
}

// emit sends the span "agent's own" under a parent.
func emit(endpoint, traceparent string) {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 || parts[3] != "01" {
		return // nobody records this one
	}
	trace, _ := hex.DecodeString(parts[1])
	parent, _ := hex.DecodeString(parts[2])
	own := make([]byte, 8)
	_, _ = rand.Read(own)
	now := uint64(time.Now().UnixNano())
	text := func(key, value string) *commonpb.KeyValue {
		return &commonpb.KeyValue{
			Key:   key,
			Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}},
		}
	}
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", "the-agent")}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{TraceId: trace, SpanId: own, ParentSpanId: parent, Name: "agent's own",
			Kind: tracepb.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: now, EndTimeUnixNano: now + 1000}}}}}}})
	if err == nil {
		var r *http.Response
		if r, err = http.Post(endpoint+"/v1/traces", "application/x-protobuf", bytes.NewReader(body)); err == nil {
			_ = r.Body.Close()
			if r.StatusCode != http.StatusOK {
				err = fmt.Errorf("the collector says %s", r.Status)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
