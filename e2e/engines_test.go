package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// farEngine is an engine of a test's own: what is submitted is a file in its folder, and the test says how it fares. It
// counts every call, and tells of every tag that comes a second time.
type farEngine struct {
	e   *env
	dir string
}

const farScript = `
F=$DIR/far
op=$1; shift
echo "$op" >> "$F/calls"
[ -e "$F/down" ] && { echo "the engine is down" >&2; exit 1; }
[ -e "$F/odd" ] && { echo "Welcome to the cluster!"; exit 0; }
[ -e "$F/hang" ] && exec sleep 1000
case $op in
submit)
	tag=$1; shift
	[ -e "$F/refuse" ] && { echo "no such partition" >&2; exit 65; }
	[ -e "$F/hang-before" ] && { echo "$tag" >> "$F/hung"; exec sleep 1000; }
	[ -e "$F/jobs/$tag" ] && echo "$tag" >> "$F/twice"
	printf '%s\n' "$*" > "$F/new.$tag" && mv "$F/new.$tag" "$F/jobs/$tag" # whoever sees it can read all of it
	[ -e "$F/hang-after" ] && { echo "$tag" >> "$F/hung"; exec sleep 1000; }
	echo "id-$tag" ;;
find) while read -r tag id; do [ -e "$F/jobs/$tag" ] && echo "$tag id-$tag"; done; true ;;
poll) while read -r tag id; do
		if [ -e "$F/state/$tag" ]; then read -r s < "$F/state/$tag"; echo "$tag $s"
		elif [ -e "$F/jobs/$tag" ]; then if [ -e "$F/all" ]; then read -r s < "$F/all"; else s=running; fi; echo "$tag $s"; fi
	done; true ;;
kill) while read -r tag id; do
		if [ -n "$BELLHOP_OVER" ]; then rm -f "$F/jobs/$tag" "$F/state/$tag"
		else echo "$tag" >> "$F/killed"; echo "failed 143 killed" > "$F/state/$tag"; fi
	done ;;
logs) if [ -e "$F/wrote" ]; then cat "$F/wrote"; else echo "this is what $1 wrote"; fi ;;
esac
`

func newFarEngine(e *env) *farEngine {
	f := &farEngine{e: e, dir: filepath.Join(e.dir, "far")}
	for _, d := range []string{"jobs", "state"} {
		if err := os.MkdirAll(filepath.Join(f.dir, d), 0o755); err != nil {
			e.t.Fatal(err)
		}
	}
	e.script("engine.sh", farScript)
	return f
}

// config is an agent of type far on it, with more keys.
func (f *farEngine) config(more string) string {
	var ops []string
	for _, op := range []string{"submit", "find", "poll", "kill", "logs"} {
		ops = append(ops, fmt.Sprintf("%s: [%s/engine.sh, %s]", op, f.e.dir, op))
	}
	return fmt.Sprintf("agents:\n  - {type: far, mode: engine, poll_every: 200ms, %s%s}\n", strings.Join(ops, ", "), more)
}

func (f *farEngine) put(name, text string) {
	f.e.t.Helper()
	// In one step: whoever reads it reads all of it.
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path+".new", []byte(text+"\n"), 0o644); err != nil {
		f.e.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.e.t.Fatal(err)
	}
}

func (f *farEngine) remove(name string) {
	f.e.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		f.e.t.Fatal(err)
	}
}

func (f *farEngine) calls(op string) (n int) {
	for _, line := range f.e.lines("far/calls") {
		if line == op {
			n++
		}
	}
	return n
}

func (f *farEngine) has(tag string) bool {
	_, err := os.Stat(filepath.Join(f.dir, "jobs", tag))
	return err == nil
}

// onlyOnce checks that no tag was ever submitted twice, and that there was one for each job.
func (f *farEngine) onlyOnce(submits int) {
	f.e.t.Helper()
	if twice := f.e.lines("far/twice"); twice != nil {
		f.e.t.Errorf("submitted twice: %v", twice)
	}
	if n := f.calls("submit"); n != submits {
		f.e.t.Errorf("submit was called %d times, not %d", n, submits)
	}
}

func (f *farEngine) wait(reason string, is func() bool) {
	f.e.t.Helper()
	pgtest.Eventually(f.e.t, patience, reason, is)
}

func tagOf(id int64, fence int) string { return fmt.Sprintf("bellhop-%d-%d", id, fence) }

// A job runs elsewhere: its argument is there, what it gives back and wrote is here, and nothing is left.
func TestEngine_RunsAJob(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	e.serve(f.config(", command: [align, -x]"))
	good, bad := e.insert("type, args", "far", "a b"), e.insert("type", "far")
	f.wait("both are there", func() bool { return f.has(tagOf(good, 1)) && f.has(tagOf(bad, 1)) })
	if got := e.lines("far/jobs/" + tagOf(good, 1)); len(got) != 1 || got[0] != "align -x a b" {
		t.Errorf("submitted was %q", got)
	}
	e.because(good, "on_engine", tagOf(good, 1))
	pgtest.Eventually(t, patience, "explain tells where it runs", func() bool {
		return strings.Contains(e.ok("explain", fmt.Sprint(good)), "tag "+tagOf(good, 1)+" (there: id-"+tagOf(good, 1)+"): running there since")
	})
	f.put("state/"+tagOf(good, 1), `succeeded 0 {"pages": 4}`)
	f.put("state/"+tagOf(bad, 1), `failed 3 out of memory`)
	if out := e.ok("wait", fmt.Sprint(good)); !strings.Contains(out, `{"pages": 4}`) {
		t.Errorf("it gave back %q", out)
	}
	if j := e.waitState(bad, "failed"); j.ExitCode != 3 || j.Error != "exit status 3: out of memory" || j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	has(t, e.logged(good), "out: this is what "+tagOf(good, 1)+" wrote")
	has(t, e.ok("show", fmt.Sprint(good)), "engine:far", tagOf(good, 1), "id-"+tagOf(good, 1))
	f.wait("nothing is left there", func() bool { return !f.has(tagOf(good, 1)) && !f.has(tagOf(bad, 1)) })
	e.eventually("the tags are over", "select count(*) = 2 from bellhop.engine_job where state = 'over'")
	f.onlyOnce(2)
	if n := value[int](e, "select count(*) from bellhop.child where state <> 'FREE'"); n != 0 {
		t.Errorf("%d children", n)
	}
}

// logs -f shows what a job writes elsewhere while it runs: each line once, also when another instance watches it
// meanwhile.
func TestEngine_LogsAsTheyCome(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	f.put("wrote", "one")
	first := e.serve(f.config(""))
	id := e.insert("type", "far")
	e.eventually("it runs there", "select count(*) = 1 from bellhop.engine_job where stage = 'running'")
	if n := f.calls("logs"); n > 0 {
		t.Errorf("logs was called %d times, and nobody reads", n)
	}
	done := make(chan result, 1)
	go func() { done <- e.run("logs", "-f", fmt.Sprint(id)) }()
	there := func(n int) {
		t.Helper()
		e.eventually(fmt.Sprintf("%d lines are there", n),
			"select count(*) = $2 from bellhop.log where job = $1 and level = 'out'", id, n)
	}
	there(1)
	f.put("wrote", "one\ntwo")
	there(2)
	first.stop()
	second := e.serve(f.config(""))
	e.eventually("the second has it", "select state = 'running' and instance = $2 from bellhop.jobqueue where id = $1", id, second.id)
	f.put("wrote", "one\ntwo\nthree")
	there(3)
	f.put("wrote", "one\ntwo\nthree\nfour")
	f.put("state/"+tagOf(id, 1), "succeeded")
	r := <-done
	if r.code != 0 || r.stdout != "one\ntwo\nthree\nfour\n" {
		t.Errorf("logs -f: exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	f.onlyOnce(1)
}

// submit says that it can never be: no other try. A failed attempt has another tag.
func TestEngine_RefusedAndTriedAgain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	f.put("refuse", "")
	e.serve(f.config(", retry: {attempts: 2, first: 10ms}"))
	refused := e.insert("type", "far")
	if j := e.waitState(refused, "failed"); j.Attempt != 1 || j.Error != "engine_refused: submit says that it cannot be done: no such partition" {
		t.Errorf("%+v", j)
	}
	e.because(refused, "engine_refused", "no such partition")
	f.remove("refuse")
	again := e.insert("type", "far")
	f.wait("it is there", func() bool { return f.has(tagOf(again, 1)) })
	f.put("state/"+tagOf(again, 1), "failed 1 once")
	f.wait("its second attempt is there", func() bool { return f.has(tagOf(again, 2)) })
	f.put("state/"+tagOf(again, 2), "succeeded")
	if j := e.waitState(again, "succeeded"); j.Attempt != 2 {
		t.Errorf("%+v", j)
	}
}

func TestEngine_CancelAndTimeoutKill(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	e.serve(f.config(""))
	id, late := e.insert("type", "far"), e.insert("type, timeout", "far", "1 s")
	f.wait("they are there", func() bool { return f.has(tagOf(id, 1)) && f.has(tagOf(late, 1)) })
	e.ok("cancel", fmt.Sprint(id))
	e.waitState(id, "cancelled")
	if j := e.waitState(late, "failed"); !strings.HasPrefix(j.Error, "timeout: after 1s") {
		t.Errorf("%+v", j)
	}
	killed := e.lines("far/killed")
	if !slices.Contains(killed, tagOf(id, 1)) || !slices.Contains(killed, tagOf(late, 1)) {
		t.Errorf("killed: %v", killed)
	}
	f.onlyOnce(2)
}

// The instance is killed at each point of a submission: before the call's work is done, and after. The next one finds
// what is there, and submits what is not; nothing is ever there twice, and no attempt is counted for it.
func TestEngine_KilledWhileItSubmits(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]bool{"hang-before": false, "hang-after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			f := newFarEngine(e)
			f.put(name, "")
			first := e.serve(f.config(""))
			id := e.insert("type", "far")
			f.wait("submit hangs", func() bool { return e.lines("far/hung") != nil })
			got := value[string](e, "select state from bellhop.engine_job where tag = $1", tagOf(id, 1))
			if got != "submitting" {
				t.Errorf("the tag is %s", got)
			}
			if f.has(tagOf(id, 1)) != there {
				t.Errorf("it is there: %v", !there)
			}
			first.kill()
			f.remove(name)
			e.serve(f.config(""))
			f.wait("it is there", func() bool { return f.has(tagOf(id, 1)) })
			f.put("state/"+tagOf(id, 1), "succeeded")
			if j := e.waitState(id, "succeeded"); j.Attempt != 1 || j.Fence != 2 {
				t.Errorf("%+v", j)
			}
			submits := 2
			if there {
				submits = 1
			}
			f.onlyOnce(submits)
			if f.has(tagOf(id, 2)) {
				t.Error("it has a second tag")
			}
		})
	}
}

// An instance dies, one is stopped: what runs elsewhere goes on, and whoever comes watches it, in no attempt of its
// own.
func TestEngine_WatchedByWhoeverComes(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	first := e.serve(f.config(""))
	id := e.insert("type", "far")
	e.eventually("it runs there", "select count(*) = 1 from bellhop.engine_job where stage = 'running'")
	first.kill()
	second := e.serve(f.config(""))
	e.eventually("the second has it", "select state = 'running' and instance = $2 from bellhop.jobqueue where id = $1", id, second.id)
	second.stop()
	if got := e.state(id); got != "ready" {
		t.Errorf("it is %s while nobody watches", got)
	}
	e.because(id, "on_engine/left", tagOf(id, 1))
	f.put("state/"+tagOf(id, 1), "succeeded") // while nobody looks
	third := e.serve(f.config(""))
	if j := e.waitState(id, "succeeded"); j.Attempt != 1 || j.Instance != third.id {
		t.Errorf("%+v", j)
	}
	f.onlyOnce(1)
}

// Cancelled while nobody watches: it is killed all the same, as soon as somebody is there.
func TestEngine_WhatNobodyWantsIsKilled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	first := e.serve(f.config(""))
	cancelled, deleted := e.insert("type", "far"), e.insert("type", "far")
	e.eventually("they run there", "select count(*) = 2 from bellhop.engine_job where stage = 'running'")
	first.stop()
	e.ok("cancel", fmt.Sprint(cancelled))
	e.sql("delete from bellhop.jobqueue where id = $1", deleted)
	e.serve(f.config(""))
	f.wait("they are gone", func() bool { return !f.has(tagOf(cancelled, 1)) && !f.has(tagOf(deleted, 1)) })
	e.eventually("so is the row of the deleted one", "select array_agg(tag || state) = array[$1 || 'over'] from bellhop.engine_job", tagOf(cancelled, 1))
	f.onlyOnce(2)
}

// An engine that is down, or talks nonsense: told, asked ever more seldom, and nothing is lost or taken for lost.
func TestEngine_Down(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	e.serve(f.config(", lost_after: 1s, submit_timeout: 2s"))
	runs := e.insert("type", "far")
	e.eventually("it runs there", "select count(*) = 1 from bellhop.engine_job where stage = 'running'")
	f.put("odd", "")
	asked := f.calls("poll")
	f.wait("it was asked", func() bool { return f.calls("poll") > asked })
	f.put("down", "")
	f.remove("odd")
	more := e.insert("type", "far")
	pgtest.Eventually(t, patience, "agents tells of it", func() bool { return strings.Contains(e.ok("agents"), "the engine is down") })
	asked, submits := f.calls("poll"), f.calls("submit")
	f.wait("it is asked again", func() bool { return f.calls("poll") >= asked+2 })
	if n := f.calls("submit") - submits; n > 4 {
		t.Errorf("submit was called %d times meanwhile", n)
	}
	if got := e.state(runs); got != "running" {
		t.Errorf("what ran there is %s", got)
	}
	f.remove("down")
	f.wait("the other is there", func() bool { return f.has(tagOf(more, 1)) })
	f.put("all", "succeeded")
	e.waitAll("succeeded 2")
	if twice := e.lines("far/twice"); twice != nil {
		t.Errorf("submitted twice: %v", twice)
	}
}

// Seen and not seen any more: failed, with a word of its own.
func TestEngine_Lost(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	e.serve(f.config(", lost_after: 1s"))
	id := e.insert("type", "far")
	e.eventually("it runs there", "select count(*) = 1 from bellhop.engine_job where stage = 'running'")
	f.remove("jobs/" + tagOf(id, 1))
	if j := e.waitState(id, "failed"); j.Error != "engine_lost: the engine does not know it any more" {
		t.Errorf("%+v", j)
	}
	e.because(id, "engine_lost")
}

// A submit that never comes back: it is ended, and the job with it when its time is over.
func TestEngine_NeverTaken(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	f.put("hang-before", "")
	e.serve(f.config(", submit_timeout: 1s, call_timeout: 500ms"))
	id := e.insert("type", "far")
	if j := e.waitState(id, "failed"); !strings.HasPrefix(j.Error, "submission_timeout: ") {
		t.Errorf("%+v", j)
	}
	e.because(id, "submission_timeout")
}

// A thousand jobs on an engine: the number of calls that ask about them hangs on time, and not on them.
func TestEngine_ManyJobsFewCalls(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	const jobs = 1000
	e.sql("insert into bellhop.jobqueue (type) select 'far' from generate_series(1, $1)", jobs)
	first := e.serve(f.config(", submits: 8"))
	e.eventually("all run there", "select count(*) = 1000 from bellhop.engine_job where stage = 'running'")
	f.onlyOnce(jobs)
	first.kill() // and all are found again
	before := f.calls("poll") + f.calls("find")
	second := e.serve(f.config(""))
	e.eventually("all are watched again", "select count(*) = 1000 from bellhop.jobqueue where state = 'running' and instance = $1", second.id)
	f.put("all", "succeeded")
	e.waitAll("succeeded 1000")
	f.onlyOnce(jobs)
	if n := f.calls("poll") + f.calls("find") - before; n > 300 {
		t.Errorf("%d calls asked about them", n)
	}
	t.Logf("%d calls of poll and find for %d jobs", f.calls("poll")+f.calls("find"), jobs)
}
