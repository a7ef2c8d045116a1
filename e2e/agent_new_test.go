package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentNew_WorksAsItIs: what `agent new` writes keeps to the protocol, and does
// in each language all that an agent can: logs, progress, a result, failing for
// good, putting off, stopping on cancel, and the trace.
func TestAgentNew_WorksAsItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, file, needs, words string }{
		{"go", "agent.go", "go", "Go"},
		{"python", "agent.py", "python3", "python3"},
		{"node", "agent.js", "node", "nodejs"},
		{"bash", "agent.sh", "bash", "bash"},
	} {
		t.Run(c.lang, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("NOT TESTED: agent new %s; type `apt-get install %s`", c.lang, c.words)
			}
			e := setup(t)
			dir := filepath.Join(e.dir, "new", c.lang)
			said := e.ok("agent", "new", c.lang, dir, "--type", "words")
			path := filepath.Join(dir, c.file)
			text, err := os.ReadFile(path)
			if err != nil || !strings.HasPrefix(said, path+"\n") {
				t.Fatalf("%v; it said %q", err, said)
			}
			if n := strings.Count(string(text), "\n"); n > 200 {
				t.Errorf("%d lines", n)
			}
			if r := e.run("agent", "new", c.lang, dir); r.code != 7 || !strings.Contains(r.stderr, "is there already") {
				t.Errorf("a second one: %+v", r)
			}
			if c.lang == "go" { // as it says itself; the user's own module may be there or not
				path = buildAgent(t, dir)
			}
			checked := e.ok("agent", "check", path)
			if strings.Contains(checked, "odd ") || strings.Contains(checked, "bad ") {
				t.Errorf("agent check says:\n%s", checked)
			}

			e.serve(agents("type: words, command: [" + path + "], retry: {attempts: 3, first: 1ms}"))
			trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
			id := e.insert("type, args, traceparent", "words", `two "wörds\`, trace)
			e.waitState(id, "succeeded")
			if got := value[string](e, "select result::text from bellhop.jobqueue where id = $1", id); got != `{"words": 2}` {
				t.Errorf("result %s", got)
			}
			has(t, e.logged(id), "info: word 1: two", `info: word 2: "wörds\`)
			id = e.insert("type, msq", "words", "select 'a b' as one, 'c' as two")
			e.waitState(id, "succeeded")

			id = e.insert("type, args", "words", "a bad one")
			e.waitState(id, "failed")
			if j := e.job(id); j.Attempt != 1 || j.Error != "bad input" {
				t.Errorf("failed for good: %+v", j)
			}
			id = e.insert("type, args", "words", "later")
			e.waitState(id, "scheduled")
			if n := value[int](e, "select count(*) from bellhop.attempt where job = $1", id); n != 0 {
				t.Errorf("putting off counts as %d attempts", n)
			}

			id = e.insert("type, args", "words", "before slow after")
			e.eventually("it is at the slow word", "select progress is not null from bellhop.job where id = $1", id)
			e.ok("cancel", fmt.Sprint(id))
			e.waitState(id, "cancelled")
			e.eventually("it says that it was stopped", "select exists (select from bellhop.log where job = $1 and line = 'stopped')", id)
			e.healthy("words") // another process takes what comes next
		})
	}
}

// buildAgent builds the agent in Go that stands in a folder.
func buildAgent(t *testing.T, dir string) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "agent", "agent.go")
	build.Dir, build.Env = dir, append(os.Environ(), "GO111MODULE=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "agent")
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// TestAgentNew_PassesTheTraceOn: what a job starts finds the run's context in its environment.
func TestAgentNew_PassesTheTraceOn(t *testing.T) {
	t.Parallel()
	trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for lang, change := range map[string][2]string{
		"go":     {"\twords := strings.Fields(job.Text())\n", "\twords := strings.Fields(\"\")\n\tjob.Log(\"trace \" + os.Getenv(\"TRACEPARENT\"))\n"},
		"python": {"    words = job.text().split()\n", "    words = []; os.system('echo trace $TRACEPARENT >&2')\n"},
		"node":   {"  const words = job.text().split(/\\s+/).filter(Boolean)\n", "  const words = []; job.log('trace ' + process.env.TRACEPARENT)\n"},
		"bash":   {"  local word n=0 words\n", "  local word n=0 words; sh -c 'echo trace $TRACEPARENT >&2'\n"},
	} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			if needs := map[string]string{"go": "go", "python": "python3", "node": "node", "bash": "bash"}[lang]; !found(needs) {
				t.Skipf("NOT TESTED: agent new %s; type `apt-get install %s`", lang, needs)
			}
			path := strings.SplitN(e.ok("agent", "new", lang, e.dir), "\n", 2)[0]
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), change[0]) {
				t.Fatalf("%v: there is no %q", err, change[0])
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o755); err != nil {
				t.Fatal(err)
			}
			if lang == "go" {
				path = buildAgent(t, filepath.Dir(path))
			}
			e.serve(agents("type: hello, command: [" + path + "]"))
			id := e.insert("type, args, traceparent", "hello", "x", trace)
			e.waitState(id, "succeeded")
			e.eventually("it finds the trace", "select exists (select from bellhop.log where job = $1 and line like 'trace 00-0af7651916cd43dd8448eb211c80319c-%')", id)
		})
	}
}

// TestAgentNew_RefusesWhatItCannotDo: with what to type instead.
func TestAgentNew_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	e := on(t, "postgres:///nowhere")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"agent", "new"}, "in which language? One of go, python, node, bash"},
		{[]string{"agent", "new", "cobol"}, `there is no template for "cobol"`},
		{[]string{"agent", "new", "go", "--type", "a b"}, `--type "a b" cannot be the name of a type`},
	} {
		if r := e.run(c.args...); r.code != 2 || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}
