package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	File   string
	Line   int // from 1; 0: the file as a whole
	Column int // in characters, from 1
	Text   string
	Hint   string // what to write instead; may be empty
}

// String is the problem in one line: bellhop.yaml:12:5: what is wrong; what to do.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + p.Text)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// seenFrom is where the problem stands, for a reader of that file.
func (p Problem) seenFrom(file string) string {
	if p.File == file {
		return fmt.Sprintf("on line %d", p.Line)
	}
	return fmt.Sprintf("in %s, line %d", p.File, p.Line)
}

// Problems is all that is wrong with a file, in its order.
type Problems struct {
	List  []Problem
	cause error // of a file that could not be read
}

// Error gives one line for each problem.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap is why the file could not be read, nil when it could.
func (p *Problems) Unwrap() error { return p.cause }

// inOrder sorts problems as a reader of the file meets them.
func inOrder(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
