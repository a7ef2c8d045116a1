package config

import (
	"math"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"bellhop/scheduler/grammar"
)

// string reads one string. Values are not repeated in problems: the file holds
// passwords.
func (r *reader) string(n node, at string) (string, bool) {
	s, ok := stringOf(n)
	if !ok {
		hint := ""
		if k := kind(n); k == "a number" || k == "true or false" {
			hint = "put it in quotes"
		}
		r.problem(n, hint, "%s must be a string, not %s", at, kind(n))
		return "", false
	}
	if i := strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }); i >= 0 {
		r.problem(n, "", "%s holds a control character (%q)", at, s[i])
		return "", false
	}
	return s, true
}

// stringOf is the text of a quoted, plain or block string.
func stringOf(n node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	}
	return "", false
}

// written reads a string where numbers and true/false stand for the way they
// are written, as they do on a command line. Line breaks may be in it.
func (r *reader) written(n node, at string) (string, bool) {
	s, ok := stringOf(n)
	if k := kind(n); !ok && (k == "a number" || k == "true or false") {
		s, ok = n.GetToken().Value, true
	}
	switch {
	case !ok && kind(n) == "nothing":
		r.problem(n, `leave it out, or write "" for an empty one`, "%s has no value", at)
	case !ok:
		r.problem(n, "", "%s must be a string, not %s", at, kind(n))
	case strings.Contains(s, "\x00"):
		r.problem(n, "", "%s holds a zero byte, which no program can be given", at)
		return "", false
	}
	return s, ok
}

func (r *reader) flag(to *bool) func(node, string) {
	return func(n node, at string) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			r.problem(n, "", "%s must be true or false, not %s", at, kind(n))
			return
		}
		*to = b.Value
	}
}

// count reads a whole number from 0 up, small enough for the database's integer.
func (r *reader) count(to *int) func(node, string) {
	return func(n node, at string) {
		written := n.GetToken().Value
		i, ok := n.(*ast.IntegerNode)
		switch s, quoted := stringOf(n); {
		case ok:
		case quoted && wholeNumber.MatchString(s) && n.GetToken().Type != token.StringType:
			r.problem(n, "leave out the quotes", "%s must be a whole number, not a string", at)
			return
		case quoted && wholeNumber.MatchString(s): // no integer node: it has too many digits for one
			r.problem(n, "", "%s is %s, which is too much", at, written)
			return
		case kind(n) == "a number":
			r.problem(n, "", "%s must be a whole number, not %s", at, written)
			return
		default:
			r.problem(n, "", "%s must be a whole number, not %s", at, kind(n))
			return
		}
		v, known := whole(i.Value)
		switch {
		case v < 0:
			r.problem(n, "write 0 or more", "%s is %s", at, written)
		case !known || v > math.MaxInt32:
			r.problem(n, "", "%s is %s, which is too much", at, written)
		default:
			*to = int(v)
		}
	}
}

var wholeNumber = regexp.MustCompile(`^[-+]?[0-9]+$`)

// whole is the value of an integer node; false when it is beyond all use.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(min(v, math.MaxInt64)), v <= math.MaxInt64
	}
	return 0, false
}

// span says which durations a key takes.
type span bool

const (
	maybeNone span = false // 0s and more
	someTime  span = true  // more than 0s
)

// duration reads a Go duration. After a problem it is 0, so that no check of one duration against another uses a
// value that was not written.
func (r *reader) duration(to *time.Duration, want span) func(node, string) {
	return func(n node, at string) {
		*to = 0
		s, ok := stringOf(n)
		if !ok {
			if number := n.GetToken().Value; kind(n) == "a number" {
				r.problem(n, "write "+number+"s, "+number+"m or "+number+"h", "%s is %s without a unit", at, number)
			} else {
				r.problem(n, "write it like 10s, 15m or 1h30m", "%s must be a duration, not %s", at, kind(n))
			}
			return
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			r.problem(n, "write it like 10s, 15m or 1h30m", "%s: %q is not a valid duration", at, s)
		case d < 0:
			r.problem(n, "", "%s is negative (%s)", at, s)
		case d == 0 && want == someTime:
			r.problem(n, "write it like 10s, 15m or 1h30m", "%s must be more than nothing", at)
		case d >= grammar.Longest:
			r.problem(n, "write it like 10s, 15m or 1h30m", "%s is %s, which is too much", at, s)
		default:
			*to = d
		}
	}
}

// each calls read for every member of a list of n.
func (r *reader) each(n node, at, form string, read func(n node, at string)) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problem(n, form, "%s must be a list, not %s", at, kind(n))
		return
	}
	for i, v := range list.Values {
		if v = r.resolve(v); v != nil {
			read(v, at+"["+strconv.Itoa(i)+"]")
		}
	}
}

// words reads a list of strings, none of them empty.
func (r *reader) words(to *[]string, example string, check func(n node, at, s string) bool) func(node, string) {
	return func(n node, at string) {
		*to = nil
		r.each(n, at, "write it like "+example, func(n node, at string) {
			s, ok := r.written(n, at)
			if !ok {
				return
			}
			if s == "" {
				r.problem(n, "", "%s is empty", at)
				return
			}
			if check == nil || check(n, at, s) {
				*to = append(*to, s)
			}
		})
	}
}

// databaseURL checks a connection string as far as it can be without a
// database. It never repeats it: there may be a password in it.
func (r *reader) databaseURL(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if !ok {
			return
		}
		scheme, _, isURL := strings.Cut(s, "://")
		switch {
		case s == "": // as if it was not there
		case isURL && scheme != "postgres" && scheme != "postgresql":
			r.problem(n, "write it like postgres://user@host:5432/name", "%s begins with %q, which is not PostgreSQL", at,
				scheme+"://")
			return
		case !isURL && !strings.Contains(s, "="):
			r.problem(n, "write it like postgres://user@host:5432/name", "%s is not a connection string", at)
			return
		}
		*to = s
	}
}

// address checks host:port.
func (r *reader) address(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := stringOf(n)
		_, port, err := net.SplitHostPort(s)
		if !ok || err != nil {
			r.problem(n, "write it like 127.0.0.1:8470", "%s must be an address and a port", at)
			return
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			r.problem(n, "write it like 127.0.0.1:8470", "%s: %q is not a valid port", at, port)
			return
		}
		*to = s
	}
}
