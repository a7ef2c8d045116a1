package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellhop/observability"
	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// scrape reads /metrics as Prometheus does.
func (i *instance) scrape() string {
	i.b.t.Helper()
	request, err := http.NewRequestWithContext(i.b.t.Context(), http.MethodGet, "http://"+i.address+"/metrics", nil)
	if err != nil {
		i.b.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		i.b.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		i.b.t.Fatalf("/metrics: %s, %v\n%s", r.Status, err, text)
	}
	return string(text)
}

// sample is the value of a metric with such labels; −1: there is none.
func sample(text, name string, labels ...string) float64 {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, name) || len(line) <= len(name) || line[len(name)] != '{' && line[len(name)] != ' ' ||
			slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(line, l) }) {
			continue
		}
		line, _, _ = strings.Cut(line, " # ") // an exemplar
		fields := strings.Fields(line[strings.LastIndex(line, "}")+1:])
		if len(fields) > 1 && line[len(name)] == ' ' {
			fields = fields[1:]
		}
		v, err := strconv.ParseFloat(fields[0], 64)
		if err == nil {
			return v
		}
	}
	return -1
}

func TestMetrics_TellOfTheQueueItsJobsAndChildren(t *testing.T) {
	t.Parallel()
	e, s := setup(t), newSink(t)
	e.tracing(s.URL)
	e.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	i := e.serve(agents("type: quick, command: ["+e.worker("quick", "[ \"$line\" != die ] || exit 3")+"]", "type: traced, command: [\"true\"], mode: exec", "type: slow, command: [sh, -c], mode: exec"))
	e.insert("type, args", "quick", "die") // first, so that one is READY when all is done
	e.sql("insert into bellhop.jobqueue (type) select 'quick' from generate_series(1, 20)")
	e.insert("type, traceparent", "traced", "00-"+appTrace+"-"+appSpan+"-01")
	e.insert("type, args, timeout", "slow", "sleep 600", "1 ms")
	e.insert("type, held", "quick", true)
	e.insert("type, created_at", "nobody", "2000-01-01")
	pgtest.Eventually(t, patience, "all that can run has run", func() bool {
		return value[int64](e, "select count(*) from bellhop.jobqueue where state in ('succeeded', 'failed')") == 23
	})
	exemplar := regexp.MustCompile(`bellhop_job_run_duration_seconds_bucket{[^}]*type="traced"[^}]*} \d+ # {[^}]*trace_id="` + appTrace)
	var text string
	pgtest.Eventually(t, patience, "the queue is told of as it is", func() bool {
		text = i.scrape()
		return sample(text, "bellhop_jobs", `state="ready"`, `type="nobody"`) == 1 && sample(text, "bellhop_jobs", `state="held"`, `type="quick"`) == 1 &&
			sample(text, "bellhop_job_run_duration_seconds_count", `type="quick"`, `outcome="succeeded"`) == 20 &&
			sample(text, "bellhop_job_run_duration_seconds_count", `type="quick"`, `outcome="died"`) == 1 &&
			sample(text, "bellhop_job_run_duration_seconds_count", `type="slow"`, `outcome="timed_out"`) == 1 &&
			sample(text, "bellhop_child_deaths_total", `type="quick"`) == 1 && sample(text, "bellhop_children", `state="ready"`, `type="quick"`) >= 1 &&
			exemplar.MatchString(text)
	})
	for what, ok := range map[string]bool{
		"waits":              sample(text, "bellhop_job_wait_duration_seconds_count", `type="quick"`) == 21,
		"pick-ups":           sample(text, "bellhop_job_pickup_duration_seconds_count", `type="quick"`) == 21,
		"a death in a run":   sample(text, "bellhop_job_run_duration_seconds_count", `type="quick"`, `outcome="died"`) == 1,
		"starts":             sample(text, "bellhop_child_starts_total", `type="quick"`) >= 1,
		"children":           sample(text, "bellhop_children", `state="ready"`, `type="quick"`) >= 1,
		"no fence lost":      sample(text, "bellhop_fences_lost_total") == 0,
		"one connection":     sample(text, "bellhop_bell_connects_total") == 1,
		"a bell":             sample(text, "bellhop_bell_heartbeat_age_seconds") >= 0,
		"notifications":      sample(text, "bellhop_notify_queue_usage_ratio") >= 0,
		"batches":            sample(text, "bellhop_batch_size_count", `what="settle"`) > 0,
		"oldest":             sample(text, "bellhop_job_oldest_age_seconds", `type="nobody"`) > 20*365*24*3600,
		"a gate":             sample(text, "bellhop_gate_state", `state="awake"`)+sample(text, "bellhop_gate_state", `state="asking"`)+sample(text, "bellhop_gate_state", `state="asleep"`) == 1,
		"a database":         sample(text, "bellhop_database_up") == 1,
		"none set aside":     sample(text, "bellhop_jobs_quarantined_total", `type="quick"`) == 0,
		"a build":            sample(text, "bellhop_build_info", `version="`, `commit="`, `goversion="go1.`) == 1,
		"memory":             sample(text, "process_resident_memory_bytes") > 1<<20,
		"processor time":     sample(text, "process_cpu_seconds_total") > 0,
		"goroutines":         sample(text, "go_goroutines") > 1,
		"nothing is dropped": sample(text, "bellhop_traces_dropped_total", `what="jobs"`) == 0,
	} {
		if !ok {
			t.Errorf("no %s in:\n%s", what, text)
		}
	}
	// Whatever is shown is written down, and the other way round.
	shown := map[string]bool{}
	for line := range strings.Lines(text) {
		if name, is := strings.CutPrefix(line, "# TYPE "); is && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			shown[strings.Fields(name)[0]] = true
		}
	}
	// What has no sample is not shown: here are no locks, no sensors and no promises.
	unseen := map[string]bool{
		prometheusName(observability.ForecastError):  true,
		prometheusName(observability.SensorFailures): true,
		prometheusName(observability.SensorLag):      true,
		prometheusName(observability.Promises):       true,
	}
	for _, m := range observability.Metrics {
		if name := prometheusName(m); !shown[name] && !unseen[name] {
			t.Errorf("%s is not shown", name)
		} else {
			delete(shown, name)
		}
	}
	if len(shown) > 0 {
		t.Errorf("shown, and not in observability.Metrics: %v", shown)
	}
}

// Whether the database answers is told by an instance that it does not answer.
func TestMetrics_TellThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	e.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	i := e.serve(agents("type: quick, command: [\"true\"], mode: exec"))
	is := func(want float64) func() bool {
		return func() bool { return sample(i.scrape(), "bellhop_database_up") == want }
	}
	pgtest.Eventually(t, patience, "the database is there", is(1))
	c.Kill()
	pgtest.Eventually(t, patience, "the database is away", is(0))
	e.restart(c, "fast")
	pgtest.Eventually(t, patience, "the database is there again", is(1))
}

// The alerts of compose/alerts.yml ask for metrics that exist; each has one name and is explained.
func TestMetrics_AlertsAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../compose/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if seen[alert[1]] {
			t.Errorf("two alerts are named %s: a receiver cannot tell them apart", alert[1])
		}
		seen[alert[1]] = true
		if !strings.Contains(string(told), "| `"+alert[1]+"` |") {
			t.Errorf("docs/observability.md does not tell of %s", alert[1])
		}
	}
	for _, name := range regexp.MustCompile(`bellhop_[a-z_]+`).FindAllString(string(rules), -1) {
		plain := strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_total")
		if !slices.ContainsFunc(observability.Metrics,
			func(m observability.Metric) bool { return prometheusName(m) == plain }) {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// Every label's value that is ours is one word: in a query it is typed.
func TestMetrics_LabelsAreWords(t *testing.T) {
	t.Parallel()
	for o := scheduler.OutcomeSucceeded; o <= scheduler.OutcomeLost; o++ {
		if !word.MatchString(o.String()) {
			t.Errorf("outcome %q", o)
		}
	}
	for s := scheduler.GateAwake; s <= scheduler.GateAsleep; s++ {
		if !word.MatchString(strings.ToLower(s.String())) {
			t.Errorf("gate %q", s)
		}
	}
	for s := scheduler.Free; s <= scheduler.Fail; s++ {
		if !word.MatchString(strings.ToLower(s.String())) {
			t.Errorf("child %q", s)
		}
	}
	for _, s := range scheduler.JobStates {
		if !word.MatchString(string(s)) {
			t.Errorf("job %q", s)
		}
	}
}

var word = regexp.MustCompile(`^[a-z_]+$`)

// prometheusName is a metric's without _total.
func prometheusName(m observability.Metric) string {
	return strings.ReplaceAll(m.Name, ".", "_") + map[string]string{"s": "_seconds", "1": "_ratio"}[m.Unit]
}

// docs/observability.md has the names of the code.
func TestMetrics_AreWrittenDown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(bellhop_[a-z_]+)`").FindAllStringSubmatch(string(text), -1) {
		written[m[1]] = true
	}
	for _, m := range observability.Metrics {
		row := fmt.Sprintf("| `%s` | %s | %s |", prometheusName(m), strings.Join(m.Labels, ", "), m.About)
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/observability.md lacks the row\n%s", row)
		}
		delete(written, prometheusName(m))
	}
	if len(written) > 0 {
		t.Errorf("docs/observability.md has what the code has not: %v", written)
	}
	code, err := os.ReadFile("../observability/names.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^\t\w+ += Metric\{`).FindAll(code, -1)); n != len(observability.Metrics) {
		t.Errorf("names.go has %d metrics, and its list %d", n, len(observability.Metrics))
	}
	for _, m := range regexp.MustCompile(`(?m)^\tSpan\w+ = "(.*)"$`).FindAllStringSubmatch(string(code), -1) {
		if !strings.Contains(string(text), "| `"+m[1]) {
			t.Errorf("docs/observability.md lacks the span %s", m[1])
		}
	}
	metricName := regexp.MustCompile(`"(bellhop\.(?:job|child|host|link)[a-z_.]*)"$`)
	for _, m := range metricName.FindAllStringSubmatch(string(code), -1) {
		if !strings.Contains(string(text), "`"+m[1]+"`") {
			t.Errorf("docs/observability.md lacks the attribute %s", m[1])
		}
	}
}
