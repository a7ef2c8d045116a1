package api_test

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

const nightly = "workflow: nightly\nactive: false\nsteps:\n  - {name: one, type: sh, args: x}\n"

// bodies are what routes are sent that need something.
var bodies = map[string]string{
	"POST /jobs":                        `{"type": "sh", "args": "exit 0"}`,
	"POST /jobs/batch":                  `{"type": "sh", "args": "exit 0"}` + "\n" + `{"type": "sh"}`,
	"PATCH /jobs/{id}":                  `{"priority": 3}`,
	"POST /operations":                  `{"verb": "hold", "filter": {"type": ["sh"]}}`,
	"PUT /workflows/{name}":             nightly,
	"POST /workflows/import":            strings.ReplaceAll(nightly, "nightly", "other"),
	"POST /workflows/{name}/run":        `{}`,
	"POST /workflows/{name}/events":     `{"event": "e1"}`,
	"POST /workflows/activate":          `{"names": ["nightly"]}`,
	"POST /workflows/deactivate":        `{"names": ["night*"]}`,
	"POST /workflows/run":               `{"names": ["none"]}`,
	"GET /cron/explain":                 "",
	"POST /notification-rules":          `{"mail": ["ops@example.org"]}`,
	"PUT /notification-rules/{id}":      `{"webhook": "https://hooks.example.org/x"}`,
	"POST /filters":                     `{"action": "CONTINUE"}`,
	"PUT /filters/{id}":                 `{"action": "CONTINUE", "predicates": [["opcode", ["=", "type", "mail"]]]}`,
	"POST /workflows/{name}/deactivate": "",
}

// Every route, as everybody: whoever may is answered as openapi.json says, whoever may not is refused, nobody
// learns of an error of ours.
func TestRoutes_AsEverybody(t *testing.T) {
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
	s.must(201, "operator", "POST", "/jobs", `{"type": "sh", "args": "exit 0", "held": true}`)
	s.must(201, "operator", "POST", "/jobs", `{"type": "unserved", "args": "x"}`) // a type that is not paused
	s.must(200, "operator", "PUT", "/workflows/nightly", nightly)
	s.must(201, "operator", "POST", "/operations", `{"verb": "hold", "filter": {"type": ["none"]}}`)
	s.must(201, "operator", "POST", "/notification-rules", `{"mail": ["ops@example.org"]}`)
	for _, path := range document.Paths.InMatchingOrder() {
		for method, op := range document.Paths.Value(path).Operations() {
			least, _ := op.Extensions["x-role"].(string)
			at := strings.NewReplacer("{id}", "1", "{name}", "nightly", "{type}", "sh", "{version}", "1").Replace(path)
			if path == "/cron/explain" {
				at += "?cron=0+2+*+*+*"
			}
			if path == "/jobs/{id}/wait" {
				at += "?timeout=50ms"
			}
			if least == "" {
				t.Errorf("%s %s says no role", method, path)
			}
			for _, role := range []string{"", "wrong", "expired", "reader", "submitter", "operator"} {
				status, answer, header := s.answer(role, method, at, bodies[method+" "+path])
				who := role
				if who == "" {
					who = "reader" // on a loopback address
				}
				switch {
				case status >= 500:
					t.Errorf("%s %s as %q: %d: %s", method, at, role, status, answer)
				case role == "wrong" || role == "expired":
					if status != 401 {
						t.Errorf("%s %s with a token that is %s: %d", method, at, role, status)
					}
				case least == "operator" && who != "operator" && status < 400:
					t.Errorf("%s %s as %s: %d: %s", method, at, role, status, answer)
				case least == "submitter" && who == "reader" && method != "GET" && status < 400:
					t.Errorf("%s %s as %s: %d: %s", method, at, role, status, answer)
				case (least == who || who == "operator") && (status == 401 || status == 403):
					t.Errorf("%s %s as %s: %d: %s", method, at, role, status, answer)
				}
				if status >= 400 && !strings.Contains(answer, `"code":"`) {
					t.Errorf("%s %s as %q: %d without a code: %s", method, at, role, status, answer)
				}
				said(t, op, method, path, status, answer, header)
			}
		}
	}
}

// said checks an answer against the document.
func said(
	t *testing.T, op *openapi3.Operation, method, path string, status int, answer string,
	header http.Header,
) {
	t.Helper()
	if !strings.Contains(header.Get("Content-Type"), "json") || strings.Contains(header.Get("Content-Type"), "ndjson") {
		return
	}
	declared := op.Responses.Status(status)
	if declared == nil {
		if !slices.Contains([]int{404, 409, 415, 421}, status) { // what any route may say
			t.Errorf("%s %s: %d is not in openapi.json", method, path, status)
		}
		return
	}
	media := declared.Value.Content.Get(header.Get("Content-Type"))
	if media == nil || media.Schema == nil {
		t.Errorf("%s %s: %d answers %s, which is not in openapi.json", method, path, status, header.Get("Content-Type"))
		return
	}
	var v any
	if err := unmarshal(answer, &v); err != nil {
		t.Errorf("%s %s: %d: %v: %s", method, path, status, err, answer)
		return
	}
	var wrong openapi3.MultiError
	err := media.Schema.Value.VisitJSON(v, openapi3.MultiErrors())
	if errors.As(err, &wrong) { // kin-openapi reads {} as of 3.0, where it has no null
		wrong = slices.DeleteFunc(wrong, func(err error) bool {
			var one *openapi3.SchemaError
			return errors.As(err, &one) && one.Schema.Type == nil && one.Value == nil
		})
		if err = nil; len(wrong) > 0 {
			err = wrong
		}
	}
	if err != nil {
		t.Errorf("%s %s: %d does not keep to openapi.json: %v\n%s", method, path, status, err, answer)
	}
}
