package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodToken = "0123456789abcdef"

// Health is for everybody; everything else is for who knows the token, a page
// that does not exist included.
func TestListen_AsksForTheTokenButForHealth(t *testing.T) {
	t.Parallel()
	s, err := Listen(Config{
		Listen: "0.0.0.0:0", Tokens: []Token{{Role: Reader, Secret: goodToken, Main: true}},
		Ready: func() string { return "" }, Counts: func() http.Handler { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, port, _ := strings.Cut(s.Addr(), "]:")
	get := func(path, authorization string) int {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusUnauthorized && answer.Header.Get("WWW-Authenticate") == "" {
			t.Error("401 without saying what is asked for")
		}
		return answer.StatusCode
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code := get(path, ""); code != http.StatusOK {
			t.Errorf("%s without a token: %d", path, code)
		}
	}
	for _, no := range []string{"", "Bearer", "Bearer ", "Bearer " + goodToken + "0", "Bearer " + goodToken[1:],
		"Basic " + goodToken, goodToken} {
		for _, path := range []string{"/nothing", "//healthz", "/healthz/", "/metrics"} {
			if code := get(path, no); code != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d", path, no, code)
			}
		}
	}
	for _, yes := range []string{"Bearer " + goodToken, "bearer " + goodToken} {
		if code := get("/nothing", yes); code != http.StatusServiceUnavailable { // no room is open yet
			t.Errorf("with %q: %d", yes, code)
		}
	}
}

func TestReadToken_TakesOnlyItsOwnersFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		why  string
	}{
		"good":           {goodToken + "\n", 0o600, ""},
		"read-only":      {goodToken, 0o400, ""},
		"group may read": {goodToken, 0o640, "chmod 600"},
		"all may read":   {goodToken, 0o644, "chmod 600"},
		"short":          {"secret", 0o600, "needs 16 or more"},
		"empty":          {"", 0o600, "needs 16 or more"},
		"two lines":      {goodToken + "\n" + goodToken, 0o600, "no header can carry"},
		"not ASCII":      {goodToken + "é", 0o600, "no header can carry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(test.text), test.mode); err != nil {
				t.Fatal(err)
			}
			token, err := ReadToken(path)
			switch {
			case test.why == "" && (err != nil || token != goodToken):
				t.Errorf("%q, %v", token, err)
			case test.why != "" && (err == nil || !strings.Contains(err.Error(), test.why)):
				t.Errorf("%v does not say %q", err, test.why)
			case err != nil && test.text != "" && strings.Contains(err.Error(), strings.TrimSpace(test.text)):
				t.Errorf("the token is in %v", err)
			}
		})
	}
}
