package page

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// scriptMost is how much script a browser is given, all of it.
const scriptMost = 20_000

var scriptTag = regexp.MustCompile(`(?i)<script[^>]*>`)

// Every page, for every role, and what is said in its place: the policy lets in what this site serves, nothing that
// stands inline, and no other site's frame; all script together is small.
func TestPolicy_OfEveryPage(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.fill()
	base, link, _ := s.openDoor()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(c *http.Client, address string) (*http.Response, string) {
		t.Helper()
		r, err := c.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r, string(body)
	}
	scripts := map[string]int{}
	see := func(c *http.Client, address string) {
		t.Helper()
		r, body := get(c, address)
		policy := map[string]string{}
		for part := range strings.SplitSeq(r.Header.Get("Content-Security-Policy"), ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), " ")
			policy[name] = value
		}
		for name, want := range map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'",
			"connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
			"require-trusted-types-for": "'script'", "trusted-types": "bellhop",
		} {
			if policy[name] != want {
				t.Errorf("%s: %s is %q, not %q", address, name, policy[name], want)
			}
		}
		for _, tag := range scriptTag.FindAllString(body, -1) {
			_, from, _ := strings.Cut(tag, `src="`)
			from, _, _ = strings.Cut(from, `"`)
			if !strings.HasPrefix(from, "/static/") {
				t.Errorf("%s: %s is no script of this site's", address, tag)
			} else if _, is := scripts[from]; !is {
				_, text := get(c, base+from)
				scripts[from] = len(text)
			}
		}
	}
	reader, operator := &http.Client{}, &http.Client{Jar: jar}
	see(operator, link)
	if _, body := get(operator, base+"/jobs/2"); !strings.Contains(body, `action="/do/retry"`) {
		t.Fatal("the link did not sign in")
	}
	for _, c := range []*http.Client{reader, operator} {
		for _, path := range append([]string{"/nothing", "/jobs/99", "/login/old", "/healthz"}, everyPage...) {
			see(c, base+path)
		}
	}
	all := 0
	for _, n := range scripts {
		all += n
	}
	if all == 0 || all > scriptMost {
		t.Errorf("the pages' scripts %v have %d bytes, and may have %d", scripts, all, scriptMost)
	}
}

// Were a field's text to become markup one day, the browser would refuse what it orders: here something stands between
// them and writes scripts, handlers and styles into a page on its way, behind what stays current, under the headers
// that were sent with it.
func TestBrowser_RefusesWhatStandsInline(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
	const slipped = `</main><b id="slipped">in</b><script>window.ran = 'script'</script>` +
		`<img src="/nothing.png" onerror="window.ran = 'handler'">` +
		`<a id="lead" href="javascript:void(window.ran = 'link')">lead</a>` +
		`<style>#slipped { color: rgb(1, 2, 3) }</style>`
	chromedp.ListenTarget(b.Context, func(event any) {
		paused, is := event.(*fetch.EventRequestPaused)
		if !is {
			return
		}
		go func() { // whoever listens may not ask
			ctx := cdp.WithExecutor(b.Context, chromedp.FromContext(b.Context).Target)
			body, err := fetch.GetResponseBody(paused.RequestID).Do(ctx)
			if err != nil {
				t.Error(err)
			}
			with := strings.Replace(string(body), "</main>", slipped, 1)
			headers := slices.DeleteFunc(paused.ResponseHeaders, func(h *fetch.HeaderEntry) bool {
				return strings.EqualFold(h.Name, "Content-Length")
			})
			err = fetch.FulfillRequest(paused.RequestID, paused.ResponseStatusCode).WithResponseHeaders(headers).
				WithBody(base64.StdEncoding.EncodeToString([]byte(with))).Do(ctx)
			if err != nil {
				t.Error(err)
			}
		}()
	})
	b.run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{
		{URLPattern: "*/jobs", RequestStage: fetch.RequestStageResponse}}))
	b.run(chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#slipped"))
	b.until(`!!document.getElementById('job-1')`)
	b.run(chromedp.Click("#lead", chromedp.ByID))
	got := b.eval(`[String(window.ran), getComputedStyle(document.getElementById('slipped')).color === 'rgb(1, 2, 3)',
		(() => { try { document.getElementById('slipped').innerHTML = '<i>x</i>'; return 'taken' }
			catch (e) { return e.name } })()].join(' ')`)
	if got != "undefined false TypeError" {
		t.Errorf("what stands inline is obeyed: %s", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	refused := 0
	for _, said := range b.noise {
		if strings.Contains(said, "Content Security Policy") {
			refused++
		}
	}
	if refused < 4 { // script, handler, link, style
		t.Errorf("the browser reports %d refusals: %q", refused, b.noise)
	}
}
