package locks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// configured writes a configuration.
func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bellhop.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is configured is what is weighed by: the levels, and how long it takes to age.
func TestWeigh_ByThePolicyThatIsConfigured(t *testing.T) {
	t.Parallel()
	file := configured(t, "policy: {tick: 1s, ageing_ticks: 10, levels: [customer]}")
	const aCase = `{"pending":{"locks":{"customer":{"Exclusive":["42"]}}},"running":[{"locks":{"customer":{"Shared":["42"]}}}],"age_seconds":5}`
	out, errs, code := run(t, WeighCommand, aCase, false, file)
	var got weightView
	want := weightView{SPV: 4, Weight: 2}
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if out, _, _ := run(t, WeighCommand, `{"pending":{"locks":"BGL"}}`, false, file); !strings.Contains(out, `"spv": 4`) {
		t.Errorf("with one level the big lock weighs %s", out)
	}
	_, errs, code = run(t, WeighCommand, `{"pending":{"locks":{"node":"None"}}}`, false, file)
	if code != cli.ExitUsage ||
		!strings.Contains(errs, "the levels are customer") {
		t.Errorf("a level that is not configured: %d %s", code, errs)
	}
	_, errs, code = run(t, WeighCommand, `{"pending":{"locks":{"node":"None"}}}`, false, file, "--levels", "node")
	if code != 0 {
		t.Errorf("--levels wins: %d %s", code, errs)
	}
	bad := configured(t, "policy: {ticks: 1s}")
	if _, errs, code := run(t, WeighCommand, aCase, false, bad); code != cli.ExitUsage || !strings.Contains(errs, bad+":1:10") {
		t.Errorf("a mistake in the file: %d %s", code, errs)
	}
}

// A job that has aged is reserved for: how soon is configured, and replayed so.
func TestSimulate_ByThePolicyThatIsConfigured(t *testing.T) {
	t.Parallel()
	const jobs = `{"at":0,"type":"a","locks":["x:1=shared"],"takes":10}
{"at":1,"type":"b","locks":["x:*=exclusive"],"takes":1}
{"at":5,"type":"a","locks":["x:2=shared"],"takes":10}
`
	starts := func(yaml string) []float64 {
		t.Helper()
		out, errs, code := run(t, SimulateCommand, jobs, true, configured(t, yaml), "-", "--order", "predictive", "--slots", "3")
		var got map[string]outcomeView
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
			t.Fatalf("%d %s%s", code, out, errs)
		}
		return got["predictive"].Starts
	}
	if got := starts("policy: {}"); !reflect.DeepEqual(got, []float64{0, 15, 5}) {
		t.Errorf("nobody ages within seconds: %v", got)
	}
	if got := starts("policy: {tick: 1s, ageing_ticks: 2}"); !reflect.DeepEqual(got, []float64{0, 10, 11}) {
		t.Errorf("the second is reserved for: %v", got)
	}
	file := configured(t, "policy: {levels: [customer]}")
	if _, errs, code := run(t, SimulateCommand, jobs, false, file, "-"); code != cli.ExitUsage || !strings.Contains(errs, `line 1: `) ||
		!strings.Contains(errs, `no level "x"`) {
		t.Errorf("a level that is not configured: %d %s", code, errs)
	}
}
