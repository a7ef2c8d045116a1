package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// lostRun checks that a run that was lost is told of everywhere, and counts as no attempt.
func (e *env) lostRun(id int64, reason string) {
	e.t.Helper()
	told := "lost: " + reason
	has(e.t, e.ok("show", fmt.Sprint(id)), told, ", given back", "1 of 1")
	has(e.t, e.ok("trace", fmt.Sprint(id)), told, "lost run", "attempt 1")
	has(e.t, e.run("logs", fmt.Sprint(id)).stderr, told)
	has(e.t, e.ok("explain", fmt.Sprint(id)), "lost: Lost: "+reason, "counts as no attempt")
	has(e.t, e.ok("stats"), "LOST")
	has(e.t, e.ok("stats", "-o", "json"), `"lost": 1`)
	var own struct {
		Steps []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(e.ok("trace", fmt.Sprint(id), "-o", "json")), &own); err != nil {
		e.t.Fatal(err)
	}
	var names []string
	for _, step := range own.Steps {
		if step.Name == "lost" || step.Name == "run" {
			names = append(names, step.Name)
		}
	}
	if got := strings.Join(names, " "); got != "lost run" {
		e.t.Errorf("steps: %s", got)
	}
	// Both runs' lines are those of attempt 1; a note parts them.
	var lines []struct{ Level, Line string }
	if err := json.Unmarshal([]byte(e.ok("logs", fmt.Sprint(id), "-o", "json")), &lines); err != nil {
		e.t.Fatal(err)
	}
	var said []string
	for _, l := range lines {
		if l.Level == "note" {
			l.Line = "note"
		}
		said = append(said, l.Line)
	}
	if got := strings.Join(said, " "); got != "begun note begun" {
		e.t.Errorf("the log: %s in %+v", got, lines)
	}
	if n := value[int](e, "select count(*) from bellhop.lost where job = $1 and attempt = 1 and fence = 1 and host is not null and lost_at > started_at", id); n != 1 {
		e.t.Errorf("%d lost runs", n)
	}
}

// begins is an agent that says that it has begun, and works until it may go.
func (e *env) begins() string {
	return e.worker("begins", "echo LOG begun\necho >>$DIR/began; while [ ! -e $DIR/go ]; do sleep 0.05; done")
}

// The line to the host of a run is lost: what it had begun is told of, though it is no attempt.
func TestLost_WithItsHost(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	e.serve("hosts:\n" + s.host("proxied", "slots: 1") + agents("type: a, command: ["+e.begins()+"]"))
	id := e.insert("type", "a")
	e.began(1)
	e.eventually("what it said is in the log", "select exists (select from bellhop.log where job = $1 and line = 'begun')",
		id)
	p.Reset("")
	e.began(2)
	e.because(id, "lost", "host proxied went silent")
	e.letGo()
	e.waitState(id, "succeeded")
	e.lostRun(id, "host proxied went silent")
}

// Its instance is killed.
func TestLost_WithItsInstance(t *testing.T) {
	t.Parallel()
	e := setup(t)
	yaml := agents("type: a, command: [" + e.begins() + "]")
	i := e.serve(yaml)
	id := e.insert("type", "a")
	e.began(1)
	e.eventually("what it said is in the log", "select exists (select from bellhop.log where job = $1 and line = 'begun')",
		id)
	i.kill()
	e.serve(yaml)
	e.began(2)
	e.letGo()
	e.waitState(id, "succeeded")
	e.lostRun(id, "its instance 1 is gone")
}
