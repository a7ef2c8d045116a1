package store

import (
	"strings"
	"testing"

	"bellhop/scheduler"
)

// gives has a step that runs give this result, and end well.
func (e *env) gives(step, result string) {
	e.Helper()
	for _, j := range e.claim(demand(1)) {
		if got := e.one("select step from bellhop.jobqueue where id = $1", int64(j.Claim.Job)); got != step {
			e.Fatalf("step %s is ready, want %s", got, step)
		}
		ended := scheduler.Result{Child: "cat.1", Answer: &scheduler.Answer{Result: []byte(result)}}
		e.mustWrite(settle(j, ended, scheduler.Verdict{State: scheduler.Succeeded, Counts: true}))
	}
}

func (e *env) step(name, columns string) string {
	e.Helper()
	return e.one("select "+columns+" from bellhop.jobqueue where step = $1", name)
}

const taking = `[{"name":"a","type":"cat"},{"name":"b","type":"cat","after":["a"]},
	{"name":"c","type":"cat","after":["b"],"args":"${DAY} ${steps.a.result.path} ${steps.b.result} $${steps.a.result}","vars":{"N":"${steps.a.result.n}","ALL":"${steps.a.result}"}}]`

// A step gets the results of the steps that it needs, also by way of others, when it is ready. A value of a parameter
// is text, whatever it looks like.
func TestStepResults_FillArgsAndVars(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", taking)
	e.exec(`select bellhop.workflow_run('w', '{"DAY":"${steps.b.result}"}')`)
	e.gives("a", `{"path": "/srv/a b", "n": 3}`)
	e.gives("b", `"two\nlines"`)
	if got := e.step("c", "args"); got != `${steps.b.result} /srv/a b two\nlines ${steps.a.result}` {
		t.Errorf("args are %q", got)
	}
	if got := e.step("c", "(vars ->> 'N') || ' ' || (vars ->> 'ALL')"); got != `3 {"n": 3, "path": "/srv/a b"}` {
		t.Errorf("vars are %q", got)
	}
	e.byStep(scheduler.Succeeded, "1.c")
	e.runs("1 succeeded")
}

// A step whose result is missing, lacks the field, or is too large fails, and with it the run; a retry takes what the
// result is by then.
func TestStepResults_ThatAreMissing(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ a, says string }{
		"none":        {"null", "step a (job 1), whose result this step takes, gave none"},
		"no field":    {`{"n": 3}`, "step a (job 1) has nothing under path"},
		"a null":      {`{"n": 3, "path": null}`, "has nothing under path"},
		"not objects": {`"text"`, "has nothing under "},
		"too large":   {`{"n": 3, "path": "` + strings.Repeat("x", 1<<20) + `"}`, "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.apply("w", "null", taking)
			e.exec(`select bellhop.workflow_run('w')`)
			e.gives("a", x.a)
			e.gives("b", `"x"`)
			got := e.step("c", "state || ' ' || attempt || ' ' || error")
			if !strings.Contains(got, "failed 0 step_result: ") || !strings.Contains(got, x.says) {
				t.Errorf("it is %s", got)
			}
			e.runs("1 failed")
			if got := e.one("select reason from bellhop.run"); !strings.HasPrefix(got, "step c failed (job ") {
				t.Errorf("the reason is %q", got)
			}
			e.exec("select bellhop.workflow_retry(1)")
			e.exec("select bellhop.pass_dummies()") // as an instance does when it is told to look
			e.runs("1 failed")
			e.exec(`update bellhop.jobqueue set result = '{"path": "/p", "n": 1}' where step = 'a'`)
			e.exec("select bellhop.workflow_retry(1)")
			e.runs("1 running")
			if got := e.step("c", "state || ' ' || args"); got != "ready today /p x ${steps.a.result}" {
				t.Errorf("after the retry it is %s", got)
			}
			e.byStep(scheduler.Succeeded, "1.c")
			e.runs("1 succeeded")
		})
	}
}

// A step that is tried again waits for what it needs, and is then filled with the new result.
func TestStepResults_OfAStepThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[{"name":"a","type":"cat"},{"name":"b","type":"cat","after":["a"],"args":"${steps.a.result}"}]`)
	e.exec(`select bellhop.workflow_run('w')`)
	e.byStep(scheduler.Failed, "1.a")
	e.runs("1 failed")
	e.exec("select bellhop.workflow_retry(1)")
	if got := e.step("b", "state || ' ' || args"); got != "blocked ${steps.a.result}" {
		t.Errorf("it is %s", got)
	}
	e.gives("a", "7")
	if got := e.step("b", "state || ' ' || args"); got != "ready 7" {
		t.Errorf("it is %s", got)
	}
}

// What is edited is not undone by what is filled in later: neither when the step becomes ready, nor when it is tried
// again.
func TestStepResults_DoNotUndoAnEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, edit, ready, again string }{
		{"plain args", `args => 'x'`, `x {"N": "7"}`, `x {"N": "8"}`},
		{"args that take a result", `args => 'now ${steps.a.result}'`, `now 7 {"N": "7"}`, `now 8 {"N": "8"}`},
		{"args that only look so", `args => '$${steps.a.result}'`, `${steps.a.result} {"N": "7"}`, `${steps.a.result} {"N": "8"}`},
		{"vars", `vars => '{"N": "1"}'`, `7 {"N": "1"}`, `8 {"N": "1"}`},
		{"nothing of it", `max_attempts => 3`, `7 {"N": "7"}`, `8 {"N": "8"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.apply("w", "null", `[{"name":"a","type":"cat"},{"name":"b","type":"cat","after":["a"],"args":"${steps.a.result}","vars":{"N":"${steps.a.result}"}}]`)
			e.exec(`select bellhop.workflow_run('w')`)
			e.exec("select bellhop.edit(" + e.step("b", "id::text") + ", " + c.edit + ")")
			e.gives("a", "7")
			if got := e.step("b", "state || ' ' || args || ' ' || vars"); got != "ready "+c.ready {
				t.Errorf("it is %s, want %s", got, c.ready)
			}
			e.byStep(scheduler.Failed, "1.b")
			e.exec(`update bellhop.jobqueue set result = '8' where step = 'a'`)
			e.exec("select bellhop.retry(" + e.step("b", "id::text") + ")")
			if got := e.step("b", "args || ' ' || vars"); got != c.again {
				t.Errorf("when it is tried again it is %s, want %s", got, c.again)
			}
		})
	}
}

// A step that is ready has its results: what is edited then is text, whatever it looks like.
func TestStepResults_AnEditOfAReadyStepIsText(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[{"name":"a","type":"cat"},{"name":"b","type":"cat","after":["a"],"args":"${steps.a.result}"}]`)
	e.exec(`select bellhop.workflow_run('w')`)
	id := e.step("b", "id::text")
	if got := e.fails("select bellhop.edit(" + id + ", args => '${steps.b.result}')"); !strings.Contains(got, "does not need step b") {
		t.Error(got)
	}
	e.gives("a", "7")
	e.exec("select bellhop.edit(" + id + ", args => '$${x} ${steps.a.result}', hold => true)")
	e.exec("select bellhop.edit(" + id + ", hold => false)")
	if got := e.step("b", "state || ' ' || args"); got != "ready $${x} ${steps.a.result}" {
		t.Errorf("it is %s", got)
	}
}

// A run of some steps needs those whose results they take.
func TestStepResults_OfStepsThatARunLeavesOut(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", taking)
	if got := e.fails(`select bellhop.workflow_run('w', steps => '{b,c}')`); !strings.Contains(got, "step c takes the result of step a, which this run leaves out") {
		t.Error(got)
	}
	e.exec(`select bellhop.workflow_run('w', steps => '{a,b}')`)
}
