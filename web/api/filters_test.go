package api_test

import (
	"strings"
	"testing"
)

// Filters are added, listed, replaced and deleted, and jobs obey them, as by the commands.
func TestFilters_FromFirstToLast(t *testing.T) {
	t.Parallel()
	s := open(t)
	if got := strings.TrimSpace(s.must(200, "reader", "GET", "/filters", "")); got != "[]" {
		t.Errorf("before the first one there is %s", got)
	}
	s.must(201, "operator", "POST", "/jobs", `{"type": "mail", "args": "there already"}`)
	var made struct {
		ID, Action, Reason, CreatedBy string
		Priority                      int
	}
	text := s.must(201, "operator", "POST", "/filters", `{"action": "reject", "predicates": [["opcode", ["=", "type", "mail"]]], "priority": 3, "reason": "no paper"}`)
	if err := unmarshal(text, &made); err != nil || made.ID == "" || made.Action != "REJECT" || made.Priority != 3 ||
		made.Reason != "no paper" {
		t.Fatalf("%s, %v", text, err)
	}
	if state := value[string](s, "select state from bellhop.jobqueue where id = 1"); state != "cancelled" {
		t.Errorf("the job that was there is %s", state)
	}
	if status, text := s.ask("operator", "POST", "/jobs", `{"type": "mail"}`); status != 409 || !strings.Contains(text, "no paper") {
		t.Errorf("a job that is rejected: %d, %s", status, text)
	}
	s.must(200, "operator", "PUT", "/filters/"+made.ID, `{"action": "RATE_LIMIT 10 per 1m"}`)
	text = s.must(200, "reader", "GET", "/filters/"+made.ID, "")
	for _, want := range []string{`"action":"RATE_LIMIT 10 per 1m"`, `"predicates":[]`, `"reason":""`, `"priority":0`, `"watermark":1`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	s.must(201, "operator", "POST", "/jobs", `{"type": "mail"}`)
	s.must(200, "operator", "PUT", "/filters/early", `{"action": "CONTINUE"}`)
	if list := s.must(200, "", "GET", "/filters", ""); strings.Count(list, `"id":`) != 2 {
		t.Errorf("the list is %s", list)
	}
	for _, id := range []string{made.ID, "early"} {
		s.must(200, "operator", "DELETE", "/filters/"+id, "")
		s.must(404, "operator", "DELETE", "/filters/"+id, "")
		s.must(404, "operator", "GET", "/filters/"+id, "")
	}
}

// What cannot be read is no filter, and says where; and nobody but operators writes one.
func TestFilters_RefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range []struct{ body, says string }{
		{`{}`, "action"}, {`{"action": ""}`, "action"}, {`{"action": "  "}`, "there is no action"}, {`{"action": "STOP"}`, "there is no action"},
		{`{"action": "PAUSE now"}`, "takes nothing"}, {`{"action": "RATE_LIMIT 0"}`, "RATE_LIMIT"}, {`{"action": "PAUSE", "priority": -1}`, "priority"},
		{`{"action": "PAUSE", "predicates": [["opcode", ["=", "type"]]]}`, "character"}, {`{"action": "PAUSE", "predicates": ["opcode"]}`, "predicate"},
		{`{"action": "PAUSE", "predicates": [["nosuch", ["?", "x"]]]}`, "jobid"}, {`{"action": "PAUSE", "predicates": {}}`, "array"},
		{`{"action": "PAUSE", "predicates": [["opcode", ["=~", "type", "("]]]}`, "character"}, {`{"action": "PAUSE", "reason": "\u0000"}`, "NUL"},
		{`{"action": "PAUSE", "nonsense": 1}`, "nonsense"}, {`[]`, ""},
		{`{"action": "PAUSE", "predicates": [["opcode", ` + strings.Repeat(`["!", `, 70) + `["?", "type"]` + strings.Repeat("]", 70) + `]]}`, "deep"},
	} {
		for _, at := range []string{"POST /filters", "PUT /filters/one"} {
			method, path, _ := strings.Cut(at, " ")
			status, text := s.ask("operator", method, path, c.body)
			if status != 422 && status != 400 || !strings.Contains(text, c.says) {
				t.Errorf("%s %s: %d: %s", at, c.body, status, text)
			}
		}
	}
	s.must(422, "operator", "PUT", "/filters/a%20b", `{"action": "PAUSE"}`)
	for role, status := range map[string]int{"": 401, "reader": 403, "submitter": 403} {
		for _, at := range []string{"POST /filters", "PUT /filters/one", "DELETE /filters/one"} {
			method, path, _ := strings.Cut(at, " ")
			s.must(status, role, method, path, `{"action": "PAUSE"}`)
		}
	}
	s.must(403, "submitter", "GET", "/filters", "")
	if n := value[int](s, "select count(*) from bellhop.filter"); n != 0 {
		t.Errorf("there are %d filters", n)
	}
}
