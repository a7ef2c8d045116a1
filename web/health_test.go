package web

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestReadyz_SaysInWordsWhatKeepsItFromWorking(t *testing.T) {
	t.Parallel()
	why := "lease lost"
	s, err := Listen(
		Config{Listen: "127.0.0.1:0", Ready: func() string { return why }, Counts: func() http.Handler { return nil }},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	if code, body := get("/readyz"); code != 503 || !strings.Contains(body, why) {
		t.Errorf("not ready: %d %q", code, body)
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("alive: %d", code)
	}
	why = ""
	if code, body := get("/readyz"); code != 200 {
		t.Errorf("ready: %d %q", code, body)
	}
}

func TestListen_RefusesWhatOtherMachinesCanReach(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0"} {
		if s, err := Listen(Config{Listen: addr}); !errors.Is(err, ErrNoToken) {
			if s != nil {
				s.Close()
			}
			t.Errorf("%s: %v", addr, err)
		}
	}
}
