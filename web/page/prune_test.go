package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What has been over for long is counted, and what was counted is deleted: nothing that has ended since, nothing that
// others need, and by nobody who may not.
func TestPrune_DeletesWhatWasCounted(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	over := func(key, state, ago string) {
		s.exec(`insert into bellhop.jobqueue (type, key, state, attempt, started_at, ended_at)
			values ('mail', $1, $2, 1, now() - interval '50 d', now() - $3::interval)`, key, state, ago)
	}
	for range 3 {
		s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at)
			values ('mail', 'succeeded', 1, now(), now() - interval '40 d')`)
	}
	over("young", "succeeded", "1 d")
	over("bad", "failed", "40 d")
	over("needed", "failed", "40 d")
	s.exec(`select bellhop.submit('mail', 'x', after => array(select id from bellhop.jobqueue where key = 'needed'), on_failure => 'block')`)
	keys := func() string {
		return s.one(`select coalesce(string_agg(coalesce(key, '-'), ' ' order by id), '') from bellhop.jobqueue`)
	}
	if page := s.get(http.StatusOK, "/prune"); strings.Contains(page, `action="/do/prune"`) {
		t.Error("it deletes what nobody has counted")
	}
	for _, odd := range []string{"/prune?older=soon", "/prune?older=%00", "/prune?older=1d&state=ready"} {
		if page := s.get(http.StatusOK, odd); strings.Contains(page, `action="/do/prune"`) && strings.Contains(odd, "soon") {
			t.Errorf("%s offers to delete", odd)
		}
	}
	page := s.get(http.StatusOK, "/prune?older=30d")
	if !strings.Contains(page, "3 jobs would be deleted") {
		t.Errorf("it does not count 3 jobs:\n%s", page)
	}
	_, until, _ := strings.Cut(page, `name="until" value="`)
	until, _, _ = strings.Cut(until, `"`)
	order := url.Values{"state": {"succeeded", "cancelled"}, "until": {until}, "back": {"/prune?older=30d"}}
	s.who = aReader
	s.post(http.StatusForbidden, "/do/prune", order)
	s.who = anOperator
	to := s.post(http.StatusSeeOther, "/do/prune", order)
	if page := s.get(http.StatusOK, to); !strings.Contains(page, "3 jobs were deleted") ||
		!strings.Contains(page, "Nothing would be deleted") {
		t.Errorf("%s does not say what was deleted", to)
	}
	if got := keys(); got != "young bad needed -" {
		t.Errorf("there are %s", got)
	}
	order["state"] = []string{"failed"}
	s.post(http.StatusSeeOther, "/do/prune", order)
	if got := keys(); got != "young needed -" {
		t.Errorf("there are %s", got)
	}
	for _, odd := range []url.Values{{}, {"until": {until}}, {"until": {"now"}, "state": {"failed"}}, {"until": {until}, "state": {"ready"}}} {
		s.post(http.StatusNotFound, "/do/prune", odd)
	}
}
