package web

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// ann is a provider that identifies one person, whatever it is sent.
type ann struct{ site string }

func (a ann) Site() *url.URL {
	u, err := url.Parse(a.site)
	if err != nil {
		panic(err)
	}
	return u
}

func (ann) Ask(_ context.Context, of Attempt) (string, *Problem) {
	return "https://login.example/?state=" + of.State + "&nonce=" + of.Nonce + "&verifier=" + of.Verifier, nil
}

func (ann) Answer(context.Context, Attempt, url.Values) (Person, *Problem) {
	return Person{Name: "ann", Role: "bellhop_operator", Lasts: time.Hour}, nil
}

func (ann) Has(role string) bool { return role == "bellhop_operator" }

// begin starts a sign-in, and gives its cookie and its state.
func begin(t *testing.T, s *Server, headers ...string) (c *http.Cookie, state string) {
	t.Helper()
	a := ask(t, s, "GET", "/oidc/login?here=yes&to=%2Fjobs", headers...)
	to, err := a.Location()
	if err != nil || len(a.Cookies()) != 1 {
		t.Fatalf("%d, %v, %v", a.StatusCode, a.Cookies(), err)
	}
	return a.Cookies()[0], to.Query().Get("state")
}

// What a browser keeps of an attempt and of a session is out of reach of scripts and of other sites, and goes over an
// encrypted way alone where the site has one.
func TestPeople_TheirCookies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		site, prefix string
		secure       bool
	}{
		{"http://127.0.0.1:1", "", false},
		{"https://jobs.example.org", "", true},
		{"https://jobs.example.org/team", "/team", true},
	} {
		s := openSite(t, Config{People: ann{c.site}, Behind: Behind{Prefix: c.prefix}}, kept{})
		attempt, state := begin(t, s)
		if attempt.Path != c.prefix+"/oidc/" || attempt.Secure != c.secure || !attempt.HttpOnly ||
			attempt.SameSite != http.SameSiteLaxMode || attempt.MaxAge != 600 || strings.Contains(attempt.Value, state) {
			t.Errorf("%s: %v", c.site, attempt)
		}
		a := ask(t, s, "GET", "/oidc/callback?state="+state, "Cookie", attempt.Name+"="+attempt.Value)
		if a.StatusCode != 200 || len(a.Cookies()) != 2 {
			t.Fatalf("%s: %d, %v", c.site, a.StatusCode, a.Cookies())
		}
		gone, session := a.Cookies()[0], a.Cookies()[1]
		if gone.Name != attempt.Name || gone.MaxAge >= 0 || gone.Path != attempt.Path {
			t.Errorf("%s: the attempt stays: %v", c.site, gone)
		}
		if session.Name != cookie || session.Secure != c.secure || !session.HttpOnly ||
			session.SameSite != http.SameSiteStrictMode || session.Path != c.prefix && session.Path != c.prefix+"/" {
			t.Errorf("%s: %v", c.site, session)
		}
		page := ask(t, s, "GET", "/", "Cookie", cookie+"="+session.Value)
		if page.Header.Get("Role") != "bellhop_operator" || page.Header.Get("Form") == "" {
			t.Errorf("%s: %d, %v", c.site, page.StatusCode, page.Header)
		}
		// The same answer again, from a browser that has kept the cookie.
		again := ask(t, s, "GET", "/oidc/callback?state="+state, "Cookie", attempt.Name+"="+attempt.Value)
		if again.StatusCode != 403 {
			t.Errorf("%s: the answer again: %d", c.site, again.StatusCode)
		}
	}
}

// An answer counts in the browser that has begun the attempt, and for that attempt.
func TestPeople_AnswersOfNoAttempt(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{People: ann{"http://127.0.0.1:1"}}, kept{})
	attempt, state := begin(t, s)
	other, _ := begin(t, s)
	for name, sent := range map[string][2]string{
		"no cookie":              {state, ""},
		"that of another one":    {state, other.Name + "=" + other.Value},
		"another's value":        {state, "bellhop_oidc_x=" + attempt.Value},
		"no state":               {"", attempt.Name + "=" + attempt.Value},
		"a state that is a path": {"../x", attempt.Name + "=" + attempt.Value},
		"half a cookie":          {state, attempt.Name + "=a.b"},
		"nonsense":               {state, attempt.Name + "=a.b.%%%"},
	} {
		var headers []string
		if sent[1] != "" {
			headers = []string{"Cookie", sent[1]}
		}
		if a := ask(t, s, "GET", "/oidc/callback?state="+url.QueryEscape(sent[0]), headers...); a.StatusCode != 403 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	for _, method := range []string{"HEAD", "POST"} {
		a := ask(t, s, method, "/oidc/callback?state="+state, "Cookie", attempt.Name+"="+attempt.Value)
		if a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, a.StatusCode)
		}
	}
}

// A person that opens a page is asked to sign in, and programs are told what to send. On loopback, too.
func TestPeople_AreAsked(t *testing.T) {
	t.Parallel()
	tokens := []Token{{Name: "ci", Role: "r", Secret: goodToken}}
	s := openSite(t, Config{People: ann{"http://127.0.0.1:1"}, Tokens: tokens}, kept{})
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
		to           string
	}{
		{"GET", "/jobs?a=b&c=d", []string{"Accept", "text/html"}, 303, "/oidc/login?to=%2Fjobs%3Fa%3Db%26c%3Dd"},
		{"GET", "/jobs", []string{"Accept", "text/html", "Sec-Fetch-Dest", "document"}, 303, "/oidc/login?to=%2Fjobs"},
		{"GET", "/jobs", []string{"Accept", "text/html", "Sec-Fetch-Dest", "iframe"}, 401, ""},
		{"GET", "/live", []string{"Accept", "text/event-stream"}, 401, ""},
		{"GET", "/api/v1/jobs", []string{"Accept", "text/html"}, 401, ""},
		{"POST", "/do/pause", []string{"Accept", "text/html"}, 401, ""},
		{"GET", "/jobs", []string{"Accept", "text/html", "Authorization", "Bearer wrong"}, 401, ""},
		{"GET", "/jobs", []string{"Authorization", "Bearer " + goodToken}, 200, ""},
		{"GET", "/healthz", nil, 200, ""},
		// The site has one address: the cookie of an attempt is to be where the answer will be.
		{"GET", "/oidc/login?to=%2Fjobs", nil, 303, "http://127.0.0.1:1/oidc/login?here=yes&to=%2Fjobs"},
	} {
		a := ask(t, s, c.method, c.path, c.headers...)
		if a.StatusCode != c.status || a.Header.Get("Location") != c.to {
			t.Errorf("%s %s %q: %d %q", c.method, c.path, c.headers, a.StatusCode, a.Header.Get("Location"))
		}
	}
	without := openSite(t, Config{}, kept{})
	a := ask(t, without, "GET", "/oidc/login", "Accept", "text/html")
	if a.Header.Get("Location") != "" || len(a.Cookies()) > 0 {
		t.Errorf("without a provider: %d, %v", a.StatusCode, a.Header)
	}
}

// A browser that begins many attempts keeps few of them: its requests stay short enough to be read.
func TestPeople_ManyAttempts(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{People: ann{"http://127.0.0.1:1"}}, kept{})
	a := ask(t, s, "GET", "/oidc/login?here=yes", "Cookie",
		"bellhop_oidc_a=1; bellhop_oidc_b=1; bellhop_oidc_c=1; bellhop_oidc_d=1; bellhop_oidc_e=1; other=1")
	gone := 0
	for _, c := range a.Cookies() {
		if c.MaxAge < 0 {
			gone++
		}
	}
	if gone != attemptsMost || len(a.Cookies()) != attemptsMost+1 {
		t.Errorf("%v", a.Cookies())
	}
}

// A session ends with the role that the configuration gave.
func TestPeople_ARoleThatIsGone(t *testing.T) {
	t.Parallel()
	session := sha256.Sum256([]byte("hers"))
	for role, want := range map[string]int{"person bellhop_operator": 200, "person bellhop_admin": 401} {
		s := openSite(t, Config{People: ann{"http://127.0.0.1:1"}}, kept{session: role})
		if a := ask(t, s, "GET", "/", "Cookie", cookie+"=hers"); a.StatusCode != want {
			t.Errorf("%s: %d", role, a.StatusCode)
		}
	}
	s := openSite(t, Config{}, kept{session: "person bellhop_operator"})
	if a := ask(t, s, "GET", "/", "Cookie", cookie+"=hers"); a.Header.Get("Role") != Reader {
		t.Errorf("without a provider she is %q", a.Header.Get("Role"))
	}
}

func TestPeople_NoPathLeadsAway(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/": "/", "/jobs": "/jobs", "/jobs?state=failed&q=a%20b": "/jobs?q=a+b&state=failed", "/a%2Fb": "/a%2Fb", "": "/",
		"/jobs#x":        "/jobs",
		"//evil.example": "/", "https://evil.example/": "/", "https:evil": "/", `/\evil.example`: "/", `\\evil`: "/",
		"/\tevil": "/", "/%0d%0aSet-Cookie:x": "/%0d%0aSet-Cookie:x", "javascript:alert(1)": "/", "jobs": "/", "/%2F/evil.example": "/",
		"/workflows/a%2fb?x":            "/workflows/a%2fb?x=",
		"/" + strings.Repeat("a", 1000): "/", `/x"><script>`: "/x%22%3E%3Cscript%3E", "/x';url=//evil": "/x';url=//evil",
	} {
		if got := ownPath(to); got != want {
			t.Errorf("%q leads to %q, not %q", to, got, want)
		}
	}
}
