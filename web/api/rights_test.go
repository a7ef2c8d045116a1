package api_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// trap is a body that notes whether any of it was read.
type trap struct{ sprung bool }

func (b *trap) Read(p []byte) (int, error) {
	b.sprung = true
	return copy(p, strings.Repeat("[", len(p))), nil // it never ends
}

// Whoever may not is refused before a byte of the body was read, on every route that there is.
func TestRoutes_AskForRightsBeforeTheyRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	asked := 0
	for _, path := range document.Paths.InMatchingOrder() {
		for method, op := range document.Paths.Value(path).Operations() {
			least, _ := op.Extensions["x-role"].(string)
			at := strings.NewReplacer("{id}", "1", "{name}", "nightly", "{type}", "sh", "{version}", "1").Replace(path)
			for _, as := range []string{"", "reader", "submitter", "wrong", "expired"} {
				if method == "GET" && as != "wrong" && as != "expired" {
					continue // a look, which reads no body: the role decides what it shows
				}
				ownJob := strings.HasPrefix(path, "/jobs/{id}")
				if as == "submitter" && (least == "submitter" || ownJob) {
					continue // they may
				}
				body := &trap{}
				r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/api/v1"+at, body)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				if as != "" {
					r.Header.Set("Authorization", "Bearer "+tokens[as])
				}
				answer := httptest.NewRecorder()
				s.door.ServeHTTP(answer, r)
				want := http.StatusForbidden
				if as == "" || as == "wrong" || as == "expired" { // before the body's kind is looked at (415)
					want = http.StatusUnauthorized
				}
				if asked++; answer.Code != want || body.sprung {
					t.Errorf("%s %s as %q: %d, the body was read: %t", method, at, as, answer.Code, body.sprung)
				}
			}
		}
	}
	if asked < 100 {
		t.Errorf("%d requests were made", asked)
	}
}

// An operator's hostile body is refused in words, and takes no time.
func TestBodies_AreBoundedBeforeTheyAreParsed(t *testing.T) {
	t.Parallel()
	s := open(t)
	deep := `{"workflow":"x","steps":` + strings.Repeat("[", 20_000)
	for _, x := range []struct {
		method, path, body, want string
		status                   int
	}{
		{"PUT", "/workflows/x", deep, "levels deep", 422},
		{"POST", "/workflows/import", deep, "levels deep", 422},
		{"PUT", "/workflows/x", `{"workflow":"x","steps":` + strings.Repeat("[", 500_000), "too_large", 413},
		{"PUT", "/workflows/x", strings.Repeat("!t ", 80_000), "levels deep", 422},
		{"POST", "/jobs", `{"type":"sh","args":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`, "levels deep", 400},
		{"POST", "/jobs/batch", `{"type":"sh","args":` + strings.Repeat("[", 9_000), "line 1: lists and objects", 422},
		{"POST", "/operations", `{"verb":"hold","filter":` + strings.Repeat(`{"a":`, 200), "levels deep", 400},
		{"PATCH", "/jobs/1", strings.Repeat("[", 1<<20), "levels deep", 400},
	} {
		text := s.must(x.status, "operator", x.method, x.path, x.body)
		if !strings.Contains(text, x.want) {
			t.Errorf("%s %s of %.30s: %s", x.method, x.path, x.body, text)
		}
	}
}
