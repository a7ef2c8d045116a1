package lock

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ExprError says what is wrong with a filter's predicate, and where.
type ExprError struct {
	Text string
	At   int // the character, from 1
	Why  string
	Next string
}

func (e *ExprError) Error() string {
	return fmt.Sprintf("predicate %s, character %d: %s; %s", e.Text, e.At, e.Why, e.Next)
}

// maxDepth is how deep an expression may nest, so that no text can exhaust the stack.
const maxDepth = 64

const howToTest = `write ["=","type","mail"], ["<","id",100], ["=~","args","^/srv"], ["?","vars.X"], ["=[]","locks","big"], or ["&",…], ["|",…], ["!",…] of these`

// expr is one node of an expression.
type expr struct {
	op    string
	field string
	value any // string, float64, bool or nil
	regex *regexp.Regexp
	under []expr
}

// answer is what an expression says of a thing: yes, no, or that it does not apply.
type answer uint8

const (
	noAnswer answer = iota
	isFalse
	isTrue
)

func toAnswer(yes bool) answer {
	if yes {
		return isTrue
	}
	return isFalse
}

// fields gives what a thing has under a name: nil, string, float64, bool or
// []any; false: there is no such field.
type fields func(name string) (any, bool)

// eval answers for one thing. What is compared with a field that is not there,
// or with a value of another type, has no answer; neither has its negation, so
// that ["!", …] of nonsense does not let everything through (Ganeti's filters).
func (e expr) eval(get fields) answer {
	switch e.op {
	case "&", "|":
		return e.join(get)
	case "!":
		switch e.under[0].eval(get) {
		case isTrue:
			return isFalse
		case isFalse:
			return isTrue
		}
		return noAnswer
	case "": // of nothing: every thing
		return isTrue
	}
	got, there := get(e.field)
	if !there {
		return noAnswer
	}
	switch e.op {
	case "?":
		return toAnswer(truth(got))
	case "=~":
		text, is := got.(string)
		if !is {
			return noAnswer
		}
		return toAnswer(e.regex.MatchString(text))
	case "=[]":
		list, is := got.([]any)
		if !is {
			return noAnswer
		}
		return toAnswer(slices.ContainsFunc(list, func(x any) bool { return compare("=", x, e.value) == isTrue }))
	}
	return compare(e.op, got, e.value)
}

// join answers for & and |: what decides the whole does so wherever it stands.
func (e expr) join(get fields) answer {
	decides, otherwise := isFalse, isTrue
	if e.op == "|" {
		decides, otherwise = isTrue, isFalse
	}
	for _, u := range e.under {
		switch u.eval(get) {
		case decides:
			return decides
		case noAnswer:
			otherwise = noAnswer
		}
	}
	return otherwise
}

func truth(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case float64:
		return v != 0
	case bool:
		return v
	case []any:
		return len(v) > 0
	}
	return v != nil
}

// compare knows numbers and texts, and of others whether they are equal.
func compare(op string, got, want any) answer {
	c := 0
	switch got := got.(type) {
	case string:
		want, is := want.(string)
		if !is {
			return noAnswer
		}
		c = strings.Compare(got, want)
	case float64:
		want, is := want.(float64)
		if !is {
			return noAnswer
		}
		if got < want {
			c = -1
		} else if got > want {
			c = 1
		}
	case bool:
		want, is := want.(bool)
		if !is || op != "=" {
			return noAnswer
		}
		return toAnswer(got == want)
	default:
		return noAnswer
	}
	switch op {
	case "=":
		return toAnswer(c == 0)
	case "<":
		return toAnswer(c < 0)
	case "<=":
		return toAnswer(c <= 0)
	case ">":
		return toAnswer(c > 0)
	}
	return toAnswer(c >= 0)
}

// reader reads the JSON of a predicate, token by token, and knows where it is.
type reader struct {
	text string
	dec  *json.Decoder
	at   int // where the last token began, in bytes
}

func newReader(text string) *reader {
	return &reader{text: text, dec: json.NewDecoder(strings.NewReader(text))}
}

func (r *reader) fail(at int, why, next string) error {
	at = min(at, len(r.text))
	return &ExprError{Text: r.text, At: utf8.RuneCountInString(r.text[:at]) + 1, Why: why, Next: next}
}

// begin is where the next token begins.
func (r *reader) begin() int {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) token() (json.Token, error) {
	r.at = r.begin()
	t, err := r.dec.Token()
	if err != nil {
		return nil, r.fail(r.at, "this is not JSON: "+strings.TrimPrefix(err.Error(), "json: "), howToTest)
	}
	return t, nil
}

// open expects the beginning of a list.
func (r *reader) open() error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return r.fail(r.at, "a list is expected", howToTest)
	}
	return nil
}

// close expects the end of a list.
func (r *reader) close() error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != json.Delim(']') {
		return r.fail(r.at, "the list has too much in it", howToTest)
	}
	return nil
}

// word expects a text.
func (r *reader) word(what string) (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	s, is := t.(string)
	if !is {
		return "", r.fail(r.at, what+" is expected here, in quotes", howToTest)
	}
	return s, nil
}

// end expects that nothing follows.
func (r *reader) end() error {
	if at := r.begin(); at < len(r.text) {
		return r.fail(at, "something follows after the end", "delete it")
	}
	return nil
}

// expr reads an expression; null is one that everything fulfils.
func (r *reader) expr(depth int) (expr, error) {
	begin := r.begin()
	t, err := r.token()
	switch {
	case err != nil:
		return expr{}, err
	case t == nil:
		return expr{}, nil
	case t != json.Delim('['):
		return expr{}, r.fail(r.at, "a list is expected", howToTest)
	case depth > maxDepth:
		return expr{}, r.fail(begin, fmt.Sprintf("it is nested more than %d deep", maxDepth), "write it flatter: & and | take any number")
	}
	op, err := r.word("an operator")
	if err != nil {
		return expr{}, err
	}
	e := expr{op: op}
	switch op {
	case "&", "|", "!":
		if err := r.under(&e, depth); err != nil {
			return expr{}, err
		}
	case "?", "=", "<", "<=", ">", ">=", "=~", "=[]":
		if err := r.test(&e); err != nil {
			return expr{}, err
		}
	default:
		return expr{}, r.fail(r.at, fmt.Sprintf("there is no operator %q", op),
			"the operators are = < <= > >= & | ! ? =~ =[]")
	}
	return e, r.close()
}

func (r *reader) under(e *expr, depth int) error {
	for r.dec.More() {
		if e.op == "!" && len(e.under) == 1 {
			return r.fail(r.begin(), "! takes one expression", `write ["!",["|",…]] for several`)
		}
		u, err := r.expr(depth + 1)
		if err != nil {
			return err
		}
		e.under = append(e.under, u)
	}
	if e.op == "!" && len(e.under) == 0 {
		return r.fail(r.begin(), "! takes one expression", howToTest)
	}
	return nil
}

func (r *reader) test(e *expr) (err error) {
	if e.field, err = r.word("a field"); err != nil || e.op == "?" {
		return err
	}
	t, err := r.token()
	if err != nil {
		return err
	}
	if _, list := t.(json.Delim); list || t == nil {
		return r.fail(r.at, "a value is expected: text in quotes, a number, true or false", howToTest)
	}
	e.value = t
	if e.op != "=~" {
		return nil
	}
	pattern, is := t.(string)
	if !is {
		return r.fail(r.at, "a regular expression is expected, in quotes", howToTest)
	}
	if e.regex, err = regexp.Compile(pattern); err != nil {
		return r.fail(r.at, strings.TrimPrefix(err.Error(), "error parsing regexp: "), "fix the regular expression; it matches anywhere, as PostgreSQL's ~, unless ^ and $ say where")
	}
	return nil
}
