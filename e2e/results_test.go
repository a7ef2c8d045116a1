package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/client"
)

// giver is an agent in shell that does what its args say, in the json dialect.
const giver = `go() { read -r _ <"$GO"; }
echo '{"bellhop":1,"type":"give"}'
while IFS= read -r job; do
  say=${job#*\"args\":\"}; say=${say%%\"*}
  case $say in
  sum)     echo '{"result":{"sum":3}}'; echo '{"ok":true}';;
  last)    echo '{"result":1}'; echo '{"result":[2]}'; echo '{"ok":true}';;
  failed)  echo '{"result":"half"}'; echo '{"fail":"no more","exit_code":4}';;
  null)    echo '{"result":null}'; echo '{"ok":true}';;
  zero)    echo '{"result":"a\u0000b"}'; echo '{"ok":true}';;
  long)    printf '{"result":"%0100000d"}\n{"ok":true}\n' 0;;
  mega)    printf '{"result":"%02000000d"}\n{"ok":true}\n' 0;;
  half)    echo '{"progress":{"done":0.5,"text":"page 1"}}'; go; echo '{"progress":{"done":3,"of":4}}'; go; echo '{"ok":true}';;
  second)  case $job in *'"attempt":1'*) echo '{"progress":0.9}'; echo '{"result":1}'; echo '{"fail":"x"}';; *) echo '{"result":2}'; echo '{"ok":true}';; esac;;
  never)   echo '{"fail":"bad input","retry":false}';;
  soon)    echo '{"fail":"busy","retry":"50ms"}';;
  wrong)   echo '{"fail":"x","retry":"soon"}';;
  snooze)  if [ -e "$GO.snoozed" ]; then echo '{"ok":true}'; else : >"$GO.snoozed"; echo '{"snooze":"100ms"}'; fi;;
  *)       echo '{"ok":true}';;
  esac
done`

// TestResults_WhatAJobGivesBack: from the agent to the row, in each dialect, and what cannot be kept.
func TestResults_WhatAJobGivesBack(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: give, env: {GO: /nowhere}, command: [sh, "+e.file("give", giver, 0o644)+"]",
		"type: out, command: [sh, -c], mode: exec, stdout: result",
		"type: says, command: [sh, -c], mode: exec, stdout: json",
		"type: quiet, command: [sh, -c], mode: exec"))
	for _, c := range []struct {
		typ, args, state, result, err string
	}{
		{"give", "sum", "succeeded", `{"sum": 3}`, ""},
		{"give", "last", "succeeded", `[2]`, ""},
		{"give", "nothing", "succeeded", ``, ""},
		{"give", "null", "succeeded", ``, ""},
		{"give", "failed", "failed", `"half"`, "no more"},
		{"give", "zero", "failed", ``, `result_refused: what the agent gave back cannot be kept: PostgreSQL has no room for the character \u0000`},
		{"give", "long", "failed", ``, "result_refused: what the agent gave back has 100002 bytes, and 65536 are allowed (limits.result)"},
		{"give", "mega", "failed", ``, "result_refused: what the agent gave back has"},
		{"out", `echo '{"a": [1, 2.50]}'`, "succeeded", `{"a": [1, 2.50]}`, ""},
		{"out", `echo one; echo two`, "succeeded", `"one\ntwo"`, ""},
		{"out", `:`, "succeeded", ``, ""},
		{"out", `echo 1; exit 3`, "failed", ``, "exit status 3"},
		{"out", `yes | head -c 70000`, "failed", ``, "result_refused: "},
		{"says", `echo hello; echo '{"result":7}'`, "succeeded", `7`, ""},
		{"says", `echo '{"fail":"no paper"}'`, "failed", ``, "no paper"},
		{"says", `echo '{"fail":"no paper"}'; exit 9`, "failed", ``, "no paper"},
		{"quiet", `echo '{"result":7}'`, "succeeded", ``, ""},
	} {
		id := e.insert("type, args, max_attempts", c.typ, c.args, 2)
		if strings.HasPrefix(c.err, "result_refused") { // another try gives the same
			e.eventually(c.args+" is over", "select state = 'failed' and attempt = 1 from bellhop.jobqueue where id = $1", id)
			e.typed(e.because(id, "result_refused"))
			id = e.insert("type, args", c.typ, c.args)
		} else if c.state == "failed" {
			id = e.insert("type, args", c.typ, c.args)
		}
		j := e.waitState(id, c.state)
		if got := value[string](e, "select coalesce(result::text, '') from bellhop.jobqueue where id = $1", id); got != c.result {
			t.Errorf("%s %s: result %s, want %s", c.typ, c.args, got, c.result)
		}
		if !strings.HasPrefix(j.Error, c.err) {
			t.Errorf("%s %s: error %q, want %q", c.typ, c.args, j.Error, c.err)
		}
	}
	if code := value[int](e, "select exit_code from bellhop.jobqueue where type = 'says' and state = 'failed' and args like '%exit 9' limit 1"); code != 9 {
		t.Errorf("exit code %d", code)
	}
	// Of a later attempt, and not of the one before; retry begins anew.
	id := e.insert("type, args, max_attempts", "give", "second", 2)
	e.waitState(id, "succeeded")
	if got := value[string](e, "select result::text || ' ' || coalesce(progress::text, 'none') from bellhop.jobqueue where id = $1", id); got != "2 none" {
		t.Errorf("the second attempt gave %s", got)
	}
	// What is printed.
	if got := e.ok("submit", "give", "sum", "--wait"); !strings.HasSuffix(got, "\n{\"sum\": 3}\n") {
		t.Errorf("submit --wait says %q", got)
	}
	sum := fmt.Sprint(value[int64](e, "select max(id) from bellhop.jobqueue"))
	if got := e.ok("wait", sum); got != sum+" succeeded {\"sum\": 3}\n" {
		t.Errorf("wait says %q", got)
	}
	has(t, e.ok("show", sum), `result            {"sum": 3}`)
	var shown struct{ Result map[string]int }
	if err := json.Unmarshal([]byte(e.ok("show", sum, "-o", "json")), &shown); err != nil || shown.Result["sum"] != 3 {
		t.Errorf("%+v, %v", shown, err)
	}
	if got := value[string](e, "select state || ' ' || exit_code || ' ' || result::text || coalesce(error, '') from bellhop.wait($1::bigint, '1 min')", sum); got != `succeeded 0 {"sum": 3}` {
		t.Errorf("bellhop.wait gives %s", got)
	}
}

// TestResults_HowFar: progress of a job that runs, and what is left of it.
func TestResults_HowFar(t *testing.T) {
	t.Parallel()
	e := setup(t)
	fifo, write := e.fifo("go")
	e.serve(agents("type: give, env: {GO: " + fifo + "}, command: [sh, " + e.file("give", giver, 0o644) + "]"))
	id := e.insert("type, args", "give", "half")
	e.eventually("it is half done", "select progress is not distinct from 0.5 and progress_text is not distinct from 'page 1' from bellhop.job where id = $1", id)
	has(t, e.ok("show", fmt.Sprint(id)), "progress          50 %, page 1")
	write("go")
	e.eventually("it is further", "select progress is not distinct from 0.75 and progress_text is null from bellhop.job where id = $1", id)
	write("go")
	e.waitState(id, "succeeded")
}

// TestResults_RingsForWhoWaits: the commit that ends a job tells who waits for it, and nobody else.
func TestResults_RingsForWhoWaits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	fifo, write := e.fifo("go")
	e.serve(agents("type: a, command: [sh, -c, 'echo OK; while read -r line; do read -r go <" + fifo + "; echo OK; done'], max: 1"))
	conn, err := e.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ear := conn.Hijack()
	defer ear.Close(context.Background())
	for _, text := range []string{"listen bellhop_over", "listen bellhop_awaited"} {
		if _, err := ear.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	unawaited := e.insert("type", "a")
	e.waitState(unawaited, "running")
	write("go")
	e.waitState(unawaited, "succeeded")
	c := client.New(e.pool)
	id, err := c.Submit(ctx, client.Job{Type: "a"})
	if err != nil {
		t.Fatal(err)
	}
	e.waitState(int64(id), "running")
	told := make(chan client.Outcome, 1)
	go func() {
		o, err := c.Wait(ctx, id)
		if err != nil {
			t.Error(err)
		}
		told <- o
	}()
	n, err := ear.WaitForNotification(ctx) // the first thing that is heard: nobody has waited before
	if err != nil || n.Channel != "bellhop_awaited" || n.Payload != fmt.Sprint(id) {
		t.Fatalf("%+v, %v", n, err)
	}
	e.eventually("it listens", "select count(*) = 1 from pg_stat_activity where datname = current_database() and pid <> $1 and query = 'listen bellhop_over'", ear.PgConn().PID())
	write("go")
	if o := <-told; o.State != client.Succeeded {
		t.Errorf("%+v", o)
	}
	for n.Channel == "bellhop_awaited" { // which may have been said again
		if n, err = ear.WaitForNotification(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n.Payload != fmt.Sprint(id) {
		t.Errorf("%+v", n)
	}
	e.eventually("nobody listens when nobody waits",
		"select count(*) = 0 from pg_stat_activity where datname = current_database() and pid <> $1 and query = 'listen bellhop_over'", ear.PgConn().PID())
}

// fifo makes a pipe with a name, and gives a way to write lines into it. It is
// open to the end of the test: a line stays until a shell reads it, whether it
// came for it before or comes later, and no reader takes more than one.
func (e *env) fifo(name string) (path string, write func(line string)) {
	e.t.Helper()
	path = filepath.Join(e.dir, name)
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		e.t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = pipe.Close() })
	return path, func(line string) {
		e.t.Helper()
		if _, err := pipe.WriteString(line + "\n"); err != nil {
			e.t.Fatal(err)
		}
	}
}
