package page

import (
	"net/http"
	"net/url"
	"testing"
)

// What is searched for leads to what it names; what names nothing leads to the list of the keys that begin like it.
func TestSearch_LeadsToWhatItNames(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.7'), ('mail', '1'), ('a/b', null)`)
	s.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "steps": [{"name": "fetch", "type": "etl"}]}')`)
	leads := func(text string) string {
		c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		r, err := c.Get(s.URL + "/find?" + url.Values{"q": {text}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.Header.Get("Location")
	}
	for text, want := range map[string]string{
		"2": "/jobs/2", "#1": "/jobs/1", "1": "/jobs/2", " order.7 ": "/jobs/1", "order.": "/jobs?key=order.", "99": "/jobs?key=99",
		"mail": "/types/mail", "a/b": "/types/a%2Fb", "nightly": "/workflows/nightly", "": "/jobs", "//evil.example": "/jobs?key=%2F%2Fevil.example",
		"\x00\xff": "/jobs?key=%EF%BF%BD%EF%BF%BD",
	} {
		if got := leads(text); got != want {
			t.Errorf("%q leads to %s, not %s", text, got, want)
		}
	}
}
