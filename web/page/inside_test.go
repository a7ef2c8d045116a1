package page

import (
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"bellhop/sql/view"
	"bellhop/web"
)

// leads are the places of a page that name an address.
var leads = regexp.MustCompile(`(?i)\b(?:href|src|action|formaction|data-href|data-root|url)="?=?([^"\s>]*)`)

// behindDoor serves the pages under a prefix; the link signs in as an operator.
func (s *site) behindDoor(behind web.Behind) (base, link string) {
	s.Helper()
	visitors, err := view.NewVisitors(s.conn.Config().ConnString())
	if err != nil {
		s.Fatal(err)
	}
	door, err := web.Listen(web.Config{Listen: "127.0.0.1:0", Behind: behind, Ready: func() string { return "" },
		Counts: func() http.Handler { return nil }})
	if err != nil {
		s.Fatal(err)
	}
	pages := New(Config{Visitors: visitors, Version: "v", Address: door.At(""), Log: s.pages.Log})
	door.Open(pages, visitors, visitors)
	s.Cleanup(func() {
		pages.Close()
		door.Close()
		visitors.Close()
	})
	if err := view.NewLook(s.conn).SignIn(s.Context(), "a secret"); err != nil {
		s.Fatal(err)
	}
	return "http://" + door.Addr(), door.At("/login/a%20secret")
}

// underPath is somebody who looks at a site that stands under a path.
type underPath struct {
	*site
	base, cookie string
	stripped     bool // a proxy takes the prefix away, and says which it was
	seen         int
}

const teamJobs = "/team/jobs"

// ask sends a request, and gives the answer with what it says.
func (u *underPath) ask(method, path, form string) (*http.Response, string) {
	u.Helper()
	at := u.base + teamJobs + path
	if u.stripped {
		at = u.base + path
	}
	r, err := http.NewRequestWithContext(u.Context(), method, at, strings.NewReader(form))
	if err != nil {
		u.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("X-Forwarded-Prefix", teamJobs) // believed of a proxy alone
	r.Header.Set("Cookie", u.cookie)
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		u.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		return a, u.untilEvent(a.Body, "event: main")
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		u.Fatal(err)
	}
	return a, string(text)
}

// see asks, and looks where the answer leads.
func (u *underPath) see(method, path, form string) string {
	u.Helper()
	a, text := u.ask(method, path, form)
	if to := a.Header.Get("Location"); to != "" && !strings.HasPrefix(to, teamJobs+"/") {
		u.Errorf("%s %s leads to %s", method, path, to)
	}
	if a.StatusCode >= 500 {
		u.Errorf("%s %s: %d", method, path, a.StatusCode)
	}
	for _, m := range leads.FindAllStringSubmatch(text, -1) {
		u.seen++
		if to := m[1]; strings.HasPrefix(to, "/") && to != teamJobs && !strings.HasPrefix(to, teamJobs+"/") {
			u.Errorf("%s %s: %s", method, path, m[0])
		}
	}
	// What is told to type at a terminal of this machine: of a proxy's path it knows nothing.
	if !u.stripped && strings.Contains(strings.ReplaceAll(text, u.base+teamJobs+"/", ""), u.base) {
		u.Errorf("%s %s: an address of this site without its prefix", method, path)
	}
	return text
}

// signsIn does so by a link.
func (u *underPath) signsIn(link string) {
	u.Helper()
	_, secret, _ := strings.Cut(link, "/login/")
	a, text := u.ask("GET", "/login/"+secret, "")
	leads := strings.Contains(text, `content="0;url=`+teamJobs+`/"`)
	if list := a.Cookies(); !leads || len(list) != 1 || list[0].Path != teamJobs {
		u.Fatalf("the link did not sign in: %d, %v, %s", a.StatusCode, list, text)
	}
	u.cookie = a.Cookies()[0].Name + "=" + a.Cookies()[0].Value
}

// looks loads every page, what is said in place of one, what pages load, and streams.
func (u *underPath) looks() {
	u.Helper()
	others := []string{"/nothing", "/jobs/99", "/login/old", "/static", "/do", "/favicon.ico", "/static/page.js"}
	for _, path := range append(others, everyPage...) {
		u.see("GET", path, "")
	}
	for _, path := range []string{"/", "/jobs", "/jobs/2", "/workflows", "/hosts", "/attachments"} {
		if text := u.see("GET", "/live?at="+url.QueryEscape(path), ""); !strings.Contains(text, `href="`+teamJobs+"/") {
			u.Errorf("the stream of %s shows no link", path)
		}
	}
}

// orders sends every form that there is, and some that lead elsewhere.
func (u *underPath) orders() {
	u.Helper()
	token := regexp.MustCompile(`name="form_token" value="([^"]+)"`).FindStringSubmatch(u.see("GET", "/jobs/1", ""))
	if token == nil {
		u.Fatal("there is no form")
	}
	form := url.Values{
		"form_token": {token[1]}, "id": {"1"}, "back": {"/jobs/1"}, "type": {"mail"}, "run": {"1"}, "verb": {"hold"},
		"workflow": {"nightly"}, "version": {"1"}, "priority": {"3"}, "instance": {"1"}, "rule": {"1"},
		"operation": {"1"}, "all": {"yes"},
	}
	for verb := range verbs { // what is nonsense is refused in a page of its own
		u.see("POST", "/do/"+verb, form.Encode())
	}
	for _, back := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`, "/hosts"} {
		form.Set("back", back)
		u.see("POST", "/do/priority", form.Encode())
	}
	u.see("POST", "/logout", url.Values{"form_token": {token[1]}}.Encode())
}

// Under a prefix no page, no refusal, no stream and no redirect names a path of this site that is not below it: not by
// the prefix of the configuration, and not by that of a proxy's header.
func TestPages_NoLinkEscapesThePrefix(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]web.Behind{"configuration": {Prefix: teamJobs}, "header": {Proxies: loopback()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &underPath{site: openSite(t), stripped: name == "header"}
			u.fill()
			var link string
			u.base, link = u.behindDoor(behind)
			u.looks()
			u.signsIn(link)
			u.looks()
			u.orders()
			if u.seen < 1000 {
				t.Errorf("only %d links were seen", u.seen)
			}
		})
	}
}

func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} }

// untilEvent reads a stream until an event has come whole.
func (s *site) untilEvent(from io.Reader, event string) string {
	s.Helper()
	var all []byte
	some := make([]byte, 32<<10)
	for {
		n, err := from.Read(some)
		all = append(all, some[:n]...)
		if _, rest, is := strings.Cut(string(all), event); is && strings.Contains(rest, "\n\n") {
			return string(all)
		}
		if err != nil {
			s.Errorf("the stream ended with %v, and without %q: %.2000s", err, event, all)
			return string(all)
		}
	}
}

// No template names a path of this site but behind the root.
func TestTemplates_EveryPathIsBehindTheRoot(t *testing.T) {
	t.Parallel()
	list, err := templates.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range list {
		text, err := templates.ReadFile("templates/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:href|src|action)="([^"]*)`).FindAllStringSubmatch(string(text), -1) {
			switch to := m[1]; {
			case strings.HasPrefix(to, "{{root}}"), to == "{{asset ", strings.HasPrefix(to, "#"):
				seen++
			case strings.Contains(string(text), `{{with .Trace.TraceURL}} <a class="more" `+m[0]+`"`): // a collector's
			default:
				t.Errorf("%s: %s", f.Name(), m[0])
			}
		}
	}
	if seen < 70 {
		t.Errorf("only %d paths were seen", seen)
	}
}

// A job's page says its error once, how long ago it failed, and how many failed like it.
func TestJob_TheErrorIsSaidOnce(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, args, state, attempt, fence, host, child, started_at, ended_at, exit_code, error)
		select 'mail', '{"to": "ann"}', 'failed', 1, 1, 'local', 'mail.1', now() - interval '9 s', now() - interval '8 s', 1,
		       'exit status 1: no paper in tray ' || g from generate_series(1, 3) g`)
	page := s.get(http.StatusOK, "/jobs/2")
	if n := strings.Count(page, "no paper in tray 2"); n != 1 {
		t.Errorf("the error is said %d times:\n%s", n, page)
	}
	for _, want := range []string{"3 jobs fail like this", "failed <time", "{\n  &#34;to&#34;: &#34;ann&#34;\n}", "No output."} {
		if !strings.Contains(page, want) {
			t.Errorf("it has no %q:\n%s", want, page)
		}
	}
}
