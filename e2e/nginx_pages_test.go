package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"bellhop/pgdev/pgtest"
)

// The two ways in which a proxy hands a path on: as it is, and without the prefix, which a header names then.
func TestNginx_PagesAndAPIUnderAPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, prefix, yaml, location string }{
		{"as it is", "/jobs", "web: {prefix: /jobs, trusted_proxies: [127.0.0.1]}\n", locationOfDocs(t)},
		{"taken away", "/team/board", "web: {trusted_proxies: [127.0.0.1]}\n", `location /team/board/ {
			proxy_pass http://127.0.0.1:8470/;
			proxy_set_header Host $http_host;
			proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
			proxy_set_header X-Forwarded-Proto $scheme;
			proxy_set_header X-Forwarded-Prefix /team/board;
		}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			token := e.file("operator.token", "operator-operator-operator\n", 0o600)
			i := e.serve(c.yaml + "allowed_hosts: [jobs.example.org]\ntokens: [{name: ops, role: operator, file: " + token + "}]\n")
			v := &visit{gateway: behindNginx(t, i, c.location), e: e, i: i, prefix: c.prefix}
			v.Client = v.gateway.client()
			v.base = "https://" + v.host + v.prefix
			v.job = e.insert("type, key", "nothing", "order.1")
			v.looks()
			v.signsIn()
			v.orders()
			v.asksTheAPI()
			v.staysCurrent()
			v.browses()
		})
	}
}

// visit is somebody who comes by way of nginx.
type visit struct {
	*gateway
	*http.Client
	e            *env
	i            *instance
	prefix, base string // of the path; and where it is asked for
	job          int64
}

// ask sends a request, and gives the answer with what it says.
func (v *visit) ask(status int, method, path, body string, headers ...string) (*http.Response, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	for n := 0; n+1 < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	a, err := v.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != status {
		v.t.Fatalf("%s %s: %d, not %d, %v\n%.1000s", method, path, a.StatusCode, status, err, text)
	}
	if to := a.Header.Get("Location"); to != "" && !strings.HasPrefix(strings.TrimPrefix(to, "https://"+v.host), v.prefix+"/") {
		v.t.Errorf("%s %s leads to %s", method, path, to)
	}
	return a, string(text)
}

// looks loads every page that the others lead to, as far as they lead, and what these load.
func (v *visit) looks() {
	v.t.Helper()
	todo, seen := []string{"/"}, map[string]bool{}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a, text := v.ask(http.StatusOK, "GET", path, "")
		if !a.Uncompressed && len(text) > 0 {
			v.t.Errorf("%s did not come compressed: nothing here is tried with compression", path)
		}
		for _, m := range regexp.MustCompile(`(?:href|src)="(/[^"#]*)`).FindAllStringSubmatch(text, -1) {
			to := strings.ReplaceAll(m[1], "&amp;", "&")
			inside, is := strings.CutPrefix(to, v.prefix)
			if !is {
				v.t.Errorf("%s leads outside, to %s", path, to)
				continue
			}
			if strings.Count(inside, "?") == 0 || strings.HasPrefix(inside, "/static/") { // with filters there is no end
				todo = append(todo, inside)
			}
		}
	}
	for _, want := range []string{"/jobs/" + strconv.FormatInt(v.job, 10), "/system", "/metrics", "/api/v1/openapi.json"} {
		if !seen[want] {
			v.t.Errorf("no page leads to %s", want)
		}
	}
	if len(seen) < 12 {
		v.t.Errorf("only %d pages were seen", len(seen))
	}
	v.ask(http.StatusMovedPermanently, "GET", "/favicon.ico", "")
	v.ask(http.StatusMovedPermanently, "GET", "", "") // nginx itself
}

// signsIn does so by the link that `bellhop ui` prints.
func (v *visit) signsIn() {
	v.t.Helper()
	direct := strings.TrimSpace(v.e.ok("ui", "--print", "--config", v.i.config))
	if v.prefix == "/jobs" && !strings.Contains(direct, "/jobs/login/") {
		v.t.Errorf("the link of this machine is %s", direct)
	}
	link := strings.TrimSpace(v.e.ok("ui", "--print", "--listen", v.base))
	path, is := strings.CutPrefix(link, v.base+"/login/")
	if !is {
		v.t.Fatalf("the link is %s", link)
	}
	a, text := v.ask(http.StatusOK, "GET", "/login/"+path, "", "Accept", "text/html")
	if list := a.Cookies(); len(list) != 1 || !list[0].Secure || list[0].Path != v.prefix {
		v.t.Fatalf("the cookie is %v", a.Cookies())
	}
	has(v.t, text, `content="0;url=`+v.prefix+`/"`)
}

// orders presses buttons, as a page does and as one of another site would like to.
func (v *visit) orders() {
	v.t.Helper()
	path := "/jobs/" + strconv.FormatInt(v.job, 10)
	_, text := v.ask(http.StatusOK, "GET", path, "")
	has(v.t, text, `action="`+v.prefix+`/do/hold"`)
	token := regexp.MustCompile(`name="form_token" value="([^"]+)"`).FindStringSubmatch(text)
	form := url.Values{"form_token": {token[1]}, "id": {strconv.FormatInt(v.job, 10)}, "back": {path}}.Encode()
	const kind = "application/x-www-form-urlencoded"
	v.ask(http.StatusForbidden, "POST", "/do/hold", form, "Content-Type", kind, "Origin", "https://evil.example")
	v.ask(http.StatusForbidden, "POST", "/do/hold", form, "Content-Type", kind, "Sec-Fetch-Site", "cross-site")
	v.ask(http.StatusForbidden, "POST", "/do/hold", "id=1", "Content-Type", kind, "Sec-Fetch-Site", "same-origin")
	a, _ := v.ask(http.StatusSeeOther, "POST", "/do/hold", form, "Content-Type", kind, "Origin", "https://"+v.host)
	_, text = v.ask(http.StatusOK, "GET", strings.TrimPrefix(a.Header.Get("Location"), v.prefix), "")
	has(v.t, text, "1 job was held")
	v.e.waitState(v.job, "held")
	v.ask(http.StatusSeeOther, "POST", "/do/release", form, "Content-Type", kind, "Sec-Fetch-Site", "same-origin")
	v.e.waitState(v.job, "ready")
}

// asksTheAPI sends a token: what the API says of addresses is where one asks for them here.
func (v *visit) asksTheAPI() {
	v.t.Helper()
	sent := []string{"Authorization", "Bearer operator-operator-operator", "Content-Type", "application/json"}
	a, _ := v.ask(http.StatusCreated, "POST", "/api/v1/jobs", `{"type": "nothing"}`, sent...)
	at := strings.TrimPrefix(a.Header.Get("Location"), v.prefix)
	a, _ = v.ask(http.StatusOK, "GET", at, "", sent...)
	tag := append(sent, "If-Match", a.Header.Get("ETag"))
	for _, status := range []int{http.StatusOK, http.StatusPreconditionFailed} { // compressed, its tag is a weak one
		v.ask(status, "PATCH", at, `{"priority": 5}`, tag...)
	}
	_, text := v.ask(http.StatusOK, "GET", "/api/v1/openapi.json", "")
	has(v.t, text, `"url": "`+v.prefix+`/api/v1"`)
	for _, path := range []string{"/api/v1/nothing", "/api/v1/jobs?nonsense=1"} {
		r, err := http.NewRequestWithContext(v.t.Context(), "GET", v.base+path, nil)
		if err != nil {
			v.t.Fatal(err)
		}
		a, err := v.Do(r)
		if err != nil {
			v.t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		has(v.t, string(text), "curl "+v.prefix+"/api/v1/openapi.json")
	}
}

// staysCurrent reads the streams: what happens is told when it happens, though the proxy gathers and compresses.
func (v *visit) staysCurrent() {
	v.t.Helper()
	for _, c := range []struct{ path, first, key string }{
		{"/live?at=%2Fjobs", "event: hello", "order.live"}, {"/api/v1/events", "event: queue", "order.events"},
	} {
		// A gathered stream would come when a buffer is full, which takes many minutes, or with its end, after ten.
		ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
		r, err := http.NewRequestWithContext(ctx, "GET", v.base+c.path, nil)
		if err != nil {
			v.t.Fatal(err)
		}
		a, err := v.Do(r)
		if err != nil {
			v.t.Fatalf("%s: nothing came: %v", c.path, err)
		}
		if !a.Uncompressed || a.Header.Get("Content-Type") != "text/event-stream" {
			v.t.Errorf("%s: %v, compressed: %t", c.path, a.Header, a.Uncompressed)
		}
		lines := bufio.NewScanner(a.Body)
		lines.Buffer(nil, 4<<20)
		until := func(text string) {
			v.t.Helper()
			for lines.Scan() {
				if strings.Contains(lines.Text(), text) {
					return
				}
			}
			v.t.Fatalf("%s: %q did not come: %v", c.path, text, lines.Err())
		}
		until(c.first)
		began := time.Now()
		v.e.insert("type, key", c.key, c.key)
		until(c.key)
		v.t.Logf("%s: told after %v", c.path, time.Since(began).Round(time.Millisecond))
		cancel()
		_ = a.Body.Close()
	}
}

// browses does all of that in a real browser.
func (v *visit) browses() {
	v.t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		v.t.Log("NOT TESTED: a browser behind nginx; type `apt-get install chromium`")
		return
	}
	profile, err := os.MkdirTemp("", "bellhop-browser")
	if err != nil {
		v.t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(program),
		chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(time.Minute), chromedp.IgnoreCertErrors,
		chromedp.Flag("host-resolver-rules", "MAP jobs.example.org 127.0.0.1"))
	allocated, endProcess := chromedp.NewExecAllocator(context.Background(), options...)
	tab, endTab := chromedp.NewContext(allocated)
	timed, endTime := context.WithTimeout(tab, 2*patience)
	v.t.Cleanup(func() {
		endTime()
		endTab()
		endProcess()
		_ = os.RemoveAll(profile)
	})
	until := func(script string) {
		v.t.Helper()
		pgtest.Eventually(v.t, patience, script, func() bool {
			var is bool
			err := chromedp.Run(timed, chromedp.Evaluate("document.readyState === 'complete' && !!("+script+")", &is))
			return err == nil && is
		})
	}
	run := func(actions ...chromedp.Action) {
		v.t.Helper()
		if err := chromedp.Run(timed, actions...); err != nil {
			v.t.Fatal(err)
		}
	}
	link := strings.TrimSpace(v.e.ok("ui", "--print", "--listen", v.base))
	run(chromedp.Navigate(link))
	until(`location.pathname === '` + v.prefix + `/' && document.getElementById('live').className === 'dot on'`)
	run(chromedp.KeyEvent("g"), chromedp.KeyEvent("j"))
	until(`location.pathname === '` + v.prefix + `/jobs' && document.getElementById('live').className === 'dot on'`)
	run(chromedp.Evaluate(`window.same = true`, nil))
	id := strconv.FormatInt(v.e.insert("type, key", "nothing", "order.browser"), 10)
	until(`window.same && document.getElementById('job-` + id + `')`)
	run(chromedp.Navigate(v.base+"/jobs/"+id),
		chromedp.Click(`form[action="`+v.prefix+`/do/hold"] button`, chromedp.ByQuery))
	until(`location.pathname === '` + v.prefix + `/jobs/` + id + `'`)
	until(`document.getElementById('said').innerText.includes('1 job was held')`)
	until(`location.search === '' && document.getElementById('live').className === 'dot on'`)
	run(chromedp.KeyEvent("g"), chromedp.KeyEvent("h"))
	until(`location.pathname === '` + v.prefix + `/hosts'`)
	run(chromedp.KeyEvent("/"))
	until(`document.activeElement.id === 'find'`)
	run(chromedp.Evaluate(`document.activeElement.value = '#`+id+`'; document.activeElement.form.submit()`, nil))
	until(`location.pathname === '` + v.prefix + `/jobs/` + id + `'`)
	run(chromedp.Click(`form[action="`+v.prefix+`/logout"] button`, chromedp.ByQuery))
	until(`location.pathname === '` + v.prefix + `/' && !document.querySelector('form[action$="/logout"]')`)
}
