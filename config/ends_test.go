package config

import (
	"strings"
	"testing"
)

// All that is wrong with exit codes that are no failures is told at once, with its place.
func TestEnds_Problems(t *testing.T) {
	t.Parallel()
	_, err := Parse("", []byte(`agents:
  - {type: a, command: [x], mode: exec, ends: {no_data: [0, 3], skipped: [3, x], nothing: [4]}}
  - {type: b, command: [x], ends: {no_data: [3]}}
  - {type: c, command: [x], mode: exec, ends: {no_data: 3}}
`))
	for _, want := range []string{
		`2:58: agents[0].ends.no_data[0]: 0 is not an exit code of a failure: they are 1 to 255`,
		`2:75: agents[0].ends.skipped[0]: exit code 3 is no_data already`,
		`agents[0].ends.skipped[1]: x is not an exit code of a failure`,
		`unknown key "nothing"`,
		`agents[1].ends: only agents of mode exec and engine have it; leave it out, and have the agent say {"ok":true,"ended_as":"no_data"}`,
		`agents[2].ends.no_data must be a list, not a number; write it like [3]`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}
