package page

import (
	"net/http"
	"strings"
	"testing"
)

// The page of a job lists what its runs have done, with outputs of any length.
func TestJob_ShowsItsSteps(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`select bellhop.submit('order')`)
	s.exec(`insert into bellhop.saved_step (job, name, output, bytes) values
		(1, 'charge <b>', '{"receipt": 7}', 14), (1, 'large', to_jsonb(repeat('ř', 1000)), 2002)`)
	page := s.get(http.StatusOK, "/jobs/1")
	for _, want := range []string{"charge &lt;b&gt;", "{&#34;receipt&#34;: 7}", strings.Repeat("ř", 58) + "…<"} {
		if !strings.Contains(page, want) {
			t.Errorf("it has no %s:\n%s", want, page)
		}
	}
}
