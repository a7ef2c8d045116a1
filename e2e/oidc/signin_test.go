package oidc

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

func has(t *testing.T, p page, status int, words ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%s: %d, not %d\n%s", p.at, p.status, status, p.text)
	}
	for _, word := range words {
		if !strings.Contains(p.text, word) {
			t.Errorf("%s says nothing of %q:\n%s", p.at, word, p.text)
		}
	}
}

// withToken asks with the token of a program.
func (i *program) withToken(path string) int {
	i.t.Helper()
	r, err := http.NewRequest(http.MethodGet, i.at+path, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		i.t.Fatal(err)
	}
	_ = a.Body.Close() // only the status counts
	return a.StatusCode
}

var formToken = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

func TestPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the program is built and started")
	}
	address := free(t)
	p := startProvider(t, "http://"+address+"/oidc/callback")
	p.add("ann", "staff", "ops")
	p.add("ben", "staff")
	p.add("eve", "guests")
	i := serve(t, build(t), address, p)
	for _, c := range []struct {
		name string
		test func(*testing.T, *program, *provider)
	}{
		{"a person is asked, and comes back to the page", comesBack},
		{"rights are those of the groups", rights},
		{"a person without a group is told which one it takes", noGroup},
		{"a group that was taken away counts at the next sign-in", groupGone},
		{"tokens that prove nothing", badTokens},
		{"an answer is for one use, and for one browser", replayed},
		{"no address leads to another site", elsewhere},
		{"without the provider", down},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, &program{t, i.at}, p) })
	}
}

func comesBack(t *testing.T, i *program, _ *provider) {
	b := newBrowser(t)
	has(t, b.goOn(b.signIn(i.at+"/jobs?state=failed&type=a%20b", "ann")), 200, "ann@example.org", "Jobs")
	if self := b.self(i); self.Name != "ann@example.org" || self.Role != "bellhop_operator" || self.Via != "oidc" {
		t.Errorf("%+v", self)
	}
	for _, path := range []string{"/", "/api/v1/jobs"} {
		a, err := http.Get(i.at + path)
		if err != nil {
			t.Fatal(err)
		}
		if _ = a.Body.Close(); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without an identity: %d", path, a.StatusCode)
		}
	}
}

type self struct{ Name, Role, Via string }

func (b *browser) self(i *program) (s self) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.open(i.at+"/api/v1/whoami").text), &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func rights(t *testing.T, i *program, _ *provider) {
	reader, operator := newBrowser(t), newBrowser(t)
	reader.goOn(reader.signIn(i.at+"/", "ben"))
	overview := operator.goOn(operator.signIn(i.at+"/", "ann"))
	form := formToken.FindStringSubmatch(overview.text)
	if form == nil {
		t.Fatal("no form has a token")
	}
	pause := func(b *browser, with string) page {
		return b.send(i.at+"/do/pause", url.Values{"type": {"thumb"}, "form_token": {with}})
	}
	has(t, pause(reader, form[1]), http.StatusForbidden)
	has(t, pause(operator, "none"), http.StatusForbidden, "form")
	has(t, pause(operator, form[1]), http.StatusOK)
	has(t, operator.open(i.at+"/changes?by=ann@example.org"), http.StatusOK, "<b>pause</b>", "type thumb",
		"ann@example.org <small>person, as bellhop_operator")
	has(t, operator.send(i.at+"/logout", url.Values{"form_token": {form[1]}}), http.StatusOK, "Signed out")
	if asked := operator.open(i.at + "/"); asked.at.Hostname() != "localhost" {
		t.Errorf("the session goes on: %s", asked.at)
	}
}

func noGroup(t *testing.T, i *program, _ *provider) {
	b := newBrowser(t)
	has(t, b.signIn(i.at+"/", "eve"), http.StatusForbidden, "eve@example.org has no role here", "admins, ops, staff")
	if s := b.self(i); s.Role != "" {
		t.Errorf("%+v", s)
	}
}

func groupGone(t *testing.T, i *program, p *provider) {
	p.add("dan", "ops")
	b := newBrowser(t)
	b.goOn(b.signIn(i.at+"/", "dan"))
	p.add("dan", "staff")
	b = newBrowser(t)
	if b.goOn(b.signIn(i.at+"/", "dan")); b.self(i).Role != "bellhop_reader" {
		t.Errorf("%+v", b.self(i))
	}
	p.add("dan")
	has(t, newBrowser(t).signIn(i.at+"/", "dan"), http.StatusForbidden, "dan@example.org has no role here")
}

// badTokens: each proves an identity to another client, at another time, or not at all.
func badTokens(t *testing.T, i *program, p *provider) {
	var earlier string
	p.set(func() { p.swap = func(now string) string { earlier = now; return now } })
	first := newBrowser(t)
	first.goOn(first.signIn(i.at+"/", "ann"))
	p.set(func() { p.swap = nil })
	foreign := p.tokenFor(t, "other", i.at+"/oidc/callback")
	for name, c := range map[string]struct {
		swap  func(string) string
		lasts time.Duration
		says  string
	}{
		"of another client":      {func(string) string { return foreign }, time.Hour, "not valid for this site"},
		"of an earlier sign-in":  {func(string) string { return earlier }, time.Hour, "belongs to another sign-in"},
		"that has expired":       {nil, -time.Minute, "has expired"},
		"with another signature": {func(now string) string { return now[:len(now)-8] + "AAAAAAAA" }, time.Hour, "not valid for this site"},
		"that is none":           {func(string) string { return "none" }, time.Hour, "not valid for this site"},
		"that is not there":      {func(string) string { return "" }, time.Hour, "no ID token"},
	} {
		p.set(func() { p.swap, p.lasts = c.swap, c.lasts })
		b := newBrowser(t)
		has(t, b.signIn(i.at+"/", "ann"), http.StatusForbidden, c.says)
		if s := b.self(i); s.Role != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	p.set(func() { p.swap, p.lasts = nil, time.Hour })
}

// replayed: the address of an answer is seen by proxies, and stays in the browser's history.
func replayed(t *testing.T, i *program, _ *provider) {
	b := newBrowser(t)
	answer := b.signIn(i.at+"/", "ann")
	b.goOn(answer)
	has(t, b.open(answer.at.String()), http.StatusForbidden, "used already")
	has(t, newBrowser(t).open(answer.at.String()), http.StatusForbidden, "another browser")
	has(t, newBrowser(t).open(i.at+"/oidc/callback"), http.StatusForbidden, "another browser")
	has(t, newBrowser(t).open(i.at+"/oidc/callback?state=x&error=access_denied"), http.StatusForbidden)
}

func elsewhere(t *testing.T, i *program, _ *provider) {
	for _, to := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)"} {
		b := newBrowser(t)
		said := b.signIn(i.at+"/oidc/login?to="+url.QueryEscape(to), "ann")
		if to := leads.FindStringSubmatch(said.text); to == nil || to[1] != "/" {
			t.Errorf("%q: %q", to, to)
		}
	}
}

func down(t *testing.T, i *program, p *provider) {
	signedIn := newBrowser(t)
	signedIn.goOn(signedIn.signIn(i.at+"/", "ann"))
	up := p.down(t)
	i.untilSignIn(http.StatusServiceUnavailable)
	has(t, newBrowser(t).open(i.at+"/"), http.StatusServiceUnavailable, p.issuer, "tokens still work")
	if status := i.withToken("/api/v1/jobs"); status != http.StatusOK {
		t.Errorf("a token: %d", status)
	}
	has(t, signedIn.open(i.at+"/"), http.StatusOK, "ann@example.org")
	up()
	i.untilSignIn(http.StatusSeeOther)
	again := newBrowser(t)
	again.goOn(again.signIn(i.at+"/", "ann"))
}

// untilSignIn asks to sign in until the answer is that. What the provider has said of itself, or that it is not there,
// is believed for a moment.
func (i *program) untilSignIn(status int) {
	i.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err := http.NewRequest(http.MethodGet, i.at+"/oidc/login?here=yes", nil)
		if err != nil {
			i.t.Fatal(err)
		}
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			i.t.Fatal(err)
		}
		_ = a.Body.Close() // only the status counts
		if a.StatusCode == status {
			return
		}
		if time.Now().After(deadline) {
			i.t.Fatalf("the answer stays %d, not %d", a.StatusCode, status)
		}
	}
}
