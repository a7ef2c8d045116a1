package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bellhop/web"
)

// What clients may rely on stays: each route, parameter, answer, field and word of v1
// is a line of openapi.promised, and -update only adds lines. To break one on purpose,
// delete its line by hand, and say in changelog/unreleased whom it breaks and what to do;
// the next version of the API is the other way.
func TestOpenAPI_OnlyGrows(t *testing.T) {
	t.Parallel()
	text, err := Make(web.NewMux(), Config{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	kept := promises(t, text)
	before, err := os.ReadFile("openapi.promised")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	promised := map[string]bool{}
	for line := range strings.Lines(string(before)) {
		line = strings.TrimSpace(line)
		promised[line] = true
		if !kept[line] {
			t.Errorf("%s: that was promised, and is gone; to break it on purpose see this test", line)
		}
	}
	maps.Copy(promised, kept)
	if all := strings.Join(slices.Sorted(maps.Keys(promised)), "\n") + "\n"; *update {
		if err := os.WriteFile("openapi.promised", []byte(all), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if all != string(before) {
		t.Error("openapi.promised lacks what is new: make generate")
	}
}

// What would break a client is seen: a path, a field, a word, a parameter that goes; a field that a request must have
// from now on, and one that an answer may lack.
func TestOpenAPI_ABreakIsSeen(t *testing.T) {
	t.Parallel()
	text, err := Make(web.NewMux(), Config{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	kept := promises(t, text)
	for _, c := range []struct{ old, new, lost string }{
		{`"/jobs/{id}/cancel"`, `"/jobs/{id}/end"`, "POST /jobs/{id}/cancel"},
		{`"name":"behind"`, `"name":"after"`, "POST /jobs/{id}/retry ?behind: boolean"},
		{`"planned_by":{`, `"by":{`, "OperationRow.planned_by: string"},
		{`"kill",`, ``, "Order.verb = kill"},
		{`"required":["verb","filter"]`, `"required":["verb","filter","priority"]`, "Order.priority may be left out"},
		{`"by_state",`, ``, "OperationRow.by_state is always there"},
	} {
		was := strings.ReplaceAll(compact(t, text), c.old, c.new)
		if was == compact(t, text) {
			t.Errorf("%s is nothing that it has", c.old)
		}
		if !kept[c.lost] || promises(t, []byte(was))[c.lost] {
			t.Errorf("%s in place of %s: %q is there before: %v, and after it", c.new, c.old, c.lost, kept[c.lost])
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(again)
}

type openSchema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Enum                 []any
	Required             []string
	Properties           map[string]openSchema
	Items                *openSchema
	OneOf                []openSchema
	AdditionalProperties any
}

// says is what kind of value it is.
func (s openSchema) says() string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		return "list of " + s.Items.says()
	case s.OneOf != nil:
		var each []string
		for _, one := range s.OneOf {
			each = append(each, one.says())
		}
		return strings.Join(each, " or ")
	}
	return strings.Trim(fmt.Sprint(s.Type), "[]")
}

type openContent map[string]struct{ Schema openSchema }

type openRoute struct {
	Parameters []struct {
		Name, In string
		Schema   openSchema
	}
	RequestBody *struct{ Content openContent }
	Responses   map[string]struct{ Content openContent }
}

// promises are what a document says that a client may rely on, a line each.
func promises(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	var d struct {
		Paths      map[string]map[string]openRoute
		Components struct{ Schemas map[string]openSchema }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	add := func(format string, args ...any) { lines[fmt.Sprintf(format, args...)] = true }
	asked, told := map[string]bool{}, map[string]bool{} // schemas of requests, and of answers
	var reach func(openSchema, map[string]bool)
	reach = func(s openSchema, into map[string]bool) {
		if s.Ref != "" {
			name := s.says()
			if into[name] {
				return
			}
			into[name] = true
			s = d.Components.Schemas[name]
		}
		for _, p := range s.Properties {
			reach(p, into)
		}
		if s.Items != nil {
			reach(*s.Items, into)
		}
		for _, one := range s.OneOf {
			reach(one, into)
		}
	}
	for path, methods := range d.Paths {
		for method, r := range methods {
			route := strings.ToUpper(method) + " " + path
			add("%s", route)
			for _, p := range r.Parameters {
				at := map[string]string{"query": "?", "path": "/", "header": "header "}[p.In] + p.Name
				add("%s %s: %s", route, at, p.Schema.says())
				words := p.Schema.Enum
				if p.Schema.Items != nil {
					words = p.Schema.Items.Enum
				}
				for _, e := range words {
					add("%s %s = %v", route, at, e)
				}
			}
			if r.RequestBody != nil {
				for kind, c := range r.RequestBody.Content {
					add("%s takes %s %s", route, kind, c.Schema.says())
					reach(c.Schema, asked)
				}
			}
			for status, answer := range r.Responses {
				add("%s gives %s", route, status)
				for kind, c := range answer.Content {
					add("%s gives %s %s %s", route, status, kind, c.Schema.says())
					reach(c.Schema, told)
				}
			}
		}
	}
	for name, s := range d.Components.Schemas {
		for field, p := range s.Properties {
			add("%s.%s: %s", name, field, p.says())
			words := p.Enum
			if p.Items != nil {
				words = p.Items.Enum
			}
			for _, e := range words {
				add("%s.%s = %v", name, field, e)
			}
			must := slices.Contains(s.Required, field)
			if asked[name] && !must {
				add("%s.%s may be left out", name, field)
			}
			if told[name] && must {
				add("%s.%s is always there", name, field)
			}
		}
	}
	return lines
}
