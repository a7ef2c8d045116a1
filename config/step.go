package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/workflow"
)

// stepTemplates are steps that others start from, by name. They stand in files, not in the database: a stored
// definition is complete without them, and applying a changed template names the workflows that change with it.
type stepTemplates map[string]stepTemplate

type stepTemplate struct {
	step workflow.Step
	at   Problem // where it stands
}

// isTemplates reports whether a document holds templates, and no workflow.
func isTemplates(root node) bool {
	m, ok := root.(ast.MapNode)
	if !ok {
		return false
	}
	is := false
	for it := m.MapRange(); it.Next(); {
		switch strings.Trim(it.Key().String(), `"'`) {
		case "templates":
			is = true
		case "workflow", "steps":
			return false // and templates is a key that no workflow has
		}
	}
	return is
}

// templates reads a document of them.
func (r *reader) templates(root node, all stepTemplates) {
	r.mapping(root, "", []field{{name: "templates", read: func(n node, at string) {
		m, ok := n.(ast.MapNode)
		if !ok {
			r.problem(n, "write it like templates: {converted: {type: convert, timeout: 1h}}",
				"%s must hold names and steps, not %s", at, kind(n))
			return
		}
		for it := m.MapRange(); it.Next(); {
			name, ok := r.key(it.Key(), at)
			if !ok {
				continue
			}
			if first, twice := all[name]; twice {
				r.problem(it.Key(), "", "template %q is defined twice, first %s", name, first.at.seenFrom(r.name))
				continue
			}
			t := stepTemplate{at: r.here(it.Key())}
			fields, done := r.stepFields(&t.step)
			fields = slices.DeleteFunc(fields, func(f field) bool { return f.name == "name" || f.name == "after" })
			done(r.mapping(it.Value(), join(at, name), fields))
			all[name] = t
		}
	}}})
}

func (r *reader) stepList(n node, at string, spots map[spot]node) (steps []workflow.Step) {
	example := grammar.Workflow.Field("steps").Example
	r.each(n, at, "write it like "+example, func(n node, at string) {
		var s workflow.Step
		from := r.from(n, at)
		if from != nil {
			s = from.step
			s.Vars, s.Locks = maps.Clone(s.Vars), slices.Clone(s.Locks)
		}
		fields, done := r.stepFields(&s)
		given := r.mapping(n, at, append(fields, field{name: "template", read: func(node, string) {}}))
		done(given)
		if s.Type == "" && given["type"] == nil && (from != nil || given["template"] == nil) {
			r.problem(n, "", "%s is missing", join(at, "type"))
		}
		spots[spot{len(steps), ""}] = n
		for name, n := range given {
			spots[spot{len(steps), name}] = n
		}
		steps = append(steps, s)
	})
	if list, is := n.(*ast.SequenceNode); is && len(list.Values) == 0 {
		r.problem(n, "write one like "+example, "there are no %s", at)
	}
	return steps
}

// from is the template that a step names; nil: none that there is.
func (r *reader) from(n node, at string) *stepTemplate {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		if strings.Trim(it.Key().String(), `"'`) != "template" {
			continue
		}
		value := r.resolve(it.Value())
		if _, null := value.(*ast.NullNode); null || value == nil {
			return nil
		}
		var name string
		r.word(&name)(value, join(at, "template"))
		t, there := r.steps[name]
		switch {
		case there:
			return &t
		case name != "":
			hint := suggest(name, slices.Sorted(maps.Keys(r.steps)))
			if len(r.steps) == 0 {
				hint = fmt.Sprintf("write it in a document of its own, here or in another file that is given: templates: {%s: {type: sh}}", name)
			}
			r.problem(value, hint, "there is no template %q", name)
		}
	}
	return nil
}

// stepFields read what a step has over what is in it already. Called with what was given, done ends it: the step's own
// args or query are in place of a template's args or query, its variables beside those. The type may be a template's.
func (r *reader) stepFields(s *workflow.Step) (fields []field, done func(given map[string]node)) {
	var args, msq string
	vars := map[string]string{}
	fields = r.fields(grammar.Step, s, map[string]func(node, string){
		"args": func(n node, at string) { args, _ = r.written(n, at) },
		"msq":  func(n node, at string) { msq, _ = r.written(n, at) },
		"vars": r.pairs(&vars, grammar.Step.Field("vars").Example),
	})
	for i := range fields {
		fields[i].required = fields[i].required && fields[i].name != "type"
	}
	return fields, func(given map[string]node) {
		if given["args"] != nil || given["msq"] != nil {
			s.Args, s.MSQ = nil, nil
		}
		if given["args"] != nil {
			line := strings.TrimSuffix(strings.TrimSuffix(args, "\n"), "\r") // YAML puts a line break behind a text of |
			s.Args = &line
		}
		if given["msq"] != nil {
			s.MSQ = &msq
		}
		if len(vars) > 0 && s.Vars == nil {
			s.Vars = map[string]string{}
		}
		maps.Copy(s.Vars, vars)
	}
}
