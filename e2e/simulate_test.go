package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestSimulate_AReplayIsWhatWasRecorded: a run in virtual time is written down as jobs that have ended. Replayed under
// the same order, each of them starts when it did.
func TestSimulate_AReplayIsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: pause, command: [sleep], mode: exec"))
	type arrival struct {
		At       float64  `json:"at"`
		Type     string   `json:"type"`
		Locks    []string `json:"locks,omitempty"`
		Priority int      `json:"priority"`
		Takes    float64  `json:"takes"`
		Share    string   `json:"share,omitempty"`
		Weight   float64  `json:"weight,omitempty"`
	}
	var jobs []arrival
	var lines strings.Builder
	for i := range 200 {
		j := arrival{float64(i*i%97) / 10, []string{"pause", "other"}[i%2], nil, i % 3, float64(1+i*7%11) / 4, "flood", 0}
		if i%5 == 0 {
			j.Share, j.Weight = []string{"", "x", "y"}[i%3], []float64{0, 0, 3}[i%3]
		}
		if i%4 == 0 {
			j.Locks = []string{fmt.Sprintf("db:%d=%s", i%3, []string{"shared", "exclusive"}[i%8/4])}
		}
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b arrival) int { return cmp.Compare(a.At, b.At) })
	for _, j := range jobs {
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	var ran outcomes
	text := e.ok("simulate", e.file("run.jsonl", lines.String(), 0o644), "--slots", "5", "-o", "json")
	if err := json.Unmarshal([]byte(text), &ran); err != nil {
		t.Fatal(err)
	}
	was := ran["fifo"]
	begin := value[time.Time](e, "select date_trunc('second', now()) - interval '1 hour'")
	e.sql("insert into bellhop.share values ('pause', 'y', 3), ('other', 'y', 3)")
	for i, j := range jobs {
		e.sql(`insert into bellhop.jobqueue (type, priority, locks, share, state, attempt, host, created_at, started_at, ended_at)
			select $1, $2, $3, nullif($8, ''), 'succeeded', 1, 'local', $7::timestamptz + $4 * interval '1 s',
				$7 + $5 * interval '1 s', $7 + $6 * interval '1 s'`,
			j.Type, j.Priority, j.Locks, j.At, was.Starts[i], was.Starts[i]+j.Takes, begin, j.Share)
	}
	same := e.simulated("--order", "fifo", "--slots", "5")["fifo"]
	off := max(math.Abs(same.Makespan-was.Makespan), math.Abs(same.WaitMean-was.WaitMean))
	if off > 0.01 || len(same.Starts) != 200 {
		t.Errorf("the replay is %.3f s and waits %.3f s, the run was %.3f s and waited %.3f s",
			same.Makespan, same.WaitMean, was.Makespan, was.WaitMean)
	}
	if other := e.simulated("--order", "fifo", "--slots", "5", "--shares", "without"); other["fifo_no_shares"].Later == 0 {
		t.Error("without shares no job starts later")
	}
	for i, at := range same.Starts {
		if math.Abs(at-was.Starts[i]) > 0.01 {
			t.Fatalf("job %d starts at %.3f s, and did at %.3f s", i, at, was.Starts[i])
		}
	}
}

// TestSimulate_OtherPoliciesAreNotWhatHappened: jobs with locks, priorities, a limit of their type, dependencies
// and retries really run. How close their replay comes depends on how evenly the machine runs them, and is told;
// under other policies it is another run.
func TestSimulate_OtherPoliciesAreNotWhatHappened(t *testing.T) {
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
	t.Logf("makespan %.3f s, and was %.3f s; mean wait %.3f s, and was %.3f s", same.Makespan, was.Makespan, same.WaitMean,
		was.WaitMean)
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
