package main

import (
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/verb"
	"bellhop/web"
	"bellhop/web/api"
	"bellhop/web/page"
)

// Each verb has a command, a route and an order of the pages, or says why it has not. Its role is what the route asks
// for, and what the rights of its functions are.
func TestVerbs_EveryFaceAndTheirRoles(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	root := newRoot(&cli.App{Stdout: io.Discard, Stderr: io.Discard})
	rights := map[verb.Role]web.Right{verb.Owner: web.Submits, verb.Operator: web.Operates}
	pages, rest := page.New(page.Config{}), api.New(api.Config{})
	t.Cleanup(pages.Close)
	text, err := os.ReadFile("../../web/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			Role string `json:"x-role"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	roles := map[string]string{} // by method and path, whose words in braces have no names
	unnamed := regexp.MustCompile(`\{[^}]*\}`)
	for path, methods := range document.Paths {
		for method, op := range methods {
			roles[strings.ToUpper(method)+" "+unnamed.ReplaceAllString(path, "{}")] = op.Role
		}
	}
	for _, v := range verb.All {
		if v.NoLine == "" {
			line := strings.Fields(strings.NewReplacer("{}", "1", "{with}", "2", "'", "").Replace(v.Line))
			c, args, err := root.Find(line[1:])
			if err != nil || !strings.HasPrefix(c.CommandPath()+" ", "bellhop "+v.Command()+" ") && v.Name != "shutdown" {
				t.Errorf("%s: %q is %q (%v)", v.Name, v.Line, c.CommandPath(), err)
			} else if err := c.ParseFlags(args); err != nil {
				t.Errorf("%s: %q: %v", v.Name, v.Line, err)
			}
		}
		if v.NoRoute == "" {
			route, query, _ := strings.Cut(unnamed.ReplaceAllString(v.Route, "{}"), "?")
			role, is := roles[route]
			// A query may ask for more than the route; a job is submitted by callers that may do less; openapi.json
			// has an operator where an owner may, too.
			if !is || query == "" && v.Name != "shutdown" && role != string(verb.Operator) {
				t.Errorf("%s: %q asks for %q", v.Name, route, role)
			}
			method, path, _ := v.Asked("1", "2")
			right := rest.Right(httptest.NewRequestWithContext(t.Context(), method, api.Prefix+path, nil))
			if query == "" && v.Name != "shutdown" && right != rights[v.By] {
				t.Errorf("%s: the door asks for %q, its role is %q", v.Name, right, v.By)
			}
		}
		order := slices.Contains(pages.Patterns(), "POST /do/"+v.Name)
		if order != (v.NoPage == "") || order && v.Done == "" {
			t.Errorf("%s: an order of the pages: %t; why not: %q; what is said then: %q", v.Name, order, v.NoPage, v.Done)
		}
		if order {
			right := pages.Right(httptest.NewRequestWithContext(t.Context(), "POST", "/do/"+v.Name, nil))
			if right != rights[v.By] {
				t.Errorf("%s: the page asks for %q, its role is %q", v.Name, right, v.By)
			}
		}
		for _, function := range strings.Fields(v.Calls) {
			submits := v.By == verb.Owner || v.Name == "shutdown"
			for role, may := range map[string]bool{
				"bellhop_operator": true, "bellhop_submitter": submits, "bellhop_reader": false,
			} {
				var is bool
				if err := s.conn.QueryRow(t.Context(), `select bool_or(has_function_privilege($1, p.oid, 'execute')) from pg_proc p
					where p.proname = $2 and p.pronamespace = 'bellhop'::regnamespace`, role, function).Scan(&is); err != nil {
					t.Fatalf("%s: bellhop.%s: %v", v.Name, function, err)
				}
				if is != may {
					t.Errorf("%s, for %s: %s may call bellhop.%s: %t", v.Name, v.By, role, function, is)
				}
			}
		}
	}
}
