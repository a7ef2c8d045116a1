package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestLogs_AcrossAttempts: each under its heading, from a time on, and the end of
// what was said where that is too much.
func TestLogs_AcrossAttempts(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, mode: exec, command: [sh, -c], retry: {attempts: 2, first: 1ms}"))
	id := e.insert("type, args", "sh", `echo try $BELLHOP_ATTEMPT; seq 20000; echo the end of $BELLHOP_ATTEMPT; exit 3`)
	e.waitState(id, "failed")
	r := e.run("logs", "--all", fmt.Sprint(id))
	has(t, r.stdout, "try 1\n", "the end of 1\n", "try 2\n", "the end of 2\n")
	has(t, r.stderr, "attempt 1, sh.1 on local: exit status 3", "attempt 2, sh.1 on local: exit status 3",
		"output truncated: ")
	if n := strings.Count(r.stdout, "\n"); n != 20_000 {
		t.Errorf("%d lines", n)
	}
	r = e.run("logs", fmt.Sprint(id))
	if strings.Contains(r.stdout, "try 1") || !strings.Contains(r.stdout, "try 2") {
		t.Error("without --all it is the latest attempt")
	}
	if out := e.ok("logs", "--all", "--since", "1h", fmt.Sprint(id)); !strings.Contains(out, "try 1") {
		t.Error("an hour ago was before it")
	}
	if out := e.ok("logs", "--all", "--since", "2099-01-01", fmt.Sprint(id)); out != "" {
		t.Errorf("%q was said in the future", out[:20])
	}
	for _, args := range [][]string{{"logs", "1", "--since", "soon"}, {"logs", "1", "--all", "--attempt", "1"}} {
		if r := e.run(args...); r.code != 2 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// TestLogs_FollowSaysWhyItWaits: and then prints what is said, to the end.
func TestLogs_FollowSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, mode: exec, command: [sh, -c]"))
	id := e.insert("type, args, held", "sh", "echo at last", true)
	done := make(chan result, 1)
	go func() { done <- e.run("logs", "-f", fmt.Sprint(id)) }()
	e.eventually("it looks", "select exists (select from pg_stat_activity where datname = current_database() and query like '%explanation%' and application_name <> 'the test')")
	e.ok("release", fmt.Sprint(id))
	r := <-done
	if r.code != 0 || r.stdout != "at last\n" {
		t.Errorf("%+v", r)
	}
	has(t, r.stderr, fmt.Sprintf("job %d waits: held: ", id))
}

// TestLogs_OfEitherStream: by itself what was printed, with a word what was said on stderr, or both.
func TestLogs_OfEitherStream(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, mode: exec, command: [sh, -c]"))
	id := e.insert("type, args", "sh", `echo printed; echo said >&2`)
	e.waitState(id, "succeeded")
	for flag, want := range map[string][2]bool{"": {true, false}, "--errors": {false, true}, "--both": {true, true}} {
		args := []string{"logs", fmt.Sprint(id)}
		if flag != "" {
			args = append(args, flag)
		}
		out := e.ok(args...)
		if got := [2]bool{strings.Contains(out, "printed\n"), strings.Contains(out, "said\n")}; got != want {
			t.Errorf("logs %s: %q", flag, out)
		}
	}
}
