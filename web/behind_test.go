package web

import (
	"crypto/sha256"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

var thisMachine = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}

// The site answers under its prefix and without it, and nothing else is taken for the prefix.
func TestBehind_ThePrefixOfThePath(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{Behind: Behind{Prefix: "/jobs"}}, kept{})
	room := NewMux()
	room.Route("/", Known, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Path", r.URL.EscapedPath())
		w.Header().Set("Link", Link(r.Context(), "/x"))
	})
	s.Open(room, kept{}, nobodyMay{})
	for sent, want := range map[string]string{
		"/jobs": "/", "/jobs/": "/", "/jobs?a=b": "/", "/jobs/jobs/1": "/jobs/1", "/failures": "/failures",
		"/jobsx":      "/jobsx",
		"/jobs/a%2Fb": "/a%2Fb", "/%6Aobs/x": "/%6Aobs/x",
	} {
		a := ask(t, s, "GET", sent)
		if got := a.Header.Get("Path"); got != want || a.Header.Get("Link") != "/jobs/x" {
			t.Errorf("%s: %d, %q, %q", sent, a.StatusCode, got, a.Header.Get("Link"))
		}
	}
	for _, well := range []string{"/healthz", "/jobs/healthz", "/jobs/readyz"} {
		if a := ask(t, s, "GET", well); a.StatusCode != 200 || a.Header.Get("Path") != "" {
			t.Errorf("%s: %d", well, a.StatusCode)
		}
	}
}

// What a header says of the prefix is believed of the proxies alone; what is not a plain path is refused.
func TestBehind_TheHeaderOfAStranger(t *testing.T) {
	t.Parallel()
	link := func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Link", Link(r.Context(), r.URL.Path)) }
	for _, c := range []struct {
		name, path, said, link string
		behind                 Behind
		status                 int
	}{
		{"nobody is trusted", "/x", "/evil", "/x", Behind{}, 200},
		{"another is trusted", "/x", "/evil", "/x", Behind{Proxies: thisMachine[1:]}, 200},
		{"nobody is trusted, with a prefix", "/x", "/evil", "/jobs/x", Behind{Prefix: "/jobs"}, 200},
		{"nobody is trusted, and it is bad", "/x", "//evil", "/x", Behind{}, 200},
		{"a proxy", "/x", "/team", "/team/x", Behind{Proxies: thisMachine}, 200},
		{"a proxy with a slash", "/x", "/team/a/", "/team/a/x", Behind{Proxies: thisMachine}, 200},
		{"a proxy without a prefix", "/x", "/", "/x", Behind{Proxies: thisMachine}, 200},
		{"a proxy that has taken it away", "/jobs/1", "/jobs", "/jobs/jobs/1", Behind{Prefix: "/jobs", Proxies: thisMachine}, 200},
		{"a proxy of another mind", "/jobs/1", "/evil", "/jobs/1", Behind{Prefix: "/jobs", Proxies: thisMachine}, 200},
		{"two slashes", "/x", "//evil.example", "", Behind{Proxies: thisMachine}, 400},
		{"a scheme", "/x", "https://evil.example/", "", Behind{Proxies: thisMachine}, 400},
		{"two", "/x", "/a, /b", "", Behind{Proxies: thisMachine}, 400},
		{"up", "/x", "/a/../..", "", Behind{Proxies: thisMachine}, 400},
		{"long", "/x", "/" + strings.Repeat("a", 200), "", Behind{Proxies: thisMachine}, 400},
		{"markup", "/x", `/"><script>`, "", Behind{Proxies: thisMachine}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openSite(t, Config{Behind: c.behind}, kept{})
			room := NewMux()
			room.Route("/", Known, link)
			s.Open(room, kept{}, nobodyMay{})
			a := ask(t, s, "GET", c.path, "X-Forwarded-Prefix", c.said)
			if a.StatusCode != c.status || a.Header.Get("Link") != c.link {
				t.Errorf("%d %q, not %d %q", a.StatusCode, a.Header.Get("Link"), c.status, c.link)
			}
		})
	}
}

// Every redirect of the door, and of ServeMux by itself, stays below the prefix, and its body names no other path.
func TestBehind_RedirectsStayInside(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{Behind: Behind{Prefix: "/team/jobs"}}, kept{})
	room := NewMux()
	room.Route("GET /folder/", Known, func(http.ResponseWriter, *http.Request) {})
	room.Route("GET /away", Known, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	s.Open(room, kept{}, nobodyMay{})
	for path, want := range map[string]string{
		"/team/jobs/folder": "/team/jobs/folder/", "/team/jobs//folder/": "/team/jobs/folder/",
		"/team/jobs/a/../folder/": "/team/jobs/folder/", "/folder": "/team/jobs/folder/",
		"/team/jobs/logout": "/team/jobs/", "/team/jobs/away": "https://elsewhere.example/",
	} {
		method := "GET"
		if strings.HasSuffix(path, "/logout") {
			method = "POST"
		}
		r, err := http.NewRequest(method, "http://"+s.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if got := a.Header.Get("Location"); got != want || a.StatusCode/100 != 3 {
			t.Errorf("%s: %d, %q, not %q", path, a.StatusCode, got, want)
		}
		if strings.HasPrefix(want, "/") && len(body) > 0 {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// The cookie of a link is for what is below the prefix, and Secure where a proxy says that the browser's way is
// encrypted. What a stranger says of that changes nothing.
func TestBehind_TheCookie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behind Behind
		path   string
		secure bool
	}{
		{Behind{}, "/", false},
		{Behind{Prefix: "/jobs"}, "/jobs", false},
		{Behind{Prefix: "/jobs", Proxies: thisMachine}, "/jobs", true},
		{Behind{Proxies: thisMachine}, "/", true},
	} {
		links := kept{}
		s := openSite(t, Config{Behind: c.behind}, links)
		for _, way := range []string{"", c.behind.Prefix} {
			links[sha256.Sum256([]byte("once"))] = "bellhop_operator"
			a := ask(t, s, "GET", way+"/login/once", "X-Forwarded-Proto", "https", "Accept", "text/html")
			if len(a.Cookies()) != 1 {
				t.Fatalf("%+v: %d, %v", c.behind, a.StatusCode, a.Cookies())
			}
			got := a.Cookies()[0]
			if got.Path != c.path || got.Secure != c.secure || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode {
				t.Errorf("%+v: %s", c.behind, got)
			}
			gone := ask(t, s, "POST", way+"/logout", "Cookie", "bellhop_session=nobody")
			if list := gone.Cookies(); len(list) == 0 || list[0].Path != c.path || list[0].MaxAge >= 0 {
				t.Errorf("%+v: signed out by %v", c.behind, list)
			}
		}
	}
}

// Whoever asks through a proxy is who it says, and nobody else by what he says himself; who asks from another machine
// is no reader without a token, for the address on which the proxy asks is open to this one alone.
func TestBehind_WhoAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, said, from string
		behind           Behind
		status           int
	}{
		{"without a proxy", "", "127.0.0.1", Behind{}, 200},
		{"a stranger's word", "203.0.113.9", "127.0.0.1", Behind{}, 200},
		{"a proxy without a word", "", "127.0.0.1", Behind{Proxies: thisMachine}, 200},
		{"from this machine", "127.0.0.1", "127.0.0.1", Behind{Proxies: thisMachine}, 200},
		{"from another", "203.0.113.9", "203.0.113.9", Behind{Proxies: thisMachine}, 401},
		{"from another, who lies", "127.0.0.1, 203.0.113.9", "203.0.113.9", Behind{Proxies: thisMachine}, 401},
		{"through two proxies", "127.0.0.1, 203.0.113.9, 10.1.2.3", "203.0.113.9", Behind{Proxies: thisMachine}, 401},
		{"by IPv6 with a port", "[2001:db8::1]:4711", "2001:db8::1", Behind{Proxies: thisMachine}, 401},
		{"nonsense", "unknown", "unknown", Behind{Proxies: thisMachine}, 401},
		{"with nothing at its end", "203.0.113.9, ,", "203.0.113.9", Behind{Proxies: thisMachine}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, token := range []string{"", goodToken} {
				s := openSite(t, Config{Behind: c.behind, Tokens: []Token{{Name: "ops", Role: "r", Secret: goodToken}}}, kept{})
				room := NewMux()
				room.Route("/", Known, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("From", CallerOf(r.Context()).From)
				})
				s.Open(room, kept{}, nobodyMay{})
				var headers []string
				if c.said != "" {
					headers = append(headers, "X-Forwarded-For", c.said)
				}
				status, from := c.status, c.from
				if token != "" {
					status, headers = 200, append(headers, "Authorization", "Bearer "+token)
				}
				if status != 200 {
					from = ""
				}
				if a := ask(t, s, "GET", "/", headers...); a.StatusCode != status || a.Header.Get("From") != from {
					t.Errorf("with %q: %d from %q, not %d from %q", token, a.StatusCode, a.Header.Get("From"), status, from)
				}
			}
		})
	}
}

// A page of this site sends its forms through a proxy: the browser's word on where they come from holds with and
// without Sec-Fetch-Site, which it sends over TLS alone.
func TestBehind_FormsOfThisSiteAndOfOthers(t *testing.T) {
	t.Parallel()
	behind := Behind{Prefix: "/jobs", Proxies: thisMachine}
	s := openSite(t, Config{Hosts: []string{"jobs.example.org"}, Behind: behind}, kept{})
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Host", "jobs.example.org:8443", "Origin", "http://jobs.example.org:8443"}, 303},
		{[]string{"Host", "127.0.0.1:8470", "Origin", "https://jobs.example.org", "Sec-Fetch-Site", "same-origin"}, 303},
		{[]string{"Host", "jobs.example.org", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Host", "jobs.example.org", "Origin", "https://evil.example", "X-Forwarded-Host", "evil.example"}, 403},
	} {
		if a := ask(t, s, "POST", "/jobs/logout", c.headers...); a.StatusCode != c.status {
			t.Errorf("%q: %d, not %d", c.headers, a.StatusCode, c.status)
		}
	}
}
