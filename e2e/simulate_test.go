package e2e

import (
	"encoding/json"
	"math"
	"testing"
)

// outcomes are what simulate prints as JSON, as far as it is compared here.
type outcomes map[string]struct {
	Makespan float64 `json:"makespan"`
	WaitMean float64 `json:"wait_mean"`
	Later    int     `json:"later"`
	By       []struct {
		Name string `json:"name"`
		Jobs int    `json:"jobs"`
	} `json:"by"`
	Starts []float64 `json:"starts"`
}

func (e *env) simulated(args ...string) (o outcomes) {
	e.t.Helper()
	text := e.ok(append([]string{"simulate", "--from-history", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		e.t.Fatal(err)
	}
	return o
}

// TestSimulate_ThePresentPolicyIsWhatHappened: jobs with locks, priorities, a limit of their type, dependencies and
// retries really run; replayed, they wait about as long in all as they did, and end when they did. Under other
// policies they do not.
func TestSimulate_ThePresentPolicyIsWhatHappened(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 3}\n" + agents("type: pause, command: [sleep], mode: exec, vars: [TENANT]",
		"type: one, command: [sleep], mode: exec, max: 1",
		"type: again, command: [sh, -c, \"sleep 0.5; exit $((BELLHOP_ATTEMPT < 2))\"], mode: exec, "+
			"retry: {first: 200ms, most: 200ms, factor: 1}"))
	e.sql(`insert into bellhop.jobqueue (type, args, priority, vars, locks)
		select 'pause', '0.5', i % 3, jsonb_build_object('TENANT', (i % 2)::text),
		       case when i % 5 = 0 then array['db:orders=exclusive'] end from generate_series(1, 30) i`)
	e.sql("insert into bellhop.jobqueue (type, args) select 'one', '0.5' from generate_series(1, 8)")
	e.sql("insert into bellhop.jobqueue (type, max_attempts) select 'again', 2 from generate_series(1, 3)")
	e.sql(`select bellhop.submit('pause', '0.5', after => array[bellhop.submit('pause', '0.5')]) from generate_series(1, 4)`)
	e.waitAll("succeeded 49")
	got := e.simulated()
	was, same := got["as_it_was"], got["predictive"]
	near := func(what string, a, b float64) {
		t.Helper()
		if off := math.Abs(a-b) / b; off > 0.12 {
			t.Errorf("%s is %.3f s, and was %.3f s: %.1f %% off", what, a, b, 100*off)
		} else {
			t.Logf("%s is %.3f s, and was %.3f s: %.1f %% off", what, a, b, 100*off)
		}
	}
	near("the makespan", same.Makespan, was.Makespan)
	near("the mean wait", same.WaitMean, was.WaitMean)
	if len(same.By) != 3 || same.By[2].Name != "pause" || same.By[2].Jobs != 38 || len(was.Starts) != 52 {
		t.Errorf("%+v, %d starts", same.By, len(was.Starts))
	}
	wide := e.simulated("--slots", "30", "--max", "one=8")["predictive"]
	if wide.Makespan > was.Makespan*2/3 || wide.WaitMean > was.WaitMean/2 {
		t.Errorf("with ten times the slots: %.3f s, %.3f s", wide.Makespan, wide.WaitMean)
	}
	narrow := e.simulated("--slots", "1", "--order", "fifo")["fifo"]
	if narrow.Makespan < 2*was.Makespan || narrow.Later < 30 {
		t.Errorf("with one slot: %.3f s, %d later", narrow.Makespan, narrow.Later)
	}
	three := agents("type: one, command: [sleep], mode: exec, max: 3")
	file := e.file("other.yaml", "policy: {order: fifo}\n"+three, 0o644)
	by := e.simulated("--policy", file, "--by", "vars.TENANT")["fifo"]
	if len(by.By) != 3 || by.By[1].Name != "0" || by.By[1].Jobs != 15 || by.Makespan > was.Makespan*1.05 {
		t.Errorf("%+v %.3f s", by.By, by.Makespan)
	}
	has(t, e.ok("simulate", "--from-history", "--since", "1h"), "as it was", "predictive", "TYPE", "EARLIER", "one")
}
