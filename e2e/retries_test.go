package e2e

import (
	"fmt"
	"testing"
)

// TestRetries_PolicyAndWords: what a type's policy, a job and an agent's own words make of a failure.
func TestRetries_PolicyAndWords(t *testing.T) {
	t.Parallel()
	e := setup(t)
	quick := "retry: {attempts: 3, first: 1ms, most: 10ms, jitter: 0, not: [64, timed_out], snooze: {75: 20ms}}"
	once := e.dir + "/once"
	e.serve(agents("type: give, "+quick+", env: {GO: "+e.dir+"/give}, command: [sh, "+e.file("give.sh", giver, 0o644)+"]",
		"type: sh, "+quick+", command: [sh, -c], mode: exec",
		"type: plain, command: [sh, -c], mode: exec"))
	for _, c := range []struct {
		name, columns string
		values        []any
		state         string
		attempts      int
		how           string
	}{
		{"the type's attempts", "type, args", []any{"sh", "exit 1"}, "failed", 3, "exit status 1"},
		{"the job's own, more", "type, args, max_attempts", []any{"sh", "exit 1", 4}, "failed", 4, "exit status 1"},
		{"no policy", "type, args", []any{"plain", "exit 1"}, "failed", 1, "exit status 1"},
		{"another try gives the same", "type, args", []any{"sh", "exit 64"}, "failed", 1, "exit status 64"},
		{"nor after that much time", "type, args, timeout", []any{"sh", "exec sleep 100", "100 ms"}, "failed", 1, "timeout: "},
		{"snoozed by exit code", "type, args", []any{"sh", "[ -e " + once + " ] || { : >" + once + "; exit 75; }"}, "succeeded", 1, ""},
		{"never, says the agent", "type, args", []any{"give", "never"}, "failed", 1, "bad input"},
		{"soon, says the agent", "type, args", []any{"give", "soon"}, "failed", 3, "busy"},
		{"what it says is no time", "type, args", []any{"give", "wrong"}, "failed", 3, `x; "retry" is neither false nor a time`},
		{"snoozed", "type, args", []any{"give", "snooze"}, "succeeded", 1, ""},
	} {
		id := e.insert(c.columns, c.values...)
		e.eventually(c.name+": it is over", "select state in ('failed', 'succeeded') from bellhop.jobqueue where id = $1", id)
		j := e.job(id)
		n := value[int](e, "select count(*) from bellhop.attempt where job = $1", id)
		if j.State != c.state || n != c.attempts {
			t.Errorf("%s: %s after %d attempts, want %s after %d (%s)", c.name, j.State, n, c.state, c.attempts, j.Error)
		}
		if c.how != "" {
			has(t, j.Error, c.how)
		}
	}
	// One that says itself that it is tried once.
	e.eventually("the job's own, one", "select state = 'failed' and attempt = 1 from bellhop.jobqueue where id = $1",
		value[int64](e, "select bellhop.submit('sh', 'exit 1', max_attempts => 1)"))
	id := e.ok("submit", "sh", "exit 1", "--max-attempts", "1")
	e.eventually("the same from the command line", "select state = 'failed' and attempt = 1 from bellhop.jobqueue where id = $1::text::bigint", id[:len(id)-1])
}

// TestRetries_ExplainSaysThatItWasPutOff: what waits for that it was snoozed says so, and counts no attempt.
func TestRetries_ExplainSaysThatItWasPutOff(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, retry: {attempts: 3, snooze: {75: 1h}}, command: [sh, -c], mode: exec"))
	id := e.insert("type, args", "sh", "echo too early; exit 75")
	e.waitState(id, "scheduled")
	snoozed := e.because(id, "snoozed")
	if j := e.job(id); j.Attempt != 0 {
		t.Errorf("%+v", j)
	}
	has(t, e.ok("show", fmt.Sprint(id)), "attempt           0 of 3")
	has(t, e.logged(id), "its agent has put it off for 1h0m0s, and this does not count as an attempt", "too early")
	e.typed(snoozed)
	e.eventually("it starts at once", "select fence > 1 and state = 'scheduled' from bellhop.jobqueue where id = $1", id)
	e.ok("cancel", fmt.Sprint(id))
	e.waitState(id, "cancelled")
}
