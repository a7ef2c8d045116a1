package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// lostRun checks that a run that was lost is told of everywhere, and counts as no attempt.
func (b *bed) lostRun(id int64, reason string) {
	b.t.Helper()
	told := "lost: " + reason
	has(b.t, b.ok("show", fmt.Sprint(id)), told, ", given back", "1 of 1")
	has(b.t, b.ok("trace", fmt.Sprint(id)), told, "lost run", "attempt 1")
	has(b.t, b.ok("explain", fmt.Sprint(id)), "lost: Lost: "+reason, "counts as no attempt")
	has(b.t, b.ok("stats"), "LOST")
	has(b.t, b.ok("stats", "-o", "json"), `"lost": 1`)
	var own struct {
		Steps []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(b.ok("trace", fmt.Sprint(id), "-o", "json")), &own); err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, step := range own.Steps {
		if step.Name == "lost" || step.Name == "run" {
			names = append(names, step.Name)
		}
	}
	if got := strings.Join(names, " "); got != "lost run" {
		b.t.Errorf("steps: %s", got)
	}
	// Both runs' lines are those of attempt 1; a note parts them.
	var lines []struct{ Level, Line string }
	if err := json.Unmarshal([]byte(b.ok("logs", fmt.Sprint(id), "-o", "json")), &lines); err != nil {
		b.t.Fatal(err)
	}
	var said []string
	for _, l := range lines {
		if l.Level == "note" {
			l.Line = "note"
		}
		said = append(said, l.Line)
	}
	if got := strings.Join(said, " "); got != "begun note begun" {
		b.t.Errorf("the log: %s in %+v", got, lines)
	}
	if n := value[int](b, "select count(*) from bellhop.lost where job = $1 and attempt = 1 and fence = 1 and host is not null and lost_at > started_at", id); n != 1 {
		b.t.Errorf("%d lost runs", n)
	}
}

// begins is an agent that says that it has begun, and works until it may go.
func (b *bed) begins() string {
	return b.worker("begins", "echo LOG begun\necho >>$DIR/began; while [ ! -e $DIR/go ]; do sleep 0.05; done")
}

// The line to the host of a run is lost: what it had begun is told of, though it is no attempt.
func TestLost_WithItsHost(t *testing.T) {
	t.Parallel()
	s, b := openSSHD(t), setup(t)
	p := s.proxy()
	b.serve("hosts:\n" + s.host("proxied", "slots: 1") + agents("type: a, command: ["+b.begins()+"]"))
	id := b.insert("type", "a")
	b.began(1)
	b.eventually("what it said is in the log", "select exists (select from bellhop.log where job = $1 and line = 'begun')", id)
	p.reset("")
	b.began(2)
	b.because(id, "lost", "host proxied went silent")
	b.letGo()
	b.waitState(id, "succeeded")
	b.lostRun(id, "host proxied went silent")
}

// Its instance is killed.
func TestLost_WithItsInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	yaml := agents("type: a, command: [" + b.begins() + "]")
	i := b.serve(yaml)
	id := b.insert("type", "a")
	b.began(1)
	b.eventually("what it said is in the log", "select exists (select from bellhop.log where job = $1 and line = 'begun')", id)
	i.kill()
	b.serve(yaml)
	b.began(2)
	b.letGo()
	b.waitState(id, "succeeded")
	b.lostRun(id, "its instance 1 is gone")
}
