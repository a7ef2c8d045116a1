package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// lockAsker is an agent of the json dialect that does what its line says, step by
// step: lock, any, unlock; mark and wait, of files; alone holds a file's lock, so
// that two who have the same at once are seen by the kernel.
const lockAsker = `#!/usr/bin/env python3
import fcntl, json, os, sys, time
d = os.environ["DIR"]
def say(**what):
    print(json.dumps(what), flush=True)
def ask(**what):
    say(**what)
    reply = json.loads(sys.stdin.readline())
    say(log=json.dumps(reply))
    return reply
def work(steps):
    kept = []
    for step in steps.split(";"):
        word, *rest = step.split()
        reply = {}
        if word == "lock":
            reply = ask(lock=rest)
        elif word == "any":
            reply = ask(lock={"any": int(rest[0]), "of": rest[1:]})
        elif word == "unlock":
            reply = ask(unlock=rest)
        elif word == "say":
            reply = ask(**json.loads(" ".join(rest)))
        elif word == "mark":
            open(os.path.join(d, rest[0]), "w").close()
        elif word == "wait":
            while not os.path.exists(os.path.join(d, rest[0])):
                time.sleep(0.01)
        elif word == "sulk":
            time.sleep(1000)
        elif word == "alone":
            f = open(os.path.join(d, "alone." + rest[0]), "w")
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                with open(os.path.join(d, "conflicts"), "a") as c:
                    c.write(steps + "\n")
            kept.append(f)
            time.sleep(0.02)
        if "failed" in reply:
            if rest[-1:] == ["stubborn:x=exclusive"]:
                time.sleep(1000)
            return say(fail="the agent gives up")
    for f in kept:
        f.close()
    say(ok=True)
say(bellhop=1)
for line in iter(sys.stdin.readline, ""):
    work(json.loads(line)["args"])
`

// asker is the configuration of an instance with that agent.
func (e *env) asker(slots int) string {
	return quick(slots) + agents(fmt.Sprintf("type: ask, command: [%s], dialect: json, env: {DIR: %s, HOME: %s}",
		e.file("asker", lockAsker, 0o755), e.dir, e.dir))
}

func (e *env) mark(name string) { e.file(name, "", 0o644) }

func (e *env) marked(name string) {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, name+" is there", func() bool {
		_, err := os.Stat(filepath.Join(e.dir, name))
		return err == nil
	})
}

func (e *env) waitsForLock(id int64) {
	e.t.Helper()
	e.eventually("it waits for a lock",
		"select state = 'assigned' and waiting_for like 'lock_held: %' from bellhop.jobqueue where id = $1", id)
}

// TestAskedLocks_NeverTogether: jobs of two instances ask for the same lock while they
// run; one that declares it takes part.
func TestAskedLocks_NeverTogether(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.asker(3))
	e.serve(e.asker(3))
	const steps = "lock db:orders=exclusive; alone orders"
	e.sql("insert into bellhop.jobqueue (type, args) select 'ask', $1 from generate_series(1, 20)", steps)
	e.sql("insert into bellhop.jobqueue (type, args, locks) select 'ask', 'alone orders', '{db:orders=exclusive}' from generate_series(1, 5)")
	e.waitAll("succeeded 25")
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("%d had it together", len(conflicts))
	}
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
}

// TestAskedLocks_WaitsAssignedAndSaysForWhom: and unlock lets it go on.
func TestAskedLocks_WaitsAssignedAndSaysForWhom(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.asker(1))
	first := e.insert("type, args", "ask", "lock db:a=exclusive; mark has; wait free; unlock db:a; mark freed; wait end")
	e.marked("has")
	e.serve(e.asker(1))
	second := e.insert("type, args", "ask", "lock db:a=shared db:b=exclusive; mark second; wait end")
	e.waitsForLock(second)
	e.because(second, "lock_held/asked", fmt.Sprintf("job %d has db:a=exclusive", first))
	e.mark("free")
	e.marked("second")
	e.eventually("it runs again", "select state = 'running' and waiting_for is null from bellhop.jobqueue where id = $1", second)
	has(t, strings.Join(column[string](e, "select level || ':' || name || '=' || mode from bellhop.lock order by 1"), " "),
		"db:a=shared db:b=exclusive")
	e.mark("end")
	e.waitAll("succeeded 2")
}

// TestLocks_ExplainedDownToWhoRuns: one job needs another, which needs a lock of a third, whose agent asked for a lock
// of the one that runs.
func TestLocks_ExplainedDownToWhoRuns(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.asker(3))
	runs := e.insert("type, args", "ask", "lock db:b=exclusive; mark has; wait free")
	e.marked("has")
	asks := e.insert("type, args, locks", "ask", "lock db:b=shared", "{db:a=exclusive}")
	e.waitsForLock(asks)
	ready := e.insert("type, args, locks", "ask", "mark ready", "{db:a=shared}")
	e.because(ready, "lock_held", "db:a=exclusive", fmt.Sprintf("job %d", asks))
	needs := value[int64](e, "select bellhop.submit('ask', args => 'mark needs', after => array[$1::bigint])", ready)
	chain := e.because(needs, "chain",
		fmt.Sprintf("waits for job %d (ask), which is ready; that one waits for job %d (ask), which has begun since ", ready, asks),
		fmt.Sprintf(" and holds db:a=exclusive; that one waits for job %d (ask), which runs since ", runs), " and holds db:b=exclusive")
	has(t, e.typed(chain), fmt.Sprintf("job %d (ask) is running", runs))
	e.because(asks, "lock_held/asked")
	e.saysNoMore(asks, "chain") // one blocker is told already
	e.mark("free")
	e.waitAll("succeeded 4")
}

// TestAskedLocks_ComesBeforeReadyJobs: what a running job waits for is not given to
// one that is ready.
func TestAskedLocks_ComesBeforeReadyJobs(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.asker(4))
	e.insert("type, args", "ask", "lock db:a=exclusive; mark has; wait free")
	e.marked("has")
	ready := e.insert("type, args, locks", "ask", "mark ready", "{db:a=exclusive}")
	e.because(ready, "lock_held", "db:a=exclusive")
	asks := e.insert("type, args", "ask", "lock db:a=exclusive; mark asked; wait end")
	e.waitsForLock(asks)
	e.mark("free")
	e.marked("asked")
	if s := e.state(ready); s != "ready" {
		t.Errorf("the ready job is %s", s)
	}
	e.mark("end")
	e.waitAll("succeeded 3")
}

// TestAskedLocks_ACircleIsBroken: two jobs of two instances wait for each other. The
// younger fails, with the circle in its error, and the older goes on; so it is when
// the agent does not obey.
func TestAskedLocks_ACircleIsBroken(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"db:a=exclusive", "db:a=exclusive stubborn:x=exclusive"} {
		t.Run(strings.Fields(last + " plain")[1], func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			e.serve(e.asker(1))
			older := e.insert("type, args", "ask", "lock db:a=exclusive; mark a; wait go; lock db:b=exclusive")
			e.marked("a")
			e.serve(e.asker(1))
			younger := e.insert("type, args", "ask", "lock db:b=exclusive; mark b; wait go; lock "+last)
			e.marked("b")
			began := time.Now()
			e.mark("go")
			e.waitState(younger, "failed")
			e.waitState(older, "succeeded")
			t.Logf("broken after %s", time.Since(began))
			has(t, e.ok("show", fmt.Sprint(younger)), "deadlock: ",
				fmt.Sprintf("job %d waits for db:a=exclusive, and job %d has", younger, older),
				fmt.Sprintf("job %d waits for db:b=exclusive, and job %d has", older, younger))
			if n := value[int](e, "select deaths from bellhop.jobqueue where id = $1", younger); n != 0 {
				t.Errorf("%d deaths are counted", n)
			}
			e.insert("type, args", "ask", "mark after")
			e.waitAll("succeeded 2, failed 1")
		})
	}
}

// TestAskedLocks_TooFewIsTriedAgain: who asks for any two of three and finds one free has
// no attempt, and comes again.
func TestAskedLocks_TooFewIsTriedAgain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.asker(2))
	e.insert("type, args", "ask", "lock node:a=exclusive node:b=exclusive; mark has; wait free")
	e.marked("has")
	id := e.insert("type, args", "ask", "any 2 node:a=exclusive node:b=exclusive node:c=exclusive; mark got; wait end")
	e.because(id, "no_resources", "2 of node:a=exclusive, node:b=exclusive, node:c=exclusive are wanted, and 1 free")
	e.eventually("it has come a second time", "select fence > 1 from bellhop.jobqueue where id = $1", id)
	e.mark("free")
	e.marked("got")
	if n := value[int](e, "select count(*) from bellhop.lock where job = $1", id); n != 2 {
		t.Errorf("it holds %d", n)
	}
	e.mark("end")
	e.waitAll("succeeded 2")
	if n := value[int](e, "select attempt from bellhop.jobqueue where id = $1", id); n != 1 {
		t.Errorf("%d attempts are counted", n)
	}
	has(t, e.logged(id), "no_resources: 2 of node:a=exclusive", "this does not count as an attempt")
}

// TestAskedLocks_TheHoldersInstanceIsKilled: what it held is free.
func TestAskedLocks_TheHoldersInstanceIsKilled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	victim := e.serve(e.asker(1))
	e.insert("type, args", "ask", "lock db:a=exclusive; mark has; wait end")
	e.marked("has")
	e.serve(e.asker(2))
	second := e.insert("type, args", "ask", "lock db:a=exclusive; mark second")
	e.waitsForLock(second)
	victim.kill()
	e.waitState(second, "succeeded")
	e.mark("end")
	e.waitAll("succeeded 2")
}

// TestAskedLocks_WhatIsWrongIsRefused: the job goes on, and holds nothing that it had not.
func TestAskedLocks_WhatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(e.asker(1))
	cases := []struct{ step, says string }{
		{"lock db:a", "write db:a=exclusive, or db:a=shared"},
		{"lock node:?=exclusive", "has to say which one"},
		{"lock rate-limit:x=shared", "bellhop's own"},
		{"lock db:a=exclusive db:b=nonsense", "not a valid mode"},
		{"unlock db:x", "does not hold db:x"},
		{"any 2 db:a=exclusive", "any is 2, and of names 1"},
		{`say {"lock":7}`, "neither a list"},
		{`say {"lock":[]}`, "names none"},
		{`say {"unlock":"db:a"}`, "not a list"},
		{`say {"lock":["db:a=shared"],"unlock":["db:a"]}`, "write two"},
	}
	var steps []string
	for _, c := range cases {
		steps = append(steps, c.step)
	}
	steps = append(steps, "lock db:up=shared", "lock db:up=exclusive", "lock db:up=shared", "mark all", "wait end")
	id := e.insert("type, args", "ask", strings.Join(steps, ";"))
	e.marked("all")
	if held := strings.Join(column[string](e, "select level || ':' || name || '=' || mode from bellhop.lock"), " "); held != "db:up=exclusive" {
		t.Errorf("it holds %q", held)
	}
	e.mark("end")
	e.waitState(id, "succeeded")
	log := e.logged(id)
	for _, c := range cases {
		has(t, log, c.says)
	}
}
