package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

// stepper is an agent of the json dialect that does what its line says, word by word, and goes on where it died.
// `do X` is a step: a line in the file did.JOB, and then the word to bellhop. `die P` and `hang P` name a point at
// which the first run ends, or stands still: X.begun, X.did, X.kept.
const stepper = `#!/usr/bin/env python3
import json, os, signal, sys, time
d = os.environ["DIR"]
def say(**what):
    print(json.dumps(what), flush=True)
def work(job):
    steps, slept, points = job.get("steps", {}), 0, {}
    def at(point):
        mark = os.path.join(d, "%s.%d" % (point, job["id"]))
        if point in points and not os.path.exists(mark):
            open(mark, "w").write(str(os.getpid()))
            if points[point] == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1000)
    for word, *rest in (part.split() for part in job["args"].split(";")):
        if word in ("die", "hang"):
            points[rest[0]] = word
        elif word == "do":
            name = rest[0]
            if name not in steps:
                at(name + ".begun")
                with open(os.path.join(d, "did.%d" % job["id"]), "a") as f:
                    f.write(name + "\n")
                at(name + ".did")
                say(step={"name": name, "output": {"attempt": job["attempt"]}})
                reply = json.loads(sys.stdin.readline())
                assert reply == {"step": name}, reply
                at(name + ".kept")
        elif word == "say":
            say(**json.loads(" ".join(rest)))
            if "step" not in rest[0]:
                return
            if "failed" in json.loads(sys.stdin.readline()):
                return say(ok=True)  # which changes nothing
        elif word == "sleep":
            slept += 1
            if "sleep.%d" % slept not in steps:
                return say(sleep=rest[0])
        elif word == "await":
            if "event." + rest[0] not in steps:
                return say(**{"await": dict(zip(("event", "timeout"), rest))})
    say(result={name: job[name] for name in ("steps", "event", "timed_out", "attempt") if name in job})
    say(ok=True)
say(bellhop=1)
for line in iter(sys.stdin.readline, ""):
    work(json.loads(line))
`

// stepping is the configuration of an instance with that agent.
func (e *env) stepping(slots int) string {
	return quick(slots) + "limits: {deaths: 1000}\n" + agents(
		fmt.Sprintf("type: step, command: [%s], dialect: json, retry: {attempts: 5, first: 1ms, most: 1ms}, env: {DIR: %s, HOME: %s}",
			e.file("stepper", stepper, 0o755), e.dir, e.dir))
}

// did is what the functions of a job's steps have done, in order.
func (e *env) did(id int64) []string { return e.lines(fmt.Sprintf("did.%d", id)) }

func (e *env) result(id int64) string {
	e.t.Helper()
	return value[string](e, "select coalesce(result::text, '') from bellhop.jobqueue where id = $1", id)
}

// Law: whatever point an agent is killed at, its job goes on at the step that is not kept: each step is kept once, and
// its function runs at most once more than needed, where the kill came between the two.
func TestSteps_AnAgentGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(3))
	order := []string{"reserve", "charge", "mail"}
	jobs := map[string]int64{}
	for _, step := range order {
		for _, when := range []string{"begun", "did", "kept"} {
			point := step + "." + when
			jobs[point] = e.insert("type, args", "step", "die "+point+";do reserve;do charge;do mail")
		}
	}
	e.waitAll("succeeded 9")
	for point, id := range jobs {
		want := slices.Clone(order)
		if step, when, _ := strings.Cut(point, "."); when == "did" {
			want = slices.Insert(want, slices.Index(want, step), step)
		}
		if got := e.did(id); !slices.Equal(got, want) {
			t.Errorf("killed at %s it did %q, want %q", point, got, want)
		}
		kept := value[string](e, "select string_agg(name, ' ' order by at) from bellhop.step where job = $1", id)
		if kept != "reserve charge mail" || e.job(id).Attempt != 2 {
			t.Errorf("killed at %s it has kept %q in %d attempts", point, kept, e.job(id).Attempt)
		}
	}
}

// The same when the scheduler is killed: the run that it lost counts as no attempt.
func TestSteps_AnAgentGoesOnWhenItsSchedulerWasKilled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for _, point := range []string{"charge.begun", "charge.did", "charge.kept"} {
		i := e.serve(e.stepping(1))
		id := e.insert("type, args", "step", "hang "+point+";do reserve;do charge;do mail")
		e.marked(fmt.Sprintf("%s.%d", point, id))
		i.kill()
		next := e.serve(e.stepping(1))
		if j := e.waitState(id, "succeeded"); j.Attempt != 1 {
			t.Errorf("%s: it took %d attempts", point, j.Attempt)
		}
		next.stop()
		want := []string{"reserve", "charge", "mail"}
		if strings.HasSuffix(point, "did") {
			want = slices.Insert(want, 1, "charge")
		}
		if got := e.did(id); !slices.Equal(got, want) {
			t.Errorf("killed at %s it did %q, want %q", point, got, want)
		}
		if n := value[int](e, "select count(*) from bellhop.step where job = $1", id); n != 3 {
			t.Errorf("killed at %s it has kept %d steps", point, n)
		}
	}
}

// Law: a job that sleeps, or awaits an event, has no slot and no process, and no attempt is counted of it.
func TestSteps_AJobThatRestsHoldsNoSlot(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(1))
	other := func() {
		t.Helper()
		e.waitState(e.insert("type, args", "step", "do it"), "succeeded")
	}
	waits := e.insert("type, args", "step", "do charge;await paid.1 2d;do mail")
	e.because(waits, "awaits_event")
	other()
	e.ok("emit", "paid.1", `{"amount":7}`)
	j := e.waitState(waits, "succeeded")
	if got := e.result(waits); j.Attempt != 1 || !strings.Contains(got, `"event": {"amount": 7}`) ||
		!strings.Contains(got, `"charge": {"attempt": 1}`) {
		t.Errorf("%+v gives back %s", j, got)
	}
	if got := e.did(waits); !slices.Equal(got, []string{"charge", "mail"}) {
		t.Errorf("it did %q", got)
	}

	e.ok("emit", "paid.2", "8") // before it is awaited
	early := e.insert("type, args", "step", "await paid.2")
	e.waitState(early, "succeeded")
	if got := e.result(early); !strings.Contains(got, `"event": 8`) {
		t.Errorf("it gives back %s", got)
	}

	ever := e.insert("type, args", "step", "await paid.3")
	e.because(ever, "awaits_event/ever")
	other()
	e.ok("edit", strconv.FormatInt(ever, 10), "--at", "now")
	e.waitState(ever, "succeeded")
	if got := e.result(ever); !strings.Contains(got, `"event": null`) || !strings.Contains(got, `"timed_out": true`) {
		t.Errorf("it gives back %s", got)
	}

	sleeps := e.insert("type, args", "step", "sleep 3d;do it;sleep 1ms;do that")
	e.because(sleeps, "sleeps")
	has(t, e.logged(sleeps), "it sleeps for 72h0m0s, and this does not count as an attempt")
	other()
	e.ok("edit", strconv.FormatInt(sleeps, 10), "--at", "now")
	j = e.waitState(sleeps, "succeeded")
	if got := e.did(sleeps); j.Attempt != 1 || !slices.Equal(got, []string{"it", "that"}) {
		t.Errorf("%+v did %q", j, got)
	}
	if got := e.result(sleeps); strings.Contains(got, "event") || !strings.Contains(got, `"sleep.2"`) {
		t.Errorf("it gives back %s", got)
	}
}

// A job that is cancelled while it rests is over at once, and one that is asked to stop does not rest.
func TestSteps_AJobThatRestsIsCancelled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(1))
	id := e.insert("type, args", "step", "sleep 3d")
	e.because(id, "sleeps")
	e.ok("cancel", strconv.FormatInt(id, 10))
	e.waitState(id, "cancelled")
}

// A job that keeps its locks while it rests is the only one that has them until its next run ends; of one that does not
// keep them they are free.
func TestSteps_AJobThatRestsKeepsItsLocks(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(3))
	rest := func(args, lock string) (id, other int64) {
		t.Helper()
		id = e.insert("type, args, locks", "step", args, []string{lock})
		e.because(id, "awaits_event/ever")
		return id, e.insert("type, args, locks", "step", "do it", []string{lock})
	}
	_, other := rest(`await paid`, "free:1=exclusive")
	e.waitState(other, "succeeded")

	keeps, other := rest(`say {"await":{"event":"sent"},"keep_locks":true}`, "kept:1=exclusive")
	e.because(other, "lock_held")
	has(t, e.ok("explain", strconv.FormatInt(keeps, 10)), "It keeps its locks.")
	has(t, e.logged(keeps), `it awaits event "sent" and keeps its locks, and this does not count as an attempt`)
	e.ok("cancel", strconv.FormatInt(keeps, 10))
	e.waitState(other, "succeeded")
}

// What cannot be kept, or awaited, fails the attempt, and says why, and what to write.
func TestSteps_WhatCannotBeIsTold(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(2))
	large := `say {"step":{"name":"x","output":"` + strings.Repeat("x", 1<<20) + `"}}`
	for args, want := range map[string]string{
		`say {"step":{"name":"x","output":1}};say {"step":{"name":"x","output":2}}`: "has kept step x with another output",
		`say {"step":{"name":"","output":1}}`:                                       "a step wants a name of 1 to 200 characters",
		`say {"step":{"name":"sleep.1"}}`:                                           "the name sleep.1 is bellhop's own",
		`say {"step":{"output":1}}`:                                                 `write {"step":{"name":"charge","output":{"receipt":7}}}`,
		`say {"step":7}`:                                                            "has no name",
		large:                                                                       "a step of more than 1 MiB",
	} {
		id := e.insert("type, args, max_attempts", "step", args, 1)
		j := e.waitState(id, "failed")
		if has(t, j.Error, "step_refused: ", want); t.Failed() {
			t.Fatalf("%.80s: %s", args, j.Error)
		}
		e.because(id, "step_refused")
	}
	for args, want := range map[string]string{
		`say {"sleep":"soon"}`:                     `write {"sleep":"3d"}`,
		`say {"sleep":"400d"}`:                     "is not between 1ms and",
		`say {"await":{"timeout":"2d"}}`:           `write {"await":{"event":"paid.42","timeout":"2d"}}`,
		`say {"await":{"event":"two\nlines"}}`:     "an event has a name of 1 to 190 characters on one line",
		`say {"await":{"event":"x","timeout":-1}}`: "the timeout of",
		`say {"sleep":1,"await":{"event":"x"}}`:    "write one of them",
		`say {"sleep":1,"keep_locks":"yes"}`:       `"keep_locks" is "\"yes\"", and neither true nor false`,
	} {
		j := e.waitState(e.insert("type, args, max_attempts", "step", args, 1), "failed")
		has(t, j.Error, want)
	}
}

// pidAt is the process that has come to a point.
func (e *env) pidAt(point string, id int64) int {
	e.t.Helper()
	e.marked(fmt.Sprintf("%s.%d", point, id))
	var pid int
	pgtest.Eventually(e.t, patience, "it has written its process", func() bool {
		text, _ := os.ReadFile(filepath.Join(e.dir, fmt.Sprintf("%s.%d", point, id)))
		n, err := strconv.Atoi(string(text))
		pid = n
		return err == nil
	})
	return pid
}

// An agent that is killed from outside goes on, too.
func TestSteps_AnAgentIsKilledFromOutside(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(1))
	id := e.insert("type, args", "step", "hang charge.kept;do reserve;do charge;do mail")
	if err := syscall.Kill(e.pidAt("charge.kept", id), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e.waitState(id, "succeeded")
	if got := e.did(id); !slices.Equal(got, []string{"reserve", "charge", "mail"}) {
		t.Errorf("it did %q", got)
	}
}

// The agent in bash on the page does each part of an order once, and awaits the parcel without a slot.
func TestSteps_AnAgentInBash(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("NOT TESTED: an agent in bash that reads JSON; type `apt-get install jq`")
	}
	agent := example(t, "../../agents/examples/order.sh")
	text, err := os.ReadFile(agent)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	if has(t, string(page), strings.TrimPrefix(string(text), "#!/bin/bash\n")); t.Failed() {
		t.Fatal("the page has another agent")
	}
	e := setup(t)
	for _, part := range []string{"reserve", "charge", "mail"} {
		e.file(part, fmt.Sprintf("#!/bin/sh\n[ \"$1\" = bad ] && exit 3\necho %s $1 >> did\necho receipt of %[1]s\n", part), 0o755)
	}
	e.serve(quick(1) + agents(fmt.Sprintf("type: order, command: [%s], dialect: json, workdir: %s", agent, e.dir)))
	id := e.insert("type, args", "order", "42")
	e.because(id, "awaits_event")
	bad := e.waitState(e.insert("type, args", "order", "bad"), "failed")
	has(t, bad.Error+e.ok("show", "2", "-o", "json"), "reserve failed")
	e.ok("emit", "parcel.42")
	e.waitState(id, "succeeded")
	if got := e.lines("did"); !slices.Equal(got, []string{"reserve 42", "charge 42", "mail 42"}) {
		t.Errorf("it did %q", got)
	}
	got := value[string](e, "select string_agg(name || ' ' || output, ', ' order by at) from bellhop.step where job = $1 and name !~ '[.]'", id)
	if got != `reserve "receipt of reserve", charge "receipt of charge", mail "receipt of mail"` {
		t.Errorf("it has kept %s", got)
	}
}

// `retry` goes on behind the last step, `retry --from` at a step; `show` tells of them.
func TestSteps_AreShownAndRetriedFrom(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.stepping(1))
	id := e.insert("type, args", "step", "do reserve;do charge;do mail")
	job := strconv.FormatInt(id, 10)
	e.waitState(id, "succeeded")
	has(t, e.ok("show", job), "STEP ", "charge ", `{"attempt": 1}`)
	has(t, e.ok("show", job, "-o", "json"), `"name": "charge"`)
	e.ok("retry", job)
	e.eventually("it has run again", "select attempt = 2 and state = 'succeeded' from bellhop.jobqueue where id = $1", id)
	if got := e.did(id); len(got) != 3 {
		t.Errorf("a retry did %q", got)
	}
	if r := e.run("retry", "--from", "none", job); r.code != 2 {
		t.Errorf("a step that is not kept: %d, %s", r.code, r.stderr)
	} else {
		has(t, r.stderr, "has kept no step none", "reserve, charge, mail")
	}
	e.ok("retry", "--from", "charge", job)
	e.eventually("it has run again", "select attempt = 3 and state = 'succeeded' from bellhop.jobqueue where id = $1", id)
	if got := e.did(id); !slices.Equal(got, []string{"reserve", "charge", "mail", "charge", "mail"}) {
		t.Errorf("a retry from charge did %q", got)
	}
}

// An agent of mode exec rests by a line on stdout, and ends; its exit code does not matter then.
func TestSteps_AnExecAgentRests(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(quick(1) + agents(fmt.Sprintf("type: sh, command: [sh, -c], mode: exec, stdout: json, workdir: %s", e.dir)))
	id := e.insert("type, args", "sh", `[ -e mark ] || { touch mark; echo '{"await":{"event":"go"}}'; exit 3; }`)
	e.because(id, "awaits_event/ever")
	e.ok("emit", "go")
	if j := e.waitState(id, "succeeded"); j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
}
