package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"bellhop/client/agent"
	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
)

// Law: a run that makes children ends with the transaction that makes them, and counts as no attempt. Its job is
// blocked until all of them have ended, however that was, and its next run hears how.
func TestChildren_AreAwaited(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	parent := e.insert("type, priority, traceparent", "'cat', 3, '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01'")
	e.exec("update bellhop.jobqueue set submitted_by = 'an app'")
	j := e.claim(demand(1))[0]
	e.rests(j, scheduler.Resting{Children: `[{"type":"cut","args":"one"},{"type":"cut","args":{"n":2},"priority":-5,"vars":{"A":"b"},"max_attempts":2,"timeout":"90 seconds"}]`})
	e.want(parent, "state || ' ' || unmet || ' ' || attempt || ' ' || waiting_for", "blocked 2 0 dependencies")
	for where, want := range map[string]string{
		"args = 'one'":      `cut 3 an app 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01 1 -`,
		`args = '{"n": 2}'`: `cut -5 an app 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01 2 {"A": "b"}`,
	} {
		if got := e.one("select concat_ws(' ', type, priority, submitted_by, traceparent, max_attempts, coalesce(vars::text, '-')) from bellhop.jobqueue where " + where); got != want {
			t.Errorf("the child with %s is %s, want %s", where, got, want)
		}
	}
	if got := e.one("select bellhop.explain($1)", int64(parent)); !strings.Contains(got, "(cut)") {
		t.Errorf("explain says %q", got)
	}
	children := e.claimOf("cut", 2)
	if len(children) != 2 {
		t.Fatalf("%d children are ready", len(children))
	}
	answer := &scheduler.Answer{Result: []byte(`{"w": 2}`)}
	e.mustWrite(settle(children[0], scheduler.Result{Child: "cut.1", Answer: answer},
		scheduler.Verdict{State: scheduler.Succeeded, Counts: true}))
	e.want(parent, "state", "blocked")
	e.failed(children[1], "no such file")
	e.want(parent, "state || ' ' || coalesce(unmet, -1)", "ready -1")
	next := e.claim(demand(1))[0]
	// The first of them in the list is the one of priority 3, which came second.
	want := fmt.Sprintf(`{"children.1": [{"job": %d, "error": "no such file", "state": "failed"}, {"job": %d, "state": "succeeded", "result": {"w": 2}}]}  false`,
		children[1].Claim.Job, children[0].Claim.Job)
	if got := keptOf(next); got != want {
		t.Errorf("its next run has %s, want %s", got, want)
	}
	// Their ends are told as they were, whatever becomes of their rows. Later children are a step of their own.
	e.exec("delete from bellhop.jobqueue where type = 'cut'")
	e.rests(next, scheduler.Resting{Children: `[{"type":"cut"}]`})
	e.ends(e.claimOf("cut", 1)...)
	last := e.claim(demand(1))[0]
	if got := keptOf(last); !strings.HasPrefix(got, strings.TrimSuffix(want, "}  false")+", ") || !strings.Contains(got, `"children.2": [{"job": `) {
		t.Errorf("its last run has %s", got)
	}
	e.want(parent, "attempt", "1")
}

// failed ends a run that has failed for good.
func (e *env) failed(j scheduler.Job, why string) {
	e.Helper()
	e.mustWrite(settle(j, scheduler.Result{Child: "cut.1", Error: why},
		scheduler.Verdict{State: scheduler.Failed, Counts: true}))
}

// claimOf claims so many jobs of a type.
func (e *env) claimOf(typ scheduler.TypeName, n int) []scheduler.Job {
	e.Helper()
	d := demand(n)
	d.Types[0].Type = typ
	return e.claim(d)
}

// A job whose children cannot be made has failed, makes none, and says why. One that is asked to stop makes none.
func TestChildren_ThatCannotBeMade(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for children, why := range map[string]string{
		`[]`:                                          "children are a list of 1 to 1000 jobs",
		`{"type":"cut"}`:                              "children are a list of 1 to 1000 jobs",
		`[{"type":"cut","locks":"a:b=shared"}]`:       `locks of child 1 is not a list of texts, such as ["db:orders=exclusive"]`,
		`[{"type":"cut","vars":["A=b"]}]`:             "vars of child 1 is not an object of names and texts",
		`[{"type":"cut","reasons":["a",null]}]`:       "reasons of child 1 is not a list of texts, such as ",
		`[{"type":"cut"},{"type":"cut","locks":[7]}]`: "locks of child 2 is not a list of texts, such as ",
		`[{"type":"cut","run_on":["x"]}]`:             "run_on of child 1 is not a text or a number",
		`[{"type":"cut","msq":true}]`:                 "msq of child 1 is not a text or a number",
		`[{"type":"cut","held":"yes"}]`:               "held of child 1 is not true or false",
		`[{"type":"cut","key":"a"}]`:                  "child 1 has the unknown key key",
		`[{"type":"cut","args":"a","msq":"b"}]`:       "its child jobs cannot be made: ",
		`[{"args":"x"}]`:                              "child 1 has no type",
		`[{"type":"cut"},7]`:                          "child 2 has no type",
		`[{"type":"command","args":"stop"}]`:          "child 1 is of type command, which a run cannot make",
		`[{"type":"cut","after":[1]}]`:                "child 1 has the unknown key after; known are type, args, msq,",
		`[{"type":"cut","args":"a\nb"}]`:              "its child jobs cannot be made: new row for relation \"jobqueue\" violates check constraint \"jobqueue_args_one_line\"",
		`[{"type":"cut","priority":99}]`:              "its child jobs cannot be made: ",
		`[{"type":"cut","timeout":"soon"}]`:           "its child jobs cannot be made: ",
		`[{"type":"cut","run_at":"soon"}]`:            "its child jobs cannot be made: ",
		`[{"type":"cut\u0000"}]`:                      "its child jobs cannot be made: ",
	} {
		id := e.insert("type, max_attempts", "'cat', 5")
		e.rests(e.claim(demand(1))[0], scheduler.Resting{Children: children})
		if got := e.column(id, "state || ' ' || error"); !strings.HasPrefix(got, "failed "+why) {
			t.Errorf("%s: it is %s, want %s", children, got, why)
		}
	}
	asked := e.insert("type", "'cat'")
	j := e.claim(demand(1))[0]
	e.exec("update bellhop.jobqueue set cancel_requested = true where id = $1", int64(asked))
	e.rests(j, scheduler.Resting{Children: `[{"type":"cut"}]`})
	e.want(asked, "state", "cancelled")
	if got := e.one("select count(*) from bellhop.jobqueue where type = 'cut'"); got != "0" {
		t.Errorf("%s children are there", got)
	}
}

// A job that awaits its children can be cancelled, and leaves them alone. One that keeps its locks keeps them
// meanwhile.
func TestChildren_GoOnWithoutTheirParent(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.passedAlone(e.locked("db:a=exclusive"))
	e.rests(j, scheduler.Resting{Children: `[{"type":"cut"}]`, KeepLocks: true})
	other := e.locked("db:a=exclusive")
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("while its children run a pass takes %v", got)
	}
	e.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
	e.want(j.Claim.Job, "state", "cancelled")
	e.passedAlone(other)
	e.ends(e.claimOf("cut", 1)...)
	e.want(j.Claim.Job, "state", "cancelled")
}

// An operator forgets children as any step: the next run makes them anew.
func TestChildren_AreForgotten(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	e.rests(e.claim(demand(1))[0], scheduler.Resting{Children: `[{"type":"cut"}]`})
	e.ends(e.claimOf("cut", 1)...)
	e.failed(e.claim(demand(1))[0], "no")
	e.exec("select bellhop.retry_from($1, 'children.1')", int64(id))
	if got := keptOf(e.claim(demand(1))[0]); got != "{}  false" {
		t.Errorf("its next run has %s", got)
	}
}

// A worker makes children as a submitter: its login needs that role, and is their submitter. They may be many.
func TestChildren_OfAWorker(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_parent", "order")
	e.exec("revoke bellhop_submitter from worker_parent")
	e.insert("type", "'order'")
	r := e.takeOne(w, "order")
	const make = "select bellhop.children($1, $2, $3)"
	_, err := w.Exec(t.Context(), make, r.id, r.fence, `[{"type":"cut"}]`)
	if sqlstate(err) != "42501" || !strings.Contains(err.Error(), "may not submit jobs") {
		t.Errorf("without the role: %v", err)
	}
	e.exec("grant bellhop_submitter to worker_parent")
	for children, code := range map[string]string{`[]`: "22023", `[{"type":"dummy"}]`: "22023", `[{"type":"cut","priority":99}]`: "23514"} {
		if _, err := w.Exec(t.Context(), make, r.id, r.fence, children); sqlstate(err) != code {
			t.Errorf("%s: %v", children, err)
		}
	}
	if _, err := w.Exec(t.Context(), make, r.id, r.fence, nil); sqlstate(err) != "22023" {
		t.Errorf("no list: %v", err)
	}
	if _, err := w.Exec(t.Context(), make, r.id, r.fence+1, `[{"type":"cut"}]`); sqlstate(err) != "BH004" {
		t.Errorf("another fence: %v", err)
	}
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"type":"cut"},`, 1000), ",") + "]"
	if got := e.by(w, "select cardinality(bellhop.children($1, $2, $3))", r.id, r.fence, many); got != "1000" {
		t.Errorf("%s children", got)
	}
	if got := e.one("select string_agg(distinct submitted_by, ' ') from bellhop.jobqueue where type = 'cut'"); got != "worker_parent" {
		t.Errorf("they are submitted by %s", got)
	}
	e.exec("grant bellhop_worker to worker_parent; insert into bellhop.worker_type values ('worker_parent', 'cut')")
	for _, c := range e.take(w, 1000, "cut") {
		e.by(w, "select bellhop.finish($1, $2)", c.id, c.fence)
	}
	_, steps, _ := e.kept(w, "order")
	if n := strings.Count(steps, `"state": "succeeded"`); n != 1000 {
		t.Errorf("%d children have succeeded: %.200s", n, steps)
	}
}

// A child job takes each field that the grammar gives it, in SQL and in Go, and docs/steps.md names them.
func TestChildren_HaveEveryFieldOfTheGrammar(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	page, err := os.ReadFile("../../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	var inGo []string
	for f := range reflect.TypeFor[agent.Child]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inGo = append(inGo, name)
	}
	var names []string
	for _, f := range grammar.ChildJob.Fields {
		names = append(names, f.Name)
		child := map[string]any{"type": "cut"}
		var value any = cmp.Or(f.Example, "once")
		switch f.Kind {
		case grammar.Words:
			value = []string{f.Example}
		case grammar.Pairs:
			name, text, _ := strings.Cut(f.Example, "=")
			value = map[string]string{name: text}
		case grammar.Flag:
			value = true
		}
		if child[f.Name] = value; f.Name == "repeat" {
			child["msq"] = "select 1"
		}
		raw, err := json.Marshal([]any{child})
		if err != nil {
			t.Fatal(err)
		}
		id := e.insert("type", "'cat'")
		e.rests(e.claim(demand(1))[0], scheduler.Resting{Children: string(raw)})
		if got := e.one(fmt.Sprintf(`select q.%s is not null and q.%[1]s::text <> 'false' from bellhop.dependency d
			join bellhop.jobqueue q on q.id = d.needs where d.job = $1`, f.Name), int64(id)); got != "true" {
			t.Errorf("%s: %s: its child job has it: %s; error %s", f.Name, raw, got,
				e.one("select error from bellhop.jobqueue where id = $1", int64(id)))
		}
		if !strings.Contains(string(page), "`"+f.Name+"`") {
			t.Errorf("docs/steps.md does not name %s", f.Name)
		}
	}
	if got := strings.Join(inGo, ","); got != strings.Join(names, ",") {
		t.Errorf("the grammar knows %s, and Go %s", strings.Join(names, ","), got)
	}
}
