package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

const (
	appTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	appSpan  = "00f067aa0ba902b7"
)

// tracing has the instances of a test send spans to an endpoint.
func (e *env) tracing(endpoint string, more ...string) {
	e.env = append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_BSP_SCHEDULE_DELAY=100"}, more...)
}

func tracedAgent(typ, endpoint, mode string) string {
	if mode == "exec" {
		return fmt.Sprintf("type: %s, command: [%q, tracing-agent, %q, exec], mode: exec", typ, os.Args[0], endpoint)
	}
	return fmt.Sprintf("type: %s, command: [%q, tracing-agent, %q, warm], dialect: json", typ, os.Args[0], endpoint)
}

// One trace from an app's span, through every step, into an agent's own span.
func TestTrace_LeadsFromTheAppThroughEveryStepIntoTheAgent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "warm"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e, s := setup(t), newSink(t)
			e.tracing(s.URL)
			e.serve(agents(tracedAgent("traced", s.URL, mode)))
			e.sql(fmt.Sprintf(
				"begin; set local bellhop.traceparent = '00-%s-%s-01'; insert into bellhop.jobqueue (type, args) values ('traced', 'a secret'); commit",
				appTrace, appSpan))
			e.waitAll("succeeded 1")
			one := oneTrace(t, s.of, "traced", "agent's own")
			if service := one["agent's own"].service; service != "the-agent" {
				t.Errorf("the agent's service: %q", service)
			}
			process := one["process traced"]
			about := attributes(process.Attributes)
			for key, want := range map[string]string{"messaging.system": "bellhop", "messaging.destination.name": "traced", "messaging.message.id": "1",
				"messaging.operation.name": "process", "bellhop.job.attempt": "1", "bellhop.job.fence": "1", "bellhop.job.state": "succeeded"} {
				if about[key] != want {
					t.Errorf("%s is %q, not %q", key, about[key], want)
				}
			}
			if process.service != "bellhop" || len(process.Links) != 0 {
				t.Errorf("service %q, links %v", process.service, process.Links)
			}
			if all := fmt.Sprint(one); strings.Contains(all, "secret") {
				t.Errorf("a payload is in a span: %s", all)
			}
		})
	}
}

// oneTrace waits for the spans of the app's trace and checks how they hang together.
func oneTrace(t *testing.T, of func(trace string) map[string]sunk, typ string, more ...string) map[string]sunk {
	t.Helper()
	var one map[string]sunk
	want := append([]string{"send " + typ, "process " + typ, "wait", "claim", "agent run", "settle"}, more...)
	pgtest.Eventually(t, patience, "all spans are there", func() bool {
		one = of(appTrace)
		for _, name := range want {
			if one[name].Span == nil {
				return false
			}
		}
		return true
	})
	parents := map[string]string{
		"process " + typ: "send " + typ,
		"wait":           "process " + typ,
		"claim":          "process " + typ,
		"agent run":      "process " + typ,
		"settle":         "process " + typ,
		"agent's own":    "agent run",
	}
	for child, parent := range parents {
		if c, p := one[child], one[parent]; c.Span != nil &&
			hex.EncodeToString(c.ParentSpanId) != hex.EncodeToString(p.SpanId) {
			t.Errorf("%s is under %x; %s is %x", child, c.ParentSpanId, parent, p.SpanId)
		}
	}
	if parent := hex.EncodeToString(one["send "+typ].ParentSpanId); parent != appSpan {
		t.Errorf("send is under %s, not under the app's %s", parent, appSpan)
	}
	process := one["process "+typ]
	for name, s := range one {
		if s.EndTimeUnixNano < s.StartTimeUnixNano ||
			name == "agent run" &&
				(s.StartTimeUnixNano < process.StartTimeUnixNano || s.EndTimeUnixNano > process.EndTimeUnixNano) {
			t.Errorf("%s lasts from %d to %d, process from %d to %d", name, s.StartTimeUnixNano, s.EndTimeUnixNano,
				process.StartTimeUnixNano, process.EndTimeUnixNano)
		}
	}
	return one
}

// What bellhop has recorded itself and what a collector is told agree on when a child was launched, and on when its
// agent
// had the job: also where start and end are written together, and of an attempt that is not the first.
func TestTrace_AgreesWithWhatBellhopHasRecorded(t *testing.T) {
	t.Parallel()
	const long = 2.0 // s, of each step: more than a slow machine's delays
	e, s := setup(t), newSink(t)
	e.tracing(s.URL)
	slow := e.script("slow",
		"sleep 2\necho OK\nwhile IFS= read -r line; do sleep 2; [ $line != again ] || [ -e $DIR/again ] || { touch $DIR/again; exit 3; }; echo OK; done\n")
	short := e.script("short", "sleep 2\necho OK\nwhile IFS= read -r line; do echo OK; done\n")
	e.serve(
		agents("type: once, command: ["+slow+"]", "type: again, command: ["+slow+"]", "type: short, command: ["+short+"]",
			"type: each, command: [sleep], mode: exec", "type: query, command: ["+slow+"]"))
	for i, c := range []struct {
		typ, run, args, msq string
		spawns, runs        float64 // s, at the least
	}{
		{"once", "agent run", "x", "", long, long},
		{"again", "agent run", "again", "", long, long},
		{"short", "agent run", "x", "", long, 0},
		{"each", "agent run", "2", "", 0, long},
		{"query", "expand query", "", "select 1", 0, 2 * long},
	} {
		t.Run(c.typ, func(t *testing.T) {
			t.Parallel()
			trace := fmt.Sprintf("%032x", 0xabc0+i)
			id := e.insert("type, args, msq, max_attempts, traceparent", c.typ, null(c.args), null(c.msq), 2,
				"00-"+trace+"-"+appSpan+"-01")
			last := e.waitState(id, "succeeded").Attempt
			var told map[string]sunk
			pgtest.Eventually(t, patience, "the last attempt's spans are there", func() bool {
				over := s.count(trace, "settle") == last // an attempt's last
				told = s.of(trace)
				return over && told[c.run].Span != nil
			})
			var own struct {
				Steps []struct {
					Name     string
					Attempt  int
					From, To time.Time
				}
			}
			if err := json.Unmarshal([]byte(e.ok("trace", fmt.Sprint(id), "-o", "json")), &own); err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, step := range own.Steps {
				name, least := map[string]string{"run": c.run, "spawn": "spawn " + c.typ}[step.Name],
					map[string]float64{"run": c.runs, "spawn": c.spawns}[step.Name]
				if name == "" || step.Attempt != last {
					continue
				}
				found[step.Name] = true
				// Each moment is told by the server's clock, as of when it hears of it: late, on a busy machine.
				if took := step.To.Sub(step.From).Seconds(); took < least/2 {
					t.Errorf("%s lasts %.3f s in %+v", step.Name, took, own.Steps)
				}
				sp := told[name]
				if sp.Span == nil {
					t.Errorf("no span of %s", name)
					continue
				}
				for what, off := range map[string]time.Duration{"from": step.From.Sub(time.Unix(0, int64(sp.StartTimeUnixNano))), "to": step.To.Sub(time.Unix(0, int64(sp.EndTimeUnixNano)))} {
					if off.Abs() > time.Duration(long*float64(time.Second))/2 {
						t.Errorf("%s: %s is %s off", step.Name, what, off)
					}
				}
			}
			if spawn := told["spawn "+c.typ].Span != nil; !found["run"] || found["spawn"] != spawn || c.spawns > 0 && !spawn {
				t.Errorf("steps %+v, a span of a spawn: %v", own.Steps, spawn)
			}
		})
	}
}

// null is NULL for an empty text.
func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func TestTrace_LinksRetriesAndDependents(t *testing.T) {
	t.Parallel()
	e, s := setup(t), newSink(t)
	e.tracing(s.URL)
	e.serve(agents("type: flaky, command: [sh, -c, 'test $BELLHOP_ATTEMPT -gt 1', x], mode: exec",
		"type: after, command: [\"true\"], mode: exec"))
	first := e.insert("type, max_attempts, traceparent", "flaky", 2, "00-"+appTrace+"-"+appSpan+"-01")
	id := strings.TrimSpace(e.ok("submit", "after", "--after", fmt.Sprint(first)))
	e.waitAll("succeeded 2")
	var last, dependent sunk
	own := "" // the dependent has no traceparent: its trace is its own
	pgtest.Eventually(t, patience, "both attempts and the dependent are told of", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for at, sp := range s.spans {
			if sp.Name == "process after" {
				dependent, own = sp, at[:32]
			} else if sp.Name == "process flaky" && attributes(sp.Attributes)["bellhop.job.attempt"] == "2" {
				last = sp
			}
		}
		return last.Span != nil && own != ""
	})
	if own == appTrace || attributes(dependent.Attributes)["messaging.message.id"] != id {
		t.Errorf("the dependent's trace is %s: %v", own, dependent)
	}
	why := map[string]string{}
	for _, l := range last.Links {
		why["of the retry: "+attributes(l.Attributes)["bellhop.link"]] = hex.EncodeToString(l.TraceId)
	}
	for _, l := range dependent.Links {
		why["of the dependent: "+attributes(l.Attributes)["bellhop.link"]] = hex.EncodeToString(l.TraceId)
		if attributes(l.Attributes)["bellhop.link"] == "needs" &&
			hex.EncodeToString(l.SpanId) != hex.EncodeToString(last.SpanId) {
			t.Errorf("the dependent is linked to %x, the last attempt is %x", l.SpanId, last.SpanId)
		}
	}
	if why["of the retry: retry"] != appTrace || why["of the dependent: needs"] != appTrace || len(dependent.Links) != 1 {
		t.Errorf("links: %v", why)
	}
}

func TestTrace_OfAQueryHasSomeOfItsItems(t *testing.T) {
	t.Parallel()
	e, s := setup(t), newSink(t)
	e.tracing(s.URL)
	e.serve("observability: {item_spans: 5}\n" + agents(tracedAgent("traced", s.URL, "warm")))
	e.insert("type, msq, repeat, traceparent", "traced", "select n from generate_series(1, 20) n", "once",
		"00-"+appTrace+"-"+appSpan+"-01")
	e.waitAll("succeeded 1")
	pgtest.Eventually(
		t,
		patience,
		"four items of twenty have spans, and every one of the agent's is in the trace",
		func() bool {
			s.mu.Lock()
			items, own := 0, 0
			for at, sp := range s.spans {
				if strings.HasPrefix(at, appTrace) && sp.Name == "item traced" {
					items++
				}
				if strings.HasPrefix(at, appTrace) && sp.Name == "agent's own" {
					own++
				}
			}
			s.mu.Unlock()
			return items == 4 && own == 20 && s.of(appTrace)["expand traced"].Span != nil
		},
	)
	expand := s.of(appTrace)["expand traced"]
	if about := attributes(expand.Attributes); about["bellhop.job.items_total"] != "20" ||
		about["bellhop.job.items_done"] != "20" {
		t.Errorf("%v", about)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	under := map[string]int{}
	for _, sp := range s.spans {
		if sp.Name == "agent's own" {
			under[s.spans[appTrace+" "+hex.EncodeToString(sp.ParentSpanId)].GetName()]++
		}
	}
	if under["item traced"] != 4 || under["expand traced"] != 16 {
		t.Errorf("the agent's spans are under %v", under)
	}
}

func TestTrace_LeavesWhatIsNotSampledAlone(t *testing.T) {
	t.Parallel()
	unsampled := "00-" + appTrace + "-" + appSpan + "-00"
	sampled := "00-" + appTrace + "-" + appSpan + "-01"
	for name, c := range map[string]struct {
		env  []string
		gets string // by the agent, of a sampled one
	}{
		"on":         {nil, "another span"},
		"disabled":   {[]string{"OTEL_SDK_DISABLED=true"}, sampled},
		"always_off": {[]string{"OTEL_TRACES_SAMPLER=always_off"}, sampled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s := setup(t), newSink(t)
			e.tracing(s.URL, c.env...)
			e.serve(agents("type: say, command: [sh, -c, 'echo $TRACEPARENT', x], mode: exec"))
			no, yes := e.insert("type, traceparent", "say", unsampled), e.insert("type, traceparent", "say", sampled)
			e.waitAll("succeeded 2")
			if got := strings.TrimSpace(e.ok("logs", fmt.Sprint(no))); got != unsampled {
				t.Errorf("unsampled: the agent gets %q", got)
			}
			got := strings.TrimSpace(e.ok("logs", fmt.Sprint(yes)))
			if c.gets == sampled && got != sampled ||
				c.gets != sampled && (got == sampled || !strings.HasPrefix(got, "00-"+appTrace)) {
				t.Errorf("sampled: the agent gets %q", got)
			}
		})
	}
}

// A collector that is dead or slow slows nothing, at the end neither.
func TestTrace_ACollectorThatDoesNotAnswerHoldsUpNothing(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := closed.Addr().String()
	_ = closed.Close()
	stuck := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stuck:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(stuck); silent.Close() })
	for name, c := range map[string]struct{ endpoint, protocol string }{
		"nobody there": {"http://" + port, "http/protobuf"}, "nobody there, grpc": {"http://" + port, "grpc"}, "never answers": {silent.URL, "http/protobuf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			e.tracing(c.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+c.protocol, "OTEL_BSP_MAX_QUEUE_SIZE=64",
				"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=32")
			i := e.serve(agents("type: quick, command: [" + e.worker("quick", ":") + "]"))
			e.sql("insert into bellhop.jobqueue (type) select 'quick' from generate_series(1, 3000)")
			e.waitAll("succeeded 3000")
			began := time.Now()
			i.stop()
			if took := time.Since(began); took > 30*time.Second { // an export may take 30 s, and be tried again for a minute
				t.Errorf("the end took %s", took)
			}
			has(t, i.said(), "traces: ")
		})
	}
}

func TestTrace_IsNamedInTheLogWhereAJobIsMeant(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve(agents("type: dies, command: [" + e.worker("dies", "exit 3") + "]"))
	e.insert("type, traceparent", "dies", "00-"+appTrace+"-"+appSpan+"-01")
	e.waitAll("failed 1")
	i.waitSaid(`"msg":"child died"`)
	for line := range strings.Lines(i.said()) {
		if strings.Contains(line, `"msg":"child died"`) &&
			!strings.Contains(line, `"trace_id":"`+appTrace+`","span_id":"`+appSpan+`"`) {
			t.Errorf("no trace in %s", line)
		}
	}
}

func TestTrace_RefusesVariablesThatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for _, bad := range []string{"OTEL_TRACES_EXPORTER=zipkin", "OTEL_TRACES_SAMPLER=sometimes", "OTEL_EXPORTER_OTLP_PROTOCOL=smoke"} {
		e.tracing("http://127.0.0.1:1", bad)
		i := e.start(e.configuration(""))
		if code := i.exit(); code != 2 {
			t.Errorf("%s: exit code %d", bad, code)
		}
		name, value, _ := strings.Cut(bad, "=")
		has(t, i.said(), name, value)
	}
}
