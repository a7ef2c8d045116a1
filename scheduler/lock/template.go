package lock

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Template is the locks of an agent's jobs: a lock's text in whose name ${args},
// ${key} and ${vars.NAME} stand for what the job has. $${ is a plain ${.
type Template struct {
	want  Want
	parts []part
}

// part is a piece of a name: text, or what stands for a value of the job.
type part struct {
	text  string
	value string // args, key or vars.NAME; empty: text
}

// ParseTemplate reads one template. The error is a *TextError.
func ParseTemplate(text string, levels Levels) (Template, error) {
	w, err := Parse(text)
	if err == nil {
		err = levels.has(w, text)
	}
	if err != nil || w.Big || w.Scope != Named {
		return Template{want: w}, err
	}
	parts, err := split(w.Name, text)
	return Template{w, parts}, err
}

// ParseTemplates reads all templates of an agent, and finds every problem.
func ParseTemplates(texts []string, levels Levels) ([]Template, error) {
	var list []Template
	var problems []error
	for _, text := range texts {
		t, err := ParseTemplate(text, levels)
		list, problems = append(list, t), append(problems, err)
	}
	return list, errors.Join(problems...)
}

// split cuts a name at what stands for values.
func split(name, text string) ([]part, error) {
	var parts []part
	rest := name
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			return append(parts, part{text: rest}), nil
		}
		if i > 0 && rest[i-1] == '$' {
			parts, rest = append(parts, part{text: rest[:i-1] + "${"}), rest[i+2:]
			continue
		}
		value, after, closed := strings.Cut(rest[i+2:], "}")
		if v, isVar := strings.CutPrefix(value, "vars."); !closed || value != "args" && value != "key" &&
			(!isVar || v == "") {
			at := strings.LastIndex(text, rest[i:])
			return nil, wrong(text, max(at, 0), fmt.Sprintf("%q stands for nothing", rest[i:min(len(rest), i+len(value)+3)]),
				"write ${args}, ${key} or ${vars.NAME}; $${ for the letters themselves")
		}
		parts, rest = append(parts, part{text: rest[:i]}, part{value: value}), after
	}
}

// Vars are the vars of a job that the template wants, by name.
func (t Template) Vars() (names []string) {
	for _, p := range t.parts {
		if name, is := strings.CutPrefix(p.value, "vars."); is {
			names = append(names, name)
		}
	}
	return names
}

// Resolve gives the locks that the templates mean for a job. lookup gives what
// the job has under args, key or vars.NAME; false: it has none. What cannot be
// resolved, or leaves no name, is the unknown kind of its mode at its level, as
// in Ganeti design-predictive-queue. A value is taken as it stands: one of *
// names the lock *. The error is of a name that no lock can have: too long, not UTF-8.
func Resolve(templates []Template, lookup func(name string) (string, bool)) (Set, error) {
	wants := make([]Want, 0, len(templates))
	for _, t := range templates {
		w, err := t.resolve(lookup)
		if err != nil {
			return Set{}, err
		}
		wants = append(wants, w)
	}
	return NewSet(wants...), nil
}

func (t Template) resolve(lookup func(string) (string, bool)) (Want, error) {
	if t.want.Big || t.want.Scope != Named {
		return t.want, nil
	}
	var name strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.value != "" {
			value, ok := lookup(p.value)
			if !ok {
				return Want{Level: t.want.Level, Scope: Unknown, Mode: t.want.Mode}, nil
			}
			text = value
		}
		name.WriteString(text)
	}
	w := Want{Level: t.want.Level, Name: name.String(), Mode: t.want.Mode}
	switch {
	case w.Name == "":
		return Want{Level: w.Level, Scope: Unknown, Mode: w.Mode}, nil
	case len(w.Name) > MaxName:
		return Want{}, fmt.Errorf("lock %s: the name would have %d bytes, and may have %d; use a shorter value", t.want.Text(), len(w.Name), MaxName)
	case !utf8.ValidString(w.Name) || strings.IndexByte(w.Name, 0) >= 0:
		return Want{}, fmt.Errorf("lock %s: the name would be %q, which is not valid text; use another value", t.want.Text(), w.Name)
	}
	return w, nil
}
