package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bellhop/web"
)

// A submitter sees his own jobs: a list of them, and of each what it gave back, what was said, and the buttons; of
// others' nothing.
func TestPages_ASubmitterHasHisOwnJobs(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`set role bellhop_submitter`)
	s.exec(`select bellhop.submit('mail', 'one', key => 'mine')`)
	s.exec(`reset role`)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'of another')`)
	s.exec(`insert into bellhop.log (job, attempt, level, line) values (1, 1, 'out', 'what it said')`)
	s.who = web.Identity{Name: "shop", Role: "bellhop_submitter", Via: "token"}
	for _, path := range []string{"/", "/jobs", "/jobs?state=ready&state=succeeded"} {
		page := s.get(http.StatusOK, path)
		if !strings.Contains(page, ">mine<") || strings.Contains(page, "of another") {
			t.Errorf("%s does not list his jobs, and no others:\n%s", path, page)
		}
		for _, away := range []string{`href="/hosts"`, `href="/failures"`, `href="/attachments"`, `href="/changes`, "All matching jobs", "CLI and API equivalents"} {
			if strings.Contains(page, away) {
				t.Errorf("%s offers %s, which would be refused", path, away)
			}
		}
		if !strings.Contains(page, `name="id" value="1"`) {
			t.Errorf("%s: he cannot mark his jobs", path)
		}
	}
	page := s.get(http.StatusOK, "/jobs/1")
	for _, want := range []string{"what it said", "<pre>one</pre>", `action="/do/cancel"`, `action="/do/hold"`, "bellhop cancel 1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of his job has no %s", want)
		}
	}
	if strings.Contains(page, `href="/changes`) {
		t.Error("the page of his job leads to changes, which would be refused")
	}
	s.get(http.StatusNotFound, "/jobs/2")
	s.post(http.StatusSeeOther, "/do/cancel", url.Values{"id": {"1", "2"}})
	if states := s.one("select string_agg(state, ' ' order by id) from bellhop.jobqueue"); states != "cancelled ready" {
		t.Errorf("they are %s", states)
	}
	s.get(http.StatusOK, "/jobs/1")
}
