package api_test

import (
	"strings"
	"testing"
)

// The answer to an order says what it came to.
func TestVerbs_SayWhatTheyCameTo(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('sh'), ('sh'), ('sh')`)
	s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where id = 1`)
	for _, c := range []struct{ path, says string }{
		{"/jobs/1/cancel", `"state":"running","changed":true,"asked":true`},
		{"/jobs/2/cancel", `"state":"cancelled","changed":true,"asked":false`},
		{"/jobs/2/cancel", `"state":"cancelled","changed":false,"asked":false,"why":"job 2 was cancelled: a finished job cannot`},
		{"/jobs/1/hold", `"changed":false,"asked":false,"why":"job 1 is running: a job that has begun or ended cannot be held"`},
		{"/jobs/3/hold", `"state":"held","changed":true`},
		{"/jobs/3/hold", `"changed":false,"asked":false,"why":"job 3 is held: it was held before"`},
		{"/jobs/1/release", `"changed":false,"asked":false,"why":"job 1 is running: only a held job can be released"`},
		{"/jobs/1/retry", `"changed":false,"asked":false,"why":"job 1 is running: only a finished job can be retried"`},
	} {
		if text := s.must(200, "operator", "POST", c.path, ""); !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, not %s", c.path, text, c.says)
		}
	}
}
