package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What a caller has changed stands on the page with the caller's name, by person and by thing.
func TestChanges_ByPersonAndThing(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, args) select 'mail', 'a secret' from generate_series(1, 2)`)
	s.post(http.StatusSeeOther, "/do/hold", url.Values{"id": {"1"}, "back": {"/jobs/1"}})
	s.post(http.StatusSeeOther, "/do/pause", url.Values{"type": {"mail"}, "back": {"/hosts"}})
	s.exec(`insert into bellhop.change (by, via, role, verb, thing, name, result)
		select 'ben', 'oidc', 'bellhop_operator', 'cancel', 'job', '2', '<b>' || g from generate_series(1, 150) g`)
	for _, c := range []struct {
		query     string
		has, lack []string
	}{
		{
			"", []string{"&lt;b&gt;150", `href="/jobs/2"`, "person, as bellhop_operator", `href="/changes?before=`},
			[]string{"<b>150", "a secret"},
		},
		{
			"?by=ann", []string{"<b>hold</b>", "ready → held", "<b>pause</b>", "type mail", `value="ann"`},
			[]string{"ben", `rel="next"`},
		},
		{"?of=job+1", []string{"<b>hold</b>"}, []string{"pause", "ben"}},
		{"?of=1", []string{"<b>hold</b>"}, []string{"pause", "ben"}},
		{"?of=1&by=ann", []string{"<code>bellhop changes --by ann --of &#39;job 1&#39;</code>"}, []string{"ben"}},
		{"?of=%231", []string{"<b>hold</b>"}, []string{"pause", "ben"}},
		{"?of=type+mail", []string{"<b>pause</b>"}, []string{"<b>hold", "ben"}},
		{"?by=nemo", []string{"No change matches this filter."}, []string{"<table"}},
		{`?by=%22%3E%3Cscript%3E`, []string{"No change matches this filter."}, []string{`"><script>`}},
	} {
		_, page, _ := strings.Cut(s.get(http.StatusOK, "/changes"+c.query), `<main id="main"`)
		page, _, _ = strings.Cut(page, "</main>")
		for _, want := range c.has {
			if !strings.Contains(page, want) {
				t.Errorf("%q says nothing of %q:\n%s", c.query, want, page)
			}
		}
		for _, not := range c.lack {
			if strings.Contains(page, not) {
				t.Errorf("%q shows %q", c.query, not)
			}
		}
	}
	s.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "steps": [{"name": "a", "type": "sh"}]}')`)
	// Each page leads to it, and those of a job and of a type lead to their own changes.
	for path, link := range map[string]string{
		"/": `<a href="/changes">changes</a>`, "/jobs/1": `href="/changes?of=job+1"`, "/types/a%26b": `href="/changes?of=type%20a%26b"`,
		"/workflows/nightly": `href="/changes?of=workflow%20nightly"`,
	} {
		if !strings.Contains(s.get(http.StatusOK, path), link) {
			t.Errorf("%s has no link %s", path, link)
		}
	}
}
