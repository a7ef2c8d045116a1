package api_test

import (
	"strings"
	"testing"
)

// The answer to an order says what it came to.
func TestVerbs_SayWhatTheyCameTo(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('sh'), ('sh')`)
	s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where id = 1`)
	for _, c := range []struct{ path, says string }{
		{"/jobs/1/cancel", `"state":"running","changed":true,"asked":true`},
		{"/jobs/2/cancel", `"state":"cancelled","changed":true,"asked":false`},
		{"/jobs/2/cancel", `"state":"cancelled","changed":false,"asked":false`},
	} {
		if text := s.must(200, "operator", "POST", c.path, ""); !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, not %s", c.path, text, c.says)
		}
	}
}
