package api_test

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/sql/view"
)

// Whoever looked at another version than there is now changes nothing, by whichever route.
func TestWorkflows_EditsOfTheVersionThatWasSeen(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(200, "operator", "PUT", "/workflows/nightly?version=0", nightly)
	for _, edit := range []string{"PUT ", "POST /activate", "POST /deactivate", "DELETE ", "POST /versions/1/revert"} {
		method, path, _ := strings.Cut(edit, " ")
		body := ""
		if method == "PUT" {
			body = nightly
		}
		status, answer := s.ask("operator", method, "/workflows/nightly"+path+"?version=7", body)
		if status != 409 || !strings.Contains(answer, "has version 1, not 7") || !strings.Contains(answer, "bellhop workflow history nightly") {
			t.Errorf("%s: %d %s", edit, status, answer)
		}
	}
	s.must(200, "operator", "POST", "/workflows/nightly/activate?version=1", "")
	s.must(200, "operator", "POST", "/workflows/nightly/versions/1/revert?version=2", "")
	s.must(200, "operator", "DELETE", "/workflows/nightly?version=3", "")
}

// What is posted may bring templates: what is kept is the whole step.
func TestWorkflows_TemplatesInWhatIsPosted(t *testing.T) {
	t.Parallel()
	s := open(t)
	const text = "templates: {say: {type: sh, args: hello, timeout: 1m}}\n---\nworkflow: w\nsteps: [{name: a, template: say}]\n"
	s.must(403, "reader", "PUT", "/workflows/w", text)
	s.must(200, "operator", "PUT", "/workflows/w", text)
	kept := s.must(200, "operator", "GET", "/workflows/w", "")
	if !strings.Contains(kept, `"args":"hello"`) || !strings.Contains(kept, `"timeout":"1m"`) || strings.Contains(kept, "template") {
		t.Errorf("kept is %s", kept)
	}
	s.must(422, "operator", "PUT", "/workflows/w", "workflow: w\nsteps: [{name: a, template: say}]\n")
}

// What is done to many workflows is done to all that are named, or to none; a pattern runs those that are active.
func TestWorkflows_Many(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, name := range []string{"import-a", "import-b", "other"} {
		text := strings.ReplaceAll(strings.Replace(nightly, "active: false", "active: true", 1), "nightly", name)
		s.must(200, "operator", "PUT", "/workflows/"+name, text)
	}
	order := func(status int, what, body, want string) {
		t.Helper()
		got, answer := s.ask("operator", "POST", "/workflows/"+what, body)
		if got != status || !strings.Contains(answer, want) {
			t.Errorf("%s %s: %d %s", what, body, got, answer)
		}
	}
	order(200, "deactivate", `{"names": ["import-*"], "dry_run": true}`, `{"workflow":"import-b","changed":true}`)
	order(404, "deactivate", `{"names": ["import-a", "none-*"]}`, "there is no workflow none-*")
	order(200, "deactivate", `{"names": ["import-a"]}`, `[{"workflow":"import-a","changed":true}]`)
	order(200, "activate", `{"names": ["import-a", "import-*"], "dry_run": true}`,
		`[{"workflow":"import-a","changed":true},{"workflow":"import-b","changed":false}]`)
	order(200, "run", `{"names": ["*"], "dry_run": true}`, `[{"workflow":"import-b","run":null},{"workflow":"other","run":null}]`)
	order(422, "run", `{"names": ["import-*"], "parameters": {"DAY": "x"}}`, "has no parameter DAY")
	order(404, "run", `{"names": ["import-b", "IMPORT-A"]}`, "there is no workflow IMPORT-A")
	order(200, "run", `{"names": ["import-*", "import-a"]}`, `[{"workflow":"import-a","run":`)
	order(422, "run", `{"names": []}`, "names")
	for _, c := range []struct{ query, want string }{
		{"", "import-b import-a"},
		{"?name=IMPORT-*", "import-b import-a"},
		{"?workflow=import-a", "import-a"},
		{"?workflow=IMPORT-a&state=running", ""},
		{"?workflow=import-a&state=running", "import-a"},
		{"?state=failed", ""},
		{"?state=failed&state=running&limit=1", "import-b"},
		{"?created_before=2026-01-01T00:00:00Z", ""},
		{"?created_after=2026-01-01T00:00:00Z&name=import-b", "import-b"},
		{"?project=none", ""},
		{"?by=nobody*", ""},
	} {
		var names []string
		for _, r := range s.runs(c.query) {
			names = append(names, r.Workflow)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("runs%s: %q, want %q", c.query, got, c.want)
		}
	}
	all := s.runs("")
	if rest := s.runs(fmt.Sprintf("?below=%d", all[0].ID)); len(rest) != 1 || rest[0].ID != all[1].ID {
		t.Errorf("below the first of %v are %v", all, rest)
	}
}

// runs are those that a search finds.
func (s *site) runs(query string) (list []view.RunRow) {
	s.t.Helper()
	if err := unmarshal(s.must(200, "reader", "GET", "/runs"+query, ""), &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

func TestManager_StopsAndStarts(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		select n, 'h', 'm', 1, '1', 'v', '1 hour' from unnest(array['big1', 'big2']) n`)
	for _, c := range []struct {
		status             int
		role, method, path string
		want               string
	}{
		{200, "operator", "POST", "/manager/stop?instance=big1", `{"starts":1}`},
		{200, "reader", "GET", "/manager", `"name":"big1","starts":false`},
		{403, "reader", "POST", "/manager/stop", "not_allowed"},
		{403, "submitter", "POST", "/manager/start", "not_allowed"},
		{404, "operator", "POST", "/manager/stop?instance=big3", "there is no instance big3"},
		{200, "operator", "POST", "/manager/stop", `{"starts":0}`},
		{409, "operator", "POST", "/manager/start?instance=big2", "all instances are stopped"},
		{200, "operator", "POST", "/manager/start", `{"starts":2}`},
	} {
		if got, answer := s.ask(c.role, c.method, c.path, ""); got != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s as %s: %d %s", c.method, c.path, c.role, got, answer)
		}
	}
}

// What a request is to a workflow that is started by such is named by a header, and its fields are parameters. A body
// that names its event itself is one as before.
func TestWorkflows_EventsThatAHeaderNames(t *testing.T) {
	t.Parallel()
	s := open(t)
	hook := func(name, sensor string) {
		s.must(200, "operator", "PUT", "/workflows/"+name, "workflow: "+name+"\nparameters: {day: none}\n"+sensor+
			"steps:\n  - {name: one, type: sh, args: x}\n")
	}
	hook("hook", "sensor: {http: true}\n")
	hook("git", "sensor: {http: true, event: X-GitHub-Delivery}\n")
	hook("hand", "")
	for _, c := range []struct {
		status           int
		name, body, want string
		headers          []string
	}{
		{200, "hook", `{"day": "monday", "other": 7}`, "true", []string{"Idempotency-Key", "k1"}},
		{200, "hook", `{"day": "monday"}`, "false", []string{"Idempotency-Key", "k1"}},
		{200, "hook", `{"day": "monday"}`, "true", nil},
		{200, "hook", `{"day": "monday"}`, "true", nil},
		{200, "git", `{}`, "true", []string{"X-GitHub-Delivery", "d1"}},
		{200, "git", `{}`, "false", []string{"X-GitHub-Delivery", "d1", "Idempotency-Key", "other"}},
		{200, "hook", `{"event": "e1", "parameters": {"day": "x"}}`, "true", nil},
		{200, "hand", `{"event": "e1", "parameters": {"day": "x"}}`, "true", []string{"Idempotency-Key", "k"}},
		{409, "hand", `{"day": "x"}`, "not started by requests", []string{"Idempotency-Key", "k"}},
		{404, "none", `{}`, "no workflow none", nil},
		{422, "hook", `[]`, "", []string{"Idempotency-Key", "k2"}},
	} {
		status, answer, _ := s.answer("submitter", "POST", "/workflows/"+c.name+"/events", c.body, c.headers...)
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s %v: %d %s", c.name, c.body, c.headers, status, answer)
		}
	}
	got := value[string](s, "select string_agg(workflow || ' ' || event || ' ' || parameters, ', ' order by at) from bellhop.event where event !~ ':\\d+$'")
	if want := `hook http=k1 {"day": "monday"}, git http=d1 {}, hook e1 {"day": "x"}, hand e1 {"day": "x"}`; got != want {
		t.Errorf("events are %s, want %s", got, want)
	}
}
