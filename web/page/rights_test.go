package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/verb"
	"bellhop/web"
)

// trap is a body that notes whether any of it was read.
type trap struct{ sprung bool }

func (b *trap) Read(p []byte) (int, error) {
	b.sprung = true
	return copy(p, strings.Repeat("id=1&", len(p)/5+1)), nil // it never ends
}

// Whoever may not is refused before a byte of a form was read: at every route of the pages, and of the site itself.
func TestPages_AskForRightsBeforeTheyRead(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	const token = "submitter-submitter"
	door, err := web.Listen(web.Config{Listen: "127.0.0.1:0", Ready: func() string { return "" },
		Counts: func() http.Handler { return nil },
		Tokens: []web.Token{{Name: "s", Role: "bellhop_submitter", Secret: token}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(door.Close)
	door.Open(s.pages, s.visitors, s.visitors)
	patterns := append(s.pages.Patterns(), "POST /logout", "GET /login/x", "GET /metrics", "GET /readyz", "POST /nothing",
		"PUT /jobs", "POST /do/nothing")
	asked := 0
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
		order, _ := strings.CutPrefix(path, "/do/")
		for name, secret := range map[string]string{"nobody": "", "a submitter": token, "a wrong token": "wrong"} {
			right := web.Known
			if v, is := verbs[order]; is {
				if right = web.Operates; v.By == verb.Owner {
					right = web.Submits
				}
			}
			if right == web.Submits && secret == token {
				continue
			}
			body := &trap{}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // a stream ends at once
			if right != web.Known {
				ctx = t.Context()
			}
			r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, body)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if secret != "" {
				r.Header.Set("Authorization", "Bearer "+secret)
			}
			answer := httptest.NewRecorder()
			door.ServeHTTP(answer, r)
			asked++
			switch {
			case body.sprung:
				t.Errorf("%s of %s: the body was read (%d)", pattern, name, answer.Code)
			case right != web.Known && secret != "wrong" && answer.Code != http.StatusForbidden:
				t.Errorf("%s of %s: %d", pattern, name, answer.Code)
			}
		}
	}
	if asked < 3*len(verbs) {
		t.Errorf("%d requests were made", asked)
	}
}
