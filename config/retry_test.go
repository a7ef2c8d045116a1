package config

import (
	"strings"
	"testing"
)

// All that is wrong with a policy is told at once, with its place.
func TestRetry_Problems(t *testing.T) {
	t.Parallel()
	_, err := Parse("", []byte(`agents:
  - type: a
    command: [x]
    stdout: result
    retry:
      attempts: 0
      first: 10s
      most: 1s
      factor: 0.5
      jitter: lots
      not: [0, 256, gone, 3]
      snooze: {75: 10m, 75: 5m, 0: 1m, 76: , 77: 0s, 78: soon}
  - {type: b, command: [x], mode: exec, stdout: yes, retry: 3}
limits: {result: 0}
`))
	for _, want := range []string{
		`4:13: agents[0].stdout: only agents of mode exec have it; leave it out, or write mode: exec`,
		`6:17: agents[0].retry.attempts is 0: a job would never be tried; write 1 for no second try`,
		`8:13: agents[0].retry.most (1s) is shorter than the first pause (10s); write most: 10s, or more`,
		`9:15: agents[0].retry.factor is 0.5: it is 1 to 100`,
		`10:15: agents[0].retry.jitter must be a number, not a string`,
		`11:13: agents[0].retry.not[0]: 0 is not an exit code of a failure: they are 1 to 255`,
		`11:16: agents[0].retry.not[1]: 256 is not an exit code of a failure: they are 1 to 255`,
		`11:21: agents[0].retry.not[2]: unknown outcome "gone"`,
		`duplicate key 75 in agents[0].retry.snooze`,
		`agents[0].retry.snooze: 0 is not an exit code of a failure: they are 1 to 255`,
		`agents[0].retry.snooze.76 must be a duration, not nothing; write it like 10s, 15m or 1h30m`,
		`agents[0].retry.snooze.77 must be more than nothing; write it like 10s, 15m or 1h30m`,
		`agents[0].retry.snooze.78: "soon" is not a valid duration; write it like 10s, 15m or 1h30m`,
		`agents[1].retry must hold keys and values, not a number`,
		`limits.result is 0: it is 1 to 1048576 bytes; write 65536, or up to 1048576`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}
