package web

import (
	"crypto/sha256"
	"net/http"
	"testing"
)

// One caller takes no more than its share, so that there is room for others, and all of them no more than there is.
func TestPlaces_AreSharedAmongCallers(t *testing.T) {
	t.Parallel()
	p := &Places{All: 5, Each: 3}
	var leave []func()
	for range 3 {
		l, problem := p.Take("one")
		if problem != nil {
			t.Fatal(problem)
		}
		leave = append(leave, l)
	}
	if _, problem := p.Take("one"); problem == nil || problem.Status != http.StatusTooManyRequests ||
		problem.GetHeaders().Get("Retry-After") == "" {
		t.Errorf("a fourth: %+v", problem)
	}
	for _, caller := range []string{"two", "three"} {
		if _, problem := p.Take(caller); problem != nil {
			t.Errorf("%s is kept out: %v", caller, problem)
		}
	}
	if _, problem := p.Take("four"); problem == nil || problem.Status != http.StatusServiceUnavailable {
		t.Errorf("a sixth: %+v", problem)
	}
	leave[0]()
	leave[0]() // it gives back what it had, and no more
	if _, problem := p.Take("four"); problem != nil {
		t.Errorf("a place was given back, and there is none: %v", problem)
	}
	if _, problem := p.Take("five"); problem == nil {
		t.Error("a place was given back twice")
	}
}

// A look ahead by HEAD, as chats and mail programs make one of each link, spends no link and gives no cookie.
func TestLogin_IsNotSpentByHead(t *testing.T) {
	t.Parallel()
	s := openSite(t, Config{}, kept{sha256.Sum256([]byte("SECRET")): "bellhop_operator"})
	if a := ask(t, s, "HEAD", "/login/SECRET"); a.StatusCode != http.StatusMethodNotAllowed || len(a.Cookies()) > 0 {
		t.Errorf("HEAD: %d, %v", a.StatusCode, a.Cookies())
	}
	if a := ask(t, s, "GET", "/login/SECRET"); a.StatusCode != http.StatusOK || len(a.Cookies()) != 1 {
		t.Errorf("GET after it: %d, %v", a.StatusCode, a.Cookies())
	}
}
