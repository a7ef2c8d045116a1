package lock

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ShareTemplate is the share of an agent's jobs that come without one: a text in which ${vars.NAME}, ${args} and
// ${key} stand for what the job has. $${ is a plain ${. The zero value is none.
type ShareTemplate struct {
	text  string
	parts []part
}

// MaxShare is how many characters a share has at most; a longer one is cut.
const MaxShare = 200

// ParseShare reads a template. It names a var: the trigger looks at no job without vars.
func ParseShare(text string) (ShareTemplate, error) {
	if text == "" {
		return ShareTemplate{}, errors.New(`it is empty; write "${vars.CUSTOMER}", or leave it out`)
	}
	if n := utf8.RuneCountInString(text); n > MaxShare {
		return ShareTemplate{}, fmt.Errorf("it has %d characters, and may have %d; use a shorter text", n, MaxShare)
	}
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00") {
		return ShareTemplate{}, fmt.Errorf("%q is not valid text; use another one", text)
	}
	parts, err := split(text, text)
	if bad := (*TextError)(nil); errors.As(err, &bad) {
		return ShareTemplate{}, fmt.Errorf("%q, character %d: %s; %s", text, bad.At, bad.Why, bad.Next)
	}
	t := ShareTemplate{text, parts}
	if len(t.Vars()) == 0 {
		return ShareTemplate{}, fmt.Errorf(`%q names no var, by which jobs could differ; write "${vars.CUSTOMER}"`, text)
	}
	return t, nil
}

// Text is the template as it was written; empty: none.
func (t ShareTemplate) Text() string { return t.text }

// Vars are the vars of a job that the template wants, by name.
func (t ShareTemplate) Vars() []string { return Template{parts: t.parts}.Vars() }

// Parts are what bellhop.template_share puts together: =TEXT, args, key or vars.NAME.
func (t ShareTemplate) Parts() []string {
	var list []string
	for _, p := range t.parts {
		switch {
		case p.value != "":
			list = append(list, p.value)
		case p.text != "":
			list = append(list, "="+p.text)
		}
	}
	return list
}
