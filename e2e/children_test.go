package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// A film makes three cuts and awaits their ends. The second cut fails. Each cut waits for a file.
const (
	pythonFilm = `
import os, psycopg, sys, time
sys.path.insert(0, %q)
import bellhop

def film(job):
    assert job.children() == []
    ends = job.children(*({"type": "cut", "args": {"n": n}} for n in range(3)))
    job.finish([(end["state"], end.get("result"), "bad frame" in end.get("error", "")) for end in ends])

def cut(job):
    while not os.path.exists(%q):
        time.sleep(0.01)
    if job.args["n"] == 1:
        raise ValueError("bad frame")
    job.finish(job.args["n"])

bellhop.work(psycopg.connect(os.environ["DATABASE_URL"]), {"film": film, "cut": cut}, concurrency=2, lease=2)
`
	nodeFilm = `
const bellhop = require(%q + '/bellhop.js')
const { existsSync } = require('fs')
const { Client } = require('pg')
bellhop.work(new Client(process.env.DATABASE_URL), {
  async film (job) {
    if ((await job.children()).length) throw new Error('no children have ends')
    const ends = await job.children(...[0, 1, 2].map(n => ({ type: 'cut', args: { n } })))
    await job.finish(ends.map(end => [end.state, end.result ?? null, (end.error ?? '').includes('bad frame')]))
  },
  async cut (job) {
    while (!existsSync(%q)) await new Promise(resolve => setTimeout(resolve, 10))
    if (job.args.n === 1) throw new Error('bad frame')
    await job.finish(job.args.n)
  }
}, { concurrency: 2, lease: 2 })
`
	// The same for an instance, in the json dialect.
	agentFilm = `#!/usr/bin/env python3
import json, os, sys, time
def say(**what):
    print(json.dumps(what), flush=True)
say(bellhop=1)
for job in map(json.loads, iter(sys.stdin.readline, "")):
    args = json.loads(job.get("args") or "{}")
    if "n" not in args:
        if "children.1" not in job.get("steps", {}):
            say(children=[{"type": "cut", "args": {"n": n}} for n in range(3)])
            continue
        say(result=[(end["state"], end.get("result"), "bad frame" in end.get("error", "")) for end in job["steps"]["children.1"]])
        say(ok=True)
        continue
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    if args["n"] == 1:
        say(fail="bad frame")
    else:
        say(result=args["n"])
        say(ok=True)
`
	filmEnds = `[["succeeded", 0, false], ["failed", null, true], ["succeeded", 2, false]]`
)

// film submits one, waits until its cuts are there, and has them go on after meanwhile. It ends as it should, with
// three cuts, whatever happened.
func (e *env) film(meanwhile func(id int64)) {
	e.t.Helper()
	id := e.insert("type", "film")
	e.eventually("it has children", "select count(*) = 3 from bellhop.jobqueue where type = 'cut'")
	meanwhile(id)
	e.mark("go")
	e.waitState(id, "succeeded")
	if got := column[string](e, fmt.Sprintf("select result::text || ' ' || attempt from bellhop.jobqueue where id = %d", id))[0]; got != filmEnds+" 1" {
		e.t.Errorf("its children ended as %s", got)
	}
	if n := value[int](e, "select count(*)::int from bellhop.jobqueue where type = 'cut'"); n != 3 {
		e.t.Errorf("it made %d children", n)
	}
}

// Agents of an instance: the parent holds no slot while its only slot runs the children, explain and graph say what it
// waits for, and it goes on after its instance was killed.
func TestChildren_OfAnAgent(t *testing.T) {
	t.Parallel()
	e := setup(t)
	script := e.file("film", agentFilm, 0o755)
	agent := func(typ string) string {
		return fmt.Sprintf("type: %s, command: [%s], dialect: json, env: {GO: %s, HOME: %s}", typ, script, e.dir+"/go", e.dir)
	}
	serves := quick(1) + agents(agent("film"), agent("cut"))
	first := e.serve(serves)
	e.film(func(id int64) {
		e.because(id, "blocked", "(cut)")
		has(t, e.logged(id), "it awaits the ends of its child jobs, and this does not count as an attempt")
		has(t, e.ok("graph", strconv.FormatInt(id, 10)), "cut")
		has(t, e.ok("show", strconv.FormatInt(id, 10)), "children.1")
		first.kill()
		e.serve(serves)
	})
}

// A worker's child job may be a query: its parent goes on when all items have run. An agent's may not: it has no rights
// to the database, and could have any row on its stdin.
func TestChildren_AQuery(t *testing.T) {
	t.Parallel()
	e := setup(t)
	sneaks := e.file("sneaks", `#!/bin/sh
echo '{"bellhop":1}'
while read -r job; do echo '{"children":[{"type":"cut","\u006dsq":"select 1 as n"}]}'; done
`, 0o755)
	e.serve(quick(1) + agents(fmt.Sprintf("type: sneaks, command: [%s], dialect: json", sneaks),
		fmt.Sprintf("type: cut, command: [%s], mode: exec, workdir: %s", e.file("cut", "#!/bin/sh\neval \"$1\"; echo $n >>cuts\n", 0o755), e.dir)))
	id := e.insert("type", "film")
	const query = `[{"type": "cut", "msq": "select n from generate_series(1, 50) n"}]`
	e.sql("select bellhop.children(id, fence, $1) from bellhop.take('{film}')", query)
	e.waitState(id, "ready")
	if got := value[string](e, "select steps::text from bellhop.take('{film}')"); !strings.Contains(got, `"state": "succeeded"`) {
		t.Errorf("its child has ended as %s", got)
	}
	cuts, err := os.ReadFile(e.dir + "/cuts")
	if n := len(strings.Fields(string(cuts))); err != nil || n != 50 {
		t.Errorf("%d items have run (%v)", n, err)
	}
	sneaky := e.insert("type", "sneaks")
	e.waitState(sneaky, "failed")
	has(t, e.ok("show", strconv.FormatInt(sneaky, 10)), "an agent's child jobs cannot be queries")
}

// Workers of apps, killed while children run.
func TestChildren_OfWorkers(t *testing.T) {
	t.Parallel()
	for _, lang := range []struct{ name, file, text string }{
		{"Python", "film.py", pythonFilm},
		{"Node", "film.js", nodeFilm},
	} {
		t.Run(lang.name, func(t *testing.T) {
			t.Parallel()
			argv := workerOf(t, lang.name)
			e, address := workerDatabase(t)
			e.sql("grant bellhop_submitter to mailer; insert into bellhop.worker_type values ('mailer', 'film'), ('mailer', 'cut')")
			argv = append(argv, e.file(lang.file, fmt.Sprintf(lang.text, example(t, "../everyday"), e.dir+"/go"), 0o644))
			var out strings.Builder
			start := func() *exec.Cmd {
				cmd := exec.Command(argv[0], argv[1:]...)
				withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+address, "PYTHONDONTWRITEBYTECODE=1")
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = cmd.Process.Kill() // it may be dead
					_ = cmd.Wait()
				})
				return cmd
			}
			first := start()
			e.film(func(int64) {
				if err := first.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				start()
			})
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}
