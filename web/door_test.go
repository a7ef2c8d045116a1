package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// kept are sessions in memory: those of the database are sql/store's.
type kept map[[sha256.Size]byte]string

func (k kept) Enter(_ context.Context, link, session [sha256.Size]byte) (string, string, bool, error) {
	role, ok := k[link]
	delete(k, link)
	if ok {
		k[session] = role
	}
	return "ann", role, ok, nil
}

func (k kept) Session(_ context.Context, session [sha256.Size]byte) (string, string, bool, bool, error) {
	role, ok := k[session]
	person, is := strings.CutPrefix(role, "person ")
	return "ann", person, is, ok, nil
}

func (k kept) Admit(
	_ context.Context, session, attempt [sha256.Size]byte, _, role string, _ time.Duration,
) (bool, error) {
	if _, spent := k[attempt]; spent {
		return false, nil
	}
	k[attempt], k[session] = "", "person "+role
	return true, nil
}

func (k kept) Leave(_ context.Context, session [sha256.Size]byte) error {
	delete(k, session)
	return nil
}

// nobodyMay gives no role any right.
type nobodyMay struct{}

func (nobodyMay) Rights(context.Context, string) (submits, operates bool, err error) {
	return false, false, nil
}

func openSite(t *testing.T, c Config, sessions Sessions) *Server {
	t.Helper()
	c.Listen, c.Ready = "127.0.0.1:0", func() string { return "" }
	c.Counts = func() http.Handler { return nil }
	s, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	room := NewMux()
	room.Route("/", Known, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Role", CallerOf(r.Context()).Role)
		w.Header().Set("Form", CallerOf(r.Context()).Form)
	})
	s.Open(room, sessions, nobodyMay{})
	return s
}

func ask(t *testing.T, s *Server, method, path string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}

func TestDoor_KnowsWhoAsks(t *testing.T) {
	t.Parallel()
	old := Token{Name: "old", Role: "r", Secret: "expired-expired-", Expires: time.Now().Add(-time.Second)}
	s := openSite(t, Config{Tokens: []Token{{Name: "ops", Role: "bellhop_operator", Secret: goodToken}, old}}, kept{})
	for _, c := range []struct {
		sent, role string
		status     int
	}{
		{"", Reader, 200},
		{"Bearer " + goodToken, "bellhop_operator", 200},
		{"Bearer wrong", "", 401},
		{"Bearer expired-expired-", "", 401},
		{"Basic " + goodToken, "", 401},
	} {
		headers := []string{"Authorization", c.sent}
		if c.sent == "" {
			headers = nil
		}
		a := ask(t, s, "GET", "/api/v1/x", headers...)
		if a.StatusCode != c.status || a.Header.Get("Role") != c.role {
			t.Errorf("%q: %d %q", c.sent, a.StatusCode, a.Header.Get("Role"))
		}
	}
}

func TestDoor_RefusesNamesThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{Hosts: []string{"jobs.example.org"}}, kept{})
	for host, status := range map[string]int{
		"localhost": 200, "LOCALHOST.:80": 200, "127.0.0.1": 200, "[::1]:8470": 200, "jobs.example.org:8470": 200,
		"evil.example": 421, "localhost.evil.example": 421, "evil.example:8470": 421,
	} {
		if a := ask(t, s, "GET", "/", "Host", host); a.StatusCode != status {
			t.Errorf("%s: %d", host, a.StatusCode)
		}
	}
}

func TestDoor_RefusesWhatAnotherSiteSends(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{}, kept{})
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 200}, // no browser
		{[]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
	} {
		if a := ask(t, s, "POST", "/api/v1/jobs", c.headers...); a.StatusCode != c.status {
			t.Errorf("%v: %d", c.headers, a.StatusCode)
		}
	}
}

// A room never gets more of a body than is allowed.
func TestDoor_BodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{}, kept{})
	room := NewMux()
	room.Route("/", Known, func(w http.ResponseWriter, r *http.Request) {
		var long *http.MaxBytesError
		n, err := io.Copy(io.Discard, r.Body)
		w.Header().Set("Read", fmt.Sprint(n, errors.As(err, &long)))
	})
	s.Open(room, kept{}, nobodyMay{})
	for size, want := range map[int]string{
		BodyMost:     fmt.Sprint(BodyMost, false),
		BodyMost + 1: fmt.Sprint(BodyMost, true),
	} {
		a, err := http.Post("http://"+s.Addr()+"/", "text/plain", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if got := a.Header.Get("Read"); got != want {
			t.Errorf("of %d bytes it read %s, want %s", size, got, want)
		}
	}
}

// A link works once; what its cookie sends and changes something needs the form's token.
func TestDoor_SessionOfALink(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{}, kept{sha256.Sum256([]byte("SECRET")): "bellhop_operator"})
	if a := ask(t, s, "GET", "/login/WRONG"); a.StatusCode != 403 {
		t.Errorf("a wrong link: %d", a.StatusCode)
	}
	a := ask(t, s, "GET", "/login/SECRET")
	if a.StatusCode != 200 || len(a.Cookies()) != 1 {
		t.Fatalf("%d, %v", a.StatusCode, a.Cookies())
	}
	c := a.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		t.Errorf("%v", c)
	}
	if a := ask(t, s, "GET", "/login/SECRET"); a.StatusCode != 403 {
		t.Errorf("the link again: %d", a.StatusCode)
	}
	sent := cookie + "=" + c.Value
	page := ask(t, s, "GET", "/", "Cookie", sent)
	form := page.Header.Get("Form")
	if page.Header.Get("Role") != "bellhop_operator" || form == "" || strings.Contains(form, c.Value) {
		t.Errorf("%q %q", page.Header.Get("Role"), form)
	}
	if a := ask(t, s, "POST", "/x", "Cookie", sent); a.StatusCode != 403 {
		t.Errorf("without the form's token: %d", a.StatusCode)
	}
	if a := ask(t, s, "POST", "/x", "Cookie", sent, "X-Form-Token", form); a.StatusCode != 200 {
		t.Errorf("with it: %d", a.StatusCode)
	}
	if a := ask(t, s, "GET", "/", "Cookie", cookie+"=forged"); a.Header.Get("Role") != Reader {
		t.Errorf("a forged cookie: %q", a.Header.Get("Role"))
	}
	if a := ask(t, s, "POST", "/logout", "Cookie", sent, "X-Form-Token", form); a.StatusCode != 303 {
		t.Errorf("logout: %d", a.StatusCode)
	}
	if a := ask(t, s, "GET", "/", "Cookie", sent); a.Header.Get("Role") != Reader {
		t.Errorf("after logout: %q", a.Header.Get("Role"))
	}
}

func TestDoor_FormsField(t *testing.T) {
	t.Parallel()
	who := Identity{Form: "abc"}
	for sent, fine := range map[string]bool{"abc": true, "abd": false, "": false} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(url.Values{"form_token": {sent}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if problem := (&door{}).form(r, who); (problem == nil) != fine {
			t.Errorf("%q: %v", sent, problem)
		}
	}
}
