package locks

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
)

// run runs a command with words and stdin. A first word that ends in .yaml is the configuration's.
func run(t *testing.T, constructor func(*cli.App) *cobra.Command, stdin string, json bool,
	args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if json {
		if err := a.Output.Set("json"); err != nil {
			t.Fatal(err)
		}
	}
	if len(args) > 0 && strings.HasSuffix(args[0], ".yaml") {
		a.ConfigPath, args = args[0], args[1:]
	}
	c := constructor(a)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	code = a.Report(c.Execute())
	return out.String(), errs.String(), code
}

func TestWeigh_OneCase(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]weightView{
		`{"pending":{"locks":{}}}`:                                                                                                   {SPV: 1, Weight: 1},
		`{"pending":{"locks":"BGL"},"running":[],"age_seconds":450}`:                                                                 {SPV: 16, Weight: 8},
		`{"pending":{"locks":{"node":"AllExclusive"}},"running":[{}]}`:                                                               {SPV: 1.5, Weight: 1.5},
		`{"pending":{"locks":{"node":{"Shared":["a"]},"instance":"None"}},"running":[{"locks":"BGL"}],"age_seconds":900}`:            {SPV: 4},
		`{"pending":{"locks":{"node":{"Shared":["a"],"Exclusive":["b"]}}},"running":[{"locks":{"node":{"Exclusive":["a"]}}}]}`:       {SPV: 4, Weight: 4},
		`{"pending":{"locks":{"node":{"Exclusive":["*"]}}},"running":[{"locks":{"node":{"Exclusive":["b"]}}}],"age_seconds":-1}`:     {SPV: 1.5, Weight: 1.5},
		`{"pending":{"locks":{"node":{"Exclusive":[]}}},"running":[{}]}`:                                                             {SPV: 1.5, Weight: 1.5},
		`{"pending":{"locks":{"node":{"Exclusive":[]}}},"running":[{"locks":{"node":"AllShared"}}]}`:                                 {SPV: 4, Weight: 4},
		`{"pending":{"locks":{"node":{"Shared":[]}}},"running":[{"locks":{"node":{"Exclusive":[]}}}]}`:                               {SPV: 1.3, Weight: 1.3},
		`{"pending":{"locks":{"node":{}}},"running":[{"locks":{"node":{"Exclusive":[]}}}]}`:                                          {SPV: 1, Weight: 1},
		`{"pending":{"locks":{"node":"UnknownShared"}},"running":[{"locks":{"node":"UnknownExclusive"}}],"age_seconds":1e300}`:       {SPV: 2.5},
		`{"pending":{"locks":{"noderes":"AllShared"}},"running":[{"locks":{"noderes":{"Shared":["x"]}}},{"locks":{"node":"None"}}]}`: {SPV: 1.3, Weight: 1.3},
	} {
		out, errs, code := run(t, WeighCommand, in, false)
		var got weightView
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d %s%s", in, code, out, errs)
		}
	}
	out, _, _ := run(t, WeighCommand, `{"pending":{"locks":{"a":"AllShared"}},"running":[{},{"locks":{"a":"AllExclusive"}}]}`, false, "--levels", "a,b", "--explain")
	if !strings.Contains(out, `"by": 1`) || !strings.Contains(out, `"by": null`) || !strings.Contains(out, `"running": "AllExclusive"`) {
		t.Error(out)
	}
}

func TestWeigh_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		``:                                      "no case on stdin",
		`{"pending":{}} x`:                      "something follows",
		`{"running":[]}`:                        "no pending job",
		`{"pending":{"lock":{}}}`:               `unknown field "lock"`,
		`{"pending":{"locks":"big"}}`:           `"BGL"`,
		`{"pending":{"locks":[]}}`:              "an object of levels",
		`{"pending":{"locks":{"rack":"None"}}}`: "nodegroup, instance, node, noderes, network",
		`{"pending":{},"running":[{"locks":{"node":"Some"}}]}`: `running[0].locks.node is "Some"`,
		`{"pending":{"locks":{"node":{"exclusively":["x"]}}}}`: `it is "None"`,
		`{"pending":{"locks":{"node":null}}}`:                  `it is "None"`,
		`{"pending":{"locks":{"node":{"Shared":"x"}}}}`:        `it is "None"`,
	} {
		if out, errs, code := run(t, WeighCommand, in, false); code != cli.ExitUsage || !strings.Contains(errs, says) {
			t.Errorf("%s: %d %s%s", in, code, out, errs)
		}
	}
}

const twoJobs = `{"at": 0, "type": "a", "locks": ["customer:42=exclusive"], "priority": 0, "takes": 1.5}

{"at": 0.1, "type": "b", "locks": ["customer:42=shared", "big"], "priority": -5, "takes": 2}
`

func TestSimulate_AFile(t *testing.T) {
	t.Parallel()
	out, errs, code := run(t, SimulateCommand, twoJobs, true, "-", "--slots", "2")
	var got map[string]outcomeView
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || len(got) != 4 {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	for order, o := range got {
		if !reflect.DeepEqual(o.Starts, []float64{0, 1.5}) || o.Makespan != 3.5 || o.WaitP50 != 0 || o.WaitP99 != 1.4 {
			t.Errorf("%s: %+v", order, o)
		}
	}
	out, _, code = run(t, SimulateCommand, twoJobs, false, "-", "--order", "fifo")
	if code != 0 || !strings.Contains(out, "fifo") || !strings.Contains(out, "█") || strings.Contains(out, "greedy") {
		t.Errorf("%d %s", code, out)
	}
}

const keys = `{"at": 0, "type": "a", "takes": 1, "share": "flood"}
{"at": 0, "type": "a", "takes": 1, "share": "flood", "weight": 2}
{"at": 0, "type": "a", "takes": 1, "share": "flood"}
{"at": 0, "type": "a", "takes": 1, "share": "flood"}
{"at": 0, "type": "a", "takes": 1, "share": "one"}
{"at": 0, "type": "a", "takes": 1, "share": "one"}
`

// Keys of shares take turns by their weights; without shares jobs start by their ids.
func TestSimulate_WithAndWithoutShares(t *testing.T) {
	t.Parallel()
	out, errs, code := run(t, SimulateCommand, keys, true, "-", "--slots", "1", "--order", "fifo", "--shares", "with,without")
	var got map[string]outcomeView
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || len(got) != 2 {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	for order, want := range map[string][]float64{"fifo": {0, 2, 3, 5, 1, 4}, "fifo_no_shares": {0, 1, 2, 3, 4, 5}} {
		if !reflect.DeepEqual(got[order].Starts, want) {
			t.Errorf("%s: %v, want %v", order, got[order].Starts, want)
		}
	}
}

func TestSimulate_AWorkloadIsPrintedAndReadBack(t *testing.T) {
	t.Parallel()
	text, errs, code := run(t, SimulateCommand, "", false, "--workload", "ganeti", "--jobs", "300", "--seed", "5", "--print")
	jobs, levels, _, err := readWorkload(strings.NewReader(text), nil)
	if code != 0 || err != nil || !reflect.DeepEqual(levels, lock.GanetiLevels) || len(jobs) != 300 {
		t.Fatalf("%d %s %v", code, errs, err)
	}
	again := lock.GanetiWorkload(300, 5)
	room := lock.Room{Slots: 20}
	if !reflect.DeepEqual(lock.Simulate(jobs, room, lock.DefaultPolicy), lock.Simulate(again, room, lock.DefaultPolicy)) {
		t.Error("what was printed is another workload")
	}
}

func TestSimulate_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stdin, says string
		args        []string
	}{
		{"", "which jobs?", nil}, {"", "which jobs?", []string{"x", "--workload", "ganeti"}}, {"", `no workload "x"`, []string{"--workload", "x"}},
		{"", "neither with nor without", []string{"-", "--shares", "both"}}, {"", "needs a value", []string{"-", "--shares", ""}},
		{`{"weight":2}`, "there is none", []string{"-"}}, {`{"share":"a","weight":-1}`, "from 0.001 to 1000", []string{"-"}},
		{`{"share":"a","weight":2}` + "\n" + `{"share":"a","weight":3}`, "an earlier line says 2", []string{"-"}},
		{`{"share":"` + strings.Repeat("x", 201) + `"}`, "200 characters", []string{"-"}},
		{"", "0 is not a valid number", []string{"--workload", "ganeti", "--jobs", "0"}}, {"", "without slots", []string{"-", "--slots", "-1"}},
		{"", `figures by "colour"`, []string{"--from-history", "--by", "colour"}}, {"", "at least one job", []string{"--from-history", "--max", "a=0"}},
		{"", "no such file", []string{"--from-history", "--policy", "/nowhere.yaml"}}, {"", "--by is for --from-history", []string{"-", "--by", "share"}},
		{"", `no order "lifo"`, []string{"-", "--order", "lifo"}}, {"", "no such file", []string{"/nowhere"}},
		{"", "no job in it", []string{"-"}}, {"\n{}\nx", "line 3: not a valid job", []string{"-"}}, {`{"at":-1}`, "line 1", []string{"-"}},
		{`{"takes":1e99}`, "seconds", []string{"-"}}, {`{"priority":20}`, "priority 20", []string{"-"}}, {`{"lock":[]}`, `unknown field "lock"`, []string{"-"}},
		{`{"locks":["a:b"]}`, "character 4", []string{"-"}}, {`{"asks":["big:b=shared"]}`, "not a level", []string{"-"}}, {`{} {}`, "one object a line", []string{"-"}},
		{`{"type":"` + strings.Repeat("x", longestLine) + `"}`, "more than", []string{"-"}},
	} {
		if out, errs, code := run(t, SimulateCommand, c.stdin, false, c.args...); code != cli.ExitUsage ||
			!strings.Contains(errs, c.says) {
			t.Errorf("%q: %d %.300s%.300s", c.args, code, out, errs)
		}
	}
}
