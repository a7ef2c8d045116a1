package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/cmd/bellhop/internal/mcp"
	"bellhop/verb"
)

// assistant is a client of the protocol, joined to the program over stdio.
type assistant struct {
	t *testing.T
	*sdk.ClientSession
}

func newAssistant(t *testing.T, args ...string) *assistant {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], append([]string{"mcp"}, args...)...)
	c.Env = append(os.Environ(), "BELLHOP_TEST_PROGRAM=1")
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &assistant{t, session}
}

// call calls a tool, and gives its text.
func (a *assistant) call(tool string, args map[string]any) (text string, failed bool) {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

func (a *assistant) tools() (names []string) {
	a.t.Helper()
	for tool, err := range a.Tools(a.t.Context(), nil) {
		if err != nil {
			a.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// plan calls a tool that changes something, and gives the answer.
func (a *assistant) plan(tool string, args map[string]any) (answer struct {
	Plan    string
	Done    bool
	Changed int
	Note    string
	ID      int64
}) {
	a.t.Helper()
	text, failed := a.call(tool, args)
	if failed {
		a.t.Fatalf("%s: %s", tool, text)
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		a.t.Fatalf("%s: %s: %v", tool, text, err)
	}
	return answer
}

var updateSkill = flag.Bool("update", false, "write docs/skill.md and docs/commands.md anew")

type with = map[string]any

func TestMCP_AChangeIsAPlanFirst(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.id("a", "--key", "k", "--hold")
	a := newAssistant(t, "--database-url", s.url)
	plan := a.plan("release", with{"jobs": []string{"k"}})
	if plan.Plan == "" || plan.Done || plan.Changed != 1 {
		t.Errorf("a plan: %+v", plan)
	}
	has(t, s.ok("show", "k"), "held")
	text, failed := a.call("cancel", with{"confirm": plan.Plan})
	if !failed || !strings.Contains(text, "a plan of release") {
		t.Errorf("a plan of another tool: %s", text)
	}
	text, failed = a.call("release", with{"confirm": plan.Plan, "jobs": []string{"other"}})
	if !failed || !strings.Contains(text, "for other arguments") {
		t.Errorf("a plan of other arguments: %s", text)
	}
	if done := a.plan("release", with{"confirm": plan.Plan}); !done.Done || done.Changed != 1 {
		t.Errorf("done: %+v", done)
	}
	has(t, s.ok("show", "k"), "ready")
	if text, failed := a.call("release", with{"confirm": plan.Plan}); !failed || !strings.Contains(text, "no such plan") {
		t.Errorf("twice: %s", text)
	}
	made := a.plan("submit", with{"type": "b", "args": "x", "key": "new", "after": []string{"k"}})
	if _, missing := a.call("show_job", with{"job": "new"}); !missing {
		t.Error("a plan has submitted a job")
	}
	if done := a.plan("submit", with{"confirm": made.Plan}); !done.Done {
		t.Errorf("submitted: %+v", done)
	}
	has(t, s.ok("show", "new"), "blocked")
}

// What a plan has shown is done, or nothing.
func TestMCP_APlanThatHoldsNoMoreIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "--key", "k")
	a := newAssistant(t, "--database-url", s.url)
	plan := a.plan("cancel", with{"jobs": []string{"k"}})
	s.over(id, "succeeded", 0)
	again := a.plan("cancel", with{"confirm": plan.Plan})
	if again.Done || again.Plan == "" || again.Note == "" || again.Changed != 0 {
		t.Errorf("the job has ended since: %+v", again)
	}
	has(t, s.ok("show", "k"), "succeeded")
}

func TestMCP_LooksUnderTheRightsOfTheLogin(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a", "secret args", "--key", "k")
	s.sql("insert into bellhop.log (job, attempt, level, line) " +
		"select 1, 1, 'out', repeat('x', 1000) from generate_series(1, 200)")
	a := newAssistant(t, "--database-url", s.url)
	for _, look := range []struct {
		tool string
		with with
		says string
	}{
		{"list_jobs", with{"types": []string{"a"}}, `"key": "k"`}, {"explain", with{"job": "k"}, "no_instance"},
		{"show_job", with{"job": id}, "secret args"},
		{"stats", nil, `"type": "a"`}, {"locks", nil, "["}, {"workflows", nil, "[]"}, {"logs", with{"job": id}, "cut at 64 KiB"},
	} {
		text, failed := a.call(look.tool, look.with)
		if failed || !strings.Contains(text, look.says) || len(text) > 70<<10 {
			t.Errorf("%s: %.2000s", look.tool, text)
		}
	}
	for _, bad := range []struct {
		tool string
		with with
		says string
	}{
		{"explain", with{"job": "none"}, "bellhop ls"}, {"explain", nil, "job is missing"}, {"list_jobs", with{"frob": 1}, "no argument"},
		{"list_jobs", with{"states": []string{"--help"}}, "--help"}, {"show_job", with{"job": "--help"}, "there is no job"},
		{"retry", with{"jobs": "k"}, "jobs"}, {"retry", with{"jobs": []string{"none"}}, "there is no job"}, {"retry", nil, "jobs is missing"},
		{"retry", with{"jobs": slices.Repeat([]string{"k"}, 201)}, "operation_plan"}, {"pause", with{"id": 1}, "no argument"},
	} {
		if text, failed := a.call(bad.tool, bad.with); !failed || !strings.Contains(text, bad.says) {
			t.Errorf("%s %v: %.2000s", bad.tool, bad.with, text)
		}
	}
	reader := newAssistant(t, "--database-url", s.url+"&options=-c%20role%3Dbellhop_reader")
	if text, failed := reader.call("show_job", with{"job": "k"}); failed || strings.Contains(text, "secret args") {
		t.Errorf("a reader: %s", text)
	}
	if text, failed := reader.call("pause", with{"name": "a"}); !failed || !strings.Contains(text, "not allowed") {
		t.Errorf("a reader changes something: %s", text)
	}
}

// A session stays on the database that it began with, and a protected one is changed only where that was said.
func TestMCP_AContextIsTakenOnce(t *testing.T) {
	s, other, u := newHarness(t), newHarness(t), newUser(t)
	s.id("a", "--key", "here")
	t.Setenv("XDG_CONFIG_HOME", u.env["HOME"]+"/.config")
	u.ok("context", "add", "prod", s.url)
	a := newAssistant(t, "--context", "prod")
	plan := a.plan("cancel", with{"jobs": []string{"here"}})
	u.ok("context", "add", "prod", other.url, "--protected", "--replace")
	if text, failed := a.call("show_job", with{"job": "here"}); failed {
		t.Error(text)
	}
	if done := a.plan("cancel", with{"confirm": plan.Plan}); !done.Done {
		t.Errorf("%+v", done)
	}
	if tools := newAssistant(t, "--context", "prod").tools(); slices.Contains(tools, "cancel") {
		t.Errorf("a protected context offers %v", tools)
	}
	if tools := newAssistant(t, "--context", "prod", "--yes").tools(); !slices.Contains(tools, "cancel") {
		t.Errorf("a protected context with --yes offers %v", tools)
	}
}

func TestMCP_EachVerbIsAToolOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	offered := newAssistant(t, "--database-url", s.url).tools()
	for _, v := range verb.All {
		if slices.Contains(offered, v.Tool()) != (v.NoTool == "") {
			t.Errorf("%s: a tool %s: %t; why not: %q", v.Name, v.Tool(), v.NoTool == "", v.NoTool)
		}
	}
	if twice := slices.Compact(slices.Sorted(slices.Values(offered))); len(twice) != len(offered) {
		t.Errorf("two tools of one name: %v", offered)
	}
	if tools := newAssistant(t, "--database-url", s.url, "--read-only").tools(); slices.Contains(tools, "retry") {
		t.Errorf("--read-only: %v", tools)
	}
}

func TestSkill_IsThePageOfDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/skill.md")
	if *updateSkill {
		err = os.WriteFile("../../docs/skill.md", []byte(mcp.Skill()), 0o600)
		page = []byte(mcp.Skill())
	}
	if err != nil || string(page) != mcp.Skill() {
		t.Errorf("docs/skill.md is not what bellhop skill prints: make generate (%v)", err)
	}
}
