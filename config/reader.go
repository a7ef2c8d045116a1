package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is a piece of the file. Inside field readers it is never an alias, an
// anchor or a tag: reader.resolve has seen to that.
type node = ast.Node

// maxSize bounds what is read: a larger file is not a configuration but a
// mistake in -c, and the parser's time grows faster than its input.
const maxSize = 256 << 10

// reader walks the syntax tree and gathers problems.
type reader struct {
	name         string // of the file, as problems show it
	folder       string // that relative paths start from
	problems     []Problem
	anchors      map[string]node
	typesUsed    []typeUse
	resourceUses []resourceUse
	most         int           // bytes that are read
	aliased      int           // how many more values may be read: aliases could stand for millions
	steps        stepTemplates // what steps may start from
}

func newReader(name string) *reader {
	r := &reader{name: name, anchors: map[string]node{}, most: maxSize, aliased: aliasedMost}
	if r.name == "" {
		r.name = "bellhop.yaml"
	}
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		r.problems = append(r.problems, Problem{File: r.name, Text: "relative paths mean nothing: " + err.Error()})
	}
	r.folder = folder
	return r
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	inOrder(r.problems)
	return &Problems{List: r.problems}
}

// problem records what is wrong at n, and what to do about it. Both are kept to
// one line that a terminal shows as it is, whatever the file calls its keys.
func (r *reader) problem(n node, hint, format string, args ...any) {
	line, column := position(n)
	r.problems = append(r.problems, Problem{
		File: r.name, Line: line, Column: column, Text: printable(fmt.Sprintf(format, args...)), Hint: printable(hint),
	})
}

// here is a problem of this file without a word yet: a place.
func (r *reader) here(n node) Problem {
	line, column := position(n)
	return Problem{File: r.name, Line: line, Column: column}
}

func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return utf8.RuneError
		}
		return c
	}, s)
}

// position is where n begins. A mapping's own token is the colon after its
// first key, which is not where a reader looks.
func position(n node) (line, column int) {
	t := n.GetToken()
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		t = m.Values[0].Key.GetToken()
	}
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, t.Position.Column
}

// parse turns text into a tree; nil when there is nothing in it, or a problem.
func (r *reader) parse(text []byte) node {
	roots := r.documents(text)
	switch len(roots) {
	case 0:
		return nil
	case 1:
		return roots[0]
	}
	r.problem(roots[1], "leave out the line ---", "a second document in the file")
	return nil
}

// documents turns text into trees, one for each of its documents.
func (r *reader) documents(text []byte) (roots []node) {
	defer func() {
		if cause := recover(); cause != nil { // a parser may stumble; bellhop does not fall over it
			roots = nil
			r.problems = append(r.problems,
				Problem{File: r.name, Text: printable(fmt.Sprintf("cannot be parsed as YAML: %v", cause))})
		}
	}()
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(text) > r.most {
		r.problems = append(r.problems, Problem{File: r.name, Text: fmt.Sprintf("is larger than %d kB", r.most>>10), Hint: "is this the right file?"})
		return nil
	}
	if bad := invalidUTF8(text); bad >= 0 {
		before := text[:bad]
		start := bytes.LastIndexByte(before, '\n') + 1
		r.problems = append(r.problems, Problem{
			File: r.name, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1,
			Text: "not UTF-8", Hint: "save the file as UTF-8",
		})
		return nil
	}
	documents, at, too := bounded(string(text))
	if too != "" {
		p := Problem{File: r.name, Text: too, Hint: "is this the right file?"}
		if at.Position != nil {
			p.Line, p.Column = at.Position.Line, at.Position.Column
		}
		r.problems = append(r.problems, p)
		return nil
	}
	for _, tokens := range documents {
		r.aliased += len(tokens)
		file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
		if err != nil {
			r.syntax(err)
			return nil
		}
		for _, doc := range file.Docs {
			switch doc.Body.(type) {
			case nil, *ast.DirectiveNode, *ast.NullNode: // an empty file is one of defaults
				continue
			}
			roots = append(roots, doc.Body)
		}
	}
	return roots
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// syntax puts the parser's error in one line.
func (r *reader) syntax(err error) {
	p, message := Problem{File: r.name}, err.Error()
	var at interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &at) {
		message = at.GetMessage()
		if t := at.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = t.Position.Line, t.Position.Column
		}
	}
	p.Text = "YAML: " + printable(strings.TrimSpace(firstLine(message)))
	if strings.Contains(message, "'\t'") {
		p.Text, p.Hint = "YAML: a tab at the start of a line or value", "indent with blanks"
	}
	r.problems = append(r.problems, p)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// resolve replaces an alias by what its anchor names. It returns nil, with a
// problem recorded, for what this file has no use for.
func (r *reader) resolve(n node) node {
	if r.aliased--; r.aliased < 0 {
		if r.aliased == -1 {
			r.problem(n, "write fewer aliases", "aliases stand for more than %d values", aliasedMost)
		}
		return nil
	}
	switch v := n.(type) {
	case *ast.AnchorNode:
		r.anchors[v.Name.GetToken().Value] = v.Value
		return r.resolve(v.Value)
	case *ast.AliasNode:
		name := v.Value.GetToken().Value
		to, ok := r.anchors[name]
		if !ok {
			r.problem(n, "an anchor is set with &"+name+" further up", "no anchor of the name %q", name)
			return nil
		}
		return r.resolve(to) // an anchor holds no alias at its top, so this ends
	case *ast.TagNode:
		r.problem(n, "leave it out, and put a number that is to be a string in quotes", "the YAML tag %s is not used here", v.GetToken().Value)
		return nil
	}
	return n
}

// field is one key of a mapping.
type field struct {
	name     string
	required bool
	unless   func() bool // required, but if it says so when all keys are read; nil: in any case
	read     func(n node, at string)
}

// mapping reads the keys of n in file order and tells which were given, even
// if their values are wrong. A key without a value is as if it was not there.
func (r *reader) mapping(n node, at string, fields []field) map[string]node {
	if n = r.resolve(n); n == nil {
		return nil
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		if at == "" {
			r.problem(n, "its keys are "+names(fields), "the file must hold keys and values, not %s", kind(n))
		} else {
			r.problem(n, "its keys are "+names(fields), "%s must hold keys and values, not %s", at, kind(n))
		}
		return nil
	}
	given := map[string]node{}
	meant := map[string]bool{}
	lines := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		key, ok := r.key(it.Key(), at)
		if !ok {
			continue
		}
		if first := lines[key]; first > 0 {
			r.problem(it.Key(), "", "duplicate key %q%s, first on line %d", key, in(at), first)
			continue
		}
		lines[key], _ = position(it.Key())
		f := find(fields, key)
		if f == nil {
			r.unknown(it.Key(), at, key, fields, meant)
			continue
		}
		value := r.resolve(it.Value())
		if value == nil {
			meant[key] = true
			continue
		}
		if _, null := value.(*ast.NullNode); null {
			continue
		}
		given[key] = value
		f.read(value, join(at, key))
	}
	for _, f := range fields {
		if f.required && (f.unless == nil || !f.unless()) && given[f.name] == nil && !meant[f.name] {
			r.problem(n, "", "%s is missing", join(at, f.name))
		}
	}
	return given
}

// unknown reports an unknown key, and remembers which key it was meant to be, so that this one is not also called
// missing.
func (r *reader) unknown(n node, at, key string, fields []field, meant map[string]bool) {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	if best, ok := Nearest(key, known); ok {
		meant[best] = true
	}
	hint := suggest(key, known)
	r.problem(n, hint, "unknown key %q%s", key, in(at))
}

// key is the text of a key.
func (r *reader) key(n node, at string) (string, bool) {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	case *ast.MergeKeyNode:
		r.problem(n, "write the keys out, or use an alias for a whole value", "merge keys (<<) are not used here")
	default:
		r.problem(n, "write it like name: value", "a key%s must be a plain word", in(at))
	}
	return "", false
}

func find(fields []field, name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func names(fields []field) string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return strings.Join(all, ", ")
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func in(at string) string {
	if at == "" {
		return ""
	}
	return " in " + at
}

// kind says what a node is, in words.
func kind(n node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "nothing"
	}
	return "a string"
}
