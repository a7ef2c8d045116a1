package web

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Whoever is refused reads why: a browser on a page, another program in a line, of the API as a problem; and a name
// that somebody has made up is text there.
func TestRefuse_SpeaksToWhoeverAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, accept, kind, says string }{
		{"/login/x", "text/html,*/*;q=0.8", "text/html; charset=utf-8", "<p>no &lt;b&gt;name&lt;/b&gt;</p>"},
		{"/login/x", "*/*", "text/plain; charset=utf-8", "no <b>name</b>\n  bellhop ui"},
		{"/api/v1/jobs", "text/html", "application/problem+json", `"code":"no_token"`},
	} {
		r, w := httptest.NewRequest("GET", c.path, nil), httptest.NewRecorder()
		r.Header.Set("Accept", c.accept)
		Refuse(w, r, Problem{Status: 401, Code: "no_token", Detail: "no <b>name</b>", Next: "bellhop ui"})
		if w.Code != 401 || w.Header().Get("Content-Type") != c.kind || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s, %s: %d %s: %s", c.path, c.accept, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}
