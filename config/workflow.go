package config

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/workflow"
)

// maxWorkflows bounds a file of workflows: 10,000 steps take less than 1 MB.
const maxWorkflows = 4 << 20

// File is a text of definitions, and what problems call it.
type File struct {
	Name string
	Text []byte
}

// Workflows reads definitions of workflows, one in each document of the files. Their steps may name templates, which
// stand in documents of any of these files. The error is a *Problems. Steps stand behind those that they need.
func Workflows(files ...File) (list []workflow.Definition, err error) {
	all := stepTemplates{}
	readers, roots := make([]*reader, len(files)), make([][]node, len(files))
	for i, f := range files {
		r := newReader(f.Name)
		r.most = maxWorkflows
		documents := r.documents(f.Text)
		if len(documents) == 0 && len(r.problems) == 0 {
			r.empty()
		}
		for _, root := range documents {
			if isTemplates(root) {
				r.anchors = map[string]node{}
				r.templates(root, all)
			} else {
				roots[i] = append(roots[i], root)
			}
		}
		readers[i] = r
	}
	problems := &Problems{}
	where := map[string]Problem{}
	for i, r := range readers {
		for _, root := range roots[i] {
			r.anchors, r.steps = map[string]node{}, all
			d, at := r.workflow(root)
			if first, twice := where[d.Name]; d.Name != "" && twice {
				r.problem(at, "", "workflow %q is defined twice, first %s", d.Name, first.seenFrom(r.name))
			} else {
				where[d.Name] = r.here(at)
			}
			list = append(list, d)
		}
		if i == len(files)-1 && len(list) == 0 && len(r.problems) == 0 { // all of them are of templates
			r.empty()
		}
		inOrder(r.problems)
		problems.List = append(problems.List, r.problems...)
	}
	if len(problems.List) > 0 {
		return list, problems
	}
	return list, nil
}

func (r *reader) empty() {
	r.problems = append(r.problems, Problem{File: r.name, Text: "there is no workflow in it",
		Hint: "write one like workflow: nightly, steps: [{name: fetch, type: sh, args: \"…\"}]"})
}

// CannotRead is the problem of a file that cannot be read.
func CannotRead(file string, err error) error {
	p := Problem{File: file, Text: "cannot be read: " + cause(err)}
	if errors.Is(err, fs.ErrNotExist) {
		p.Text = "no such file"
	}
	return &Problems{List: []Problem{p}, cause: err}
}

// spot is where a field of a definition stands; step -1: outside of the steps.
type spot struct {
	step  int
	field string
}

// workflow reads one definition; at is where its name stands.
func (r *reader) workflow(root node) (d workflow.Definition, at node) {
	d.Active = true
	spots := map[spot]node{{-1, ""}: root}
	before := len(r.problems)
	given := r.mapping(root, "", r.fields(grammar.Workflow, &d, map[string]func(node, string){
		"sensor": func(n node, at string) { d.Sensor = r.sensor(n, at, spots) },
		"steps":  func(n node, at string) { d.Steps = r.stepList(n, at, spots) },
		"notify": func(n node, at string) { d.Notify = r.notices(n, at) },
	}))
	for name, n := range given {
		spots[spot{-1, name}] = n
	}
	if at = given["workflow"]; at == nil {
		at = root
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(spots)), func(s spot) bool { return s.field == "after" }) {
		workflow.Chain(d.Steps)
	}
	for _, f := range workflow.Check(d) {
		n := spots[spot{f.Step, f.Field}]
		if n == nil {
			n = spots[spot{f.Step, ""}]
		}
		if list, is := n.(*ast.SequenceNode); is && f.Index >= 0 && f.Index < len(list.Values) {
			n = list.Values[f.Index]
		}
		r.problem(n, f.Hint, "%s", f.Text)
	}
	if len(r.problems) == before {
		d.Steps = workflow.InOrder(d.Steps)
	}
	return d, at
}

// word reads a string that is not empty; a number stands for how it is written.
func (r *reader) word(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.written(n, at)
		if ok && strings.TrimSpace(s) == "" {
			r.problem(n, "", "%s is empty", at)
		}
		*to = s
	}
}

// long reads a duration of a definition.
func (r *reader) long(to *workflow.Duration) func(node, string) {
	return func(n node, at string) { r.duration((*time.Duration)(to), someTime)(n, at) }
}

// oneOrMore reads a word, or a list of words.
func (r *reader) oneOrMore(to *[]string, example string) func(node, string) {
	return func(n node, at string) {
		if _, one := stringOf(n); one {
			var s string
			r.word(&s)(n, at)
			*to = []string{s}
			return
		}
		r.words(to, example, nil)(n, at)
	}
}

// signed reads a whole number that may be below 0.
func (r *reader) signed(to *int) func(node, string) {
	return func(n node, at string) {
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			r.problem(n, "", "%s must be a whole number, not %s", at, kind(n))
			return
		}
		v, known := whole(i.Value)
		if !known || v != int64(int32(v)) {
			r.problem(n, "", "%s is %s, which is too much", at, n.GetToken().Value)
			return
		}
		*to = int(v)
	}
}

func (r *reader) notices(n node, at string) (list []workflow.Notice) {
	r.each(n, at, "write it like "+grammar.Workflow.Field("notify").Example, func(n node, at string) {
		var m workflow.Notice
		given := r.mapping(n, at, r.fields(grammar.Notice, &m, nil))
		for _, state := range m.When {
			if wrong, hint := grammar.Notice.Field("when").Text(state); wrong != "" {
				r.problem(given["when"], hint, "%s", wrong)
			}
		}
		for _, to := range m.Mail {
			r.mailAddress(given["mail"], join(at, "mail"), to)
		}
		if m.Webhook != "" {
			r.webURL(given["webhook"], join(at, "webhook"), m.Webhook)
		}
		if given["mail"] == nil && given["webhook"] == nil && given["command"] == nil {
			r.problem(n, "write mail: [ops@example.org], webhook: URL or command: [NAME]", "%s names no recipient", at)
		}
		list = append(list, m)
	})
	return list
}

// WriteWorkflow writes a definition as Workflows reads it.
func WriteWorkflow(d workflow.Definition) ([]byte, error) {
	doc := pairs{}
	doc.add("workflow", d.Name, true)
	doc.add("project", d.Project, d.Project != "")
	doc.add("active", d.Active, true)
	if d.Sensor != nil {
		doc.add("sensor", sensorPairs(d.Sensor), true)
	}
	doc.add("parameters", d.Parameters, len(d.Parameters) > 0)
	var always []string
	if len(d.Steps) > 1 && len(workflow.Roots(d.Steps)) == len(d.Steps) { // else they would be a chain
		always = []string{"after"}
	}
	var steps, notices []pairs
	for _, s := range d.Steps {
		steps = append(steps, pairsOf(grammar.Step, s, always...))
	}
	doc.add("steps", steps, true)
	for _, n := range d.Notify {
		notices = append(notices, pairsOf(grammar.Notice, n))
	}
	doc.add("notify", notices, len(notices) > 0)
	var out bytes.Buffer
	err := yaml.NewEncoder(&out, yaml.IndentSequence(true)).Encode(yaml.MapSlice(doc))
	return out.Bytes(), err
}

// pairs are keys and values in an order.
type pairs yaml.MapSlice

func (p *pairs) add(key string, value any, there bool) {
	if !there {
		return
	}
	switch v := value.(type) {
	case pairs:
		value = yaml.MapSlice(v)
	case []pairs:
		list := make([]yaml.MapSlice, len(v))
		for i := range v {
			list[i] = yaml.MapSlice(v[i])
		}
		value = list
	case *string:
		value = *v
	case workflow.Duration:
		value = v.String()
	case []string:
		value = append([]string{}, v...) // nil would be written as null
	case map[string]string:
		m := pairs{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.add(key, v[key], true)
		}
		value = yaml.MapSlice(m)
	}
	*p = append(*p, yaml.MapItem{Key: key, Value: value})
}
