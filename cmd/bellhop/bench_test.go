package main

import (
	"encoding/json"
	"testing"
)

// bench measures by an instance and jobs of its own, and leaves neither.
func TestBench_MeasuresAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	var f map[string]float64
	if err := json.Unmarshal([]byte(s.ok("bench", "--rounds", "5", "--jobs", "100", "-o", "json")), &f); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"commit_p50", "commit_p99", "pick_up_p50", "pick_up_p99", "per_second"} {
		if f[name] <= 0 {
			t.Errorf("%s is %v", name, f[name])
		}
	}
	if f["rounds"] != 5 || f["jobs"] != 100 || f["commit_p99"] < f["commit_p50"] || f["pick_up_p99"] < f["pick_up_p50"] {
		t.Errorf("%v", f)
	}
	for _, what := range []string{"jobqueue", "instance where state = 'live'", "attempt_past", "log"} {
		if n := s.count("bellhop." + what); n != 0 {
			t.Errorf("%d rows of %s are left", n, what)
		}
	}
}
