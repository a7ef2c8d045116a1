package page

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeTag = regexp.MustCompile(`<code>([^<]*)</code>`)
	asks    = regexp.MustCompile(`-X ([A-Z]+) '?(?:http://[^/]+)?/api/v1([^ ?']*)`)
	braces  = regexp.MustCompile(`\{[^}]*\}`)
)

// yourself are the lines under "CLI and API equivalents" on a page.
func (s *site) yourself(path string) (lines []string) {
	s.Helper()
	_, rest, _ := strings.Cut(s.get(http.StatusOK, path), `<details class="all yourself">`)
	inside, _, _ := strings.Cut(rest, "</details>")
	for _, line := range codeTag.FindAllStringSubmatch(inside, -1) {
		lines = append(lines, html.UnescapeString(line[1]))
	}
	return lines
}

// Each button says which command and which request do the same: of what can be done just now, for whoever may do it,
// and by routes that the API has.
func TestYourself_EveryButtonHasItsLines(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('one', 'shop1', 'm', 41, '1', 'v', '1h')`)
	s.exec(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host)
		values (1, 'it''s mail', 'warm', 'json', './mail.py', 4, 4)`)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.1'), ('mail', 'order.2'), ('mail', 'order.3')`)
	s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where id = 2`)
	s.exec(`update bellhop.jobqueue set state = 'failed', attempt = 1, ended_at = now(), error = 'x' where id = 3`)
	s.exec(`select bellhop.workflow_apply('{"workflow": "night-2", "steps": [{"name": "one", "type": "sh"}]}')`)
	s.exec(`select bellhop.operation_plan('hold', '{"type": ["mail"]}')`)
	text, err := os.ReadFile("../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for path, methods := range api.Paths {
		for method := range methods {
			routes = append(routes, strings.ToUpper(method)+" "+
				braces.ReplaceAllString(strings.TrimPrefix(path, "/api/v1"), "*"))
		}
	}
	known := func(method, path string) bool {
		return slices.ContainsFunc(routes, func(r string) bool {
			m, p, _ := strings.Cut(r, " ")
			fits := "^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `[^/]+`) + "$"
			return m == method && regexp.MustCompile(fits).MatchString(path)
		})
	}
	for path, want := range map[string][]string{
		"/jobs/1": {"bellhop edit 1 --hold", "bellhop edit 1 --priority -10", "bellhop cancel 1"},
		"/jobs/2": {"bellhop cancel 2", "bellhop cancel --now 2"},
		"/jobs/3": {"bellhop retry 3"},
		"/jobs?state=ready&type=mail&key=order.*&error=no+%27route": {
			`bellhop operation plan hold --error 'no '\''route' --key order. -s ready -t mail`,
			`bellhop operation plan priority --priority -10 --error 'no '\''route' --key order. -s ready -t mail`},
		"/jobs":              {"bellhop operation plan cancel --all"},
		"/operations/1":      {"bellhop operation start 1", "bellhop operation stop 1"},
		"/workflows/night-2": {"bellhop workflow run night-2", "bellhop workflow deactivate night-2"},
		"/hosts":             {`bellhop pause 'it'\''s mail'`, "bellhop pause", "bellhop submit command 'shutdown 1'"},
	} {
		if strings.Contains(path, "error=") { // there is none: the orders stand above a list
			s.exec(`insert into bellhop.jobqueue (type, key, error) values ('mail', 'order.4', 'no ''route')`)
		}
		s.who = anOperator
		lines := s.yourself(path)
		for _, line := range want {
			if !slices.Contains(lines, line) {
				t.Errorf("%s does not say %s: %q", path, line, lines)
			}
		}
		asked := 0
		for _, line := range lines {
			if m := asks.FindStringSubmatch(line); m != nil {
				asked++
				if !known(m[1], m[2]) {
					t.Errorf("%s: the API has no such route: %s", path, line)
				}
			} else if strings.HasPrefix(line, "curl") {
				t.Errorf("%s: what does it ask? %s", path, line)
			}
		}
		if asked < len(want)-1 {
			t.Errorf("%s: %d requests among %q", path, asked, lines)
		}
		s.who = aReader
		if lines := s.yourself(path); len(lines) > 0 {
			t.Errorf("%s: a reader is told %q", path, lines)
		}
	}
	s.who = anOperator
	if lines := s.yourself("/jobs/1"); slices.Contains(lines, "bellhop retry 1") {
		t.Error("a job that waits is to be retried")
	}
}

// An instance is stopped, and everything paused, by buttons behind a question.
func TestPages_ButtonsOfHosts(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('one', 'shop1', 'm', 41, '1', 'v', '1h')`)
	s.press("/hosts", "shutdown", "it ends when its running jobs have ended")
	s.exec("select bellhop.obey(1)")
	if stop := s.one("select coalesce(stop, '') from bellhop.instance"); stop == "" {
		t.Error("nobody has told it")
	}
	s.post(http.StatusNotFound, "/do/shutdown", url.Values{"instance": {"now"}})
	s.press("/hosts", "pause", "paused")
	if n := s.one("select string_agg(type, ',') from bellhop.paused"); n != "" {
		t.Errorf("what is paused is %q, not everything", n)
	}
	s.press("/hosts", "resume", "resumed")
	if n := s.one("select count(*)::text from bellhop.paused"); n != "0" {
		t.Errorf("%s are paused", n)
	}
}
