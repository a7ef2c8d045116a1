package api_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// What docs/api.md says to type does what it says.
func TestDocs_EveryLineIsTyped(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on this machine")
	}
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	dir, typed := t.TempDir(), 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.ReplaceAll(line, "http://127.0.0.1:8470/api/v1", s.at)
			line = strings.ReplaceAll(line, "curl -s", "curl -sS --fail-with-body")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TOKEN="+tokens["operator"], "http_proxy=", "no_proxy=*")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v: %s", line, err, out)
			}
			typed++
		}
	}
	if typed < 10 {
		t.Errorf("only %d lines were typed", typed)
	}
	if n := value[int](s, "select count(*) from bellhop.jobqueue"); n != 3 {
		t.Errorf("%d jobs were submitted", n)
	}
}
