package api_test

import (
	"strings"
	"testing"
)

// Rules are made, shown, changed, tried and deleted; a change says all of what the rule is, and who made it.
func TestNotificationRules_FromFirstToLast(t *testing.T) {
	t.Parallel()
	s := open(t)
	text := s.must(201, "operator", "POST", "/notification-rules",
		`{"project": "demo", "mail": ["ops@example.org", "ann@example.org"], "command": ["page"], "unless_success_within": 3600000}`)
	for _, want := range []string{`"id":1`, `"statuses":["failed"]`, `"unless_success_within":3600000`, `"changed_by":"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if got := s.must(200, "operator", "GET", "/notification-rules/1", ""); got != text {
		t.Errorf("it is shown as %s, and was made as %s", got, text)
	}
	var tested struct{ Messages []int64 }
	if err := unmarshal(s.must(200, "operator", "POST", "/notification-rules/1/test", ""), &tested); err != nil ||
		len(tested.Messages) != 3 {
		t.Errorf("%d messages are sent, of 3: %v", len(tested.Messages), err)
	}
	text = s.must(200, "operator", "GET", "/notifications?status=waiting", "")
	for _, want := range []string{`"target":"ann@example.org"`, `"state":"test"`, `"target":"[\"page\"]"`, `"needs":"command:page"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	text = s.must(200, "operator", "PUT", "/notification-rules/1",
		`{"prefix": "import-", "statuses": ["skipped"], "webhook": "https://hooks.example.org/x"}`)
	for _, want := range []string{`"project":""`, `"prefix":"import-"`, `"mail":[]`, `"command":[]`, `"unless_success_within":null`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	status, late := s.ask("operator", "PUT", "/notification-rules/1?version=1", `{"mail": ["late@example.org"]}`)
	if status != 409 || !strings.Contains(late, "rule 1 has version 2, not 1") || !strings.Contains(late, "bellhop workflow notify ls") {
		t.Errorf("who saw the version before is told %d: %s", status, late)
	}
	s.must(200, "operator", "PUT", "/notification-rules/1?version=2", `{"mail": ["ops@example.org"], "active": false}`)
	text = s.must(200, "operator", "PUT", "/notification-rules/1", `{"mail": ["ops@example.org"]}`)
	if !strings.Contains(text, `"active":false,"version":4`) {
		t.Errorf("a change that does not say so makes it active: %s", text)
	}
	one := "[" + strings.TrimSpace(text) + "]"
	if got := s.must(200, "operator", "GET", "/notification-rules", ""); strings.TrimSpace(got) != one {
		t.Errorf("the list is %s", got)
	}
	s.must(200, "operator", "DELETE", "/notification-rules/1", "")
	for _, gone := range []string{"GET", "DELETE", "PUT"} {
		body := ""
		if gone == "PUT" {
			body = `{"mail": ["a@example.org"]}`
		}
		s.must(404, "operator", gone, "/notification-rules/1", body)
	}
	s.must(404, "operator", "POST", "/notification-rules/1/test", "")
	if text := s.must(200, "operator", "GET", "/notifications", ""); strings.Count(text, `"id":`) != 3 {
		t.Errorf("with the rule its messages went: %s", text)
	}
}

// What names nobody, or nothing that could be sent to, is no rule; and nobody but operators sees who is told.
func TestNotificationRules_RefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, body := range []string{
		`{}`, `{"mail": []}`, `{"mail": ["nobody"]}`, `{"mail": ["a@example.org\nBcc: b@example.org"]}`, `{"webhook": "ftp://example.org"}`,
		`{"webhook": "https://user:secret@example.org/"}`, `{"webhook": "https://"}`, `{"mail": ["a@example.org"], "statuses": ["running"]}`,
		`{"mail": ["a@example.org"], "unless_success_within": -1}`, `{"mail": ["a@example.org"], "project": "\u0000"}`,
		`{"mail": ["a@example.org"], "nonsense": 1}`, `[]`, ``,
	} {
		for _, at := range []string{"POST /notification-rules", "PUT /notification-rules/1"} {
			method, path, _ := strings.Cut(at, " ")
			if status, text := s.ask("operator", method, path, body); status < 400 || status >= 500 || status == 404 {
				t.Errorf("%s %s: %d: %s", at, body, status, text)
			}
		}
	}
	if n := value[int](s, "select count(*) from bellhop.notice_rule"); n != 0 {
		t.Errorf("there are %d rules", n)
	}
	s.must(201, "operator", "POST", "/notification-rules", `{"mail": ["ops@example.org"]}`)
	for _, role := range []string{"", "reader", "submitter"} {
		for _, path := range []string{"/notification-rules", "/notification-rules/1", "/notifications"} {
			s.must(403, role, "GET", path, "")
		}
	}
}
