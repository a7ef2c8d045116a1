package lock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mode says how a lock is wanted. The zero Mode is: not at all. The greater of two modes wins: an exclusive holder
// may do all that sharing allows.
type Mode uint8

const (
	Shared    Mode = iota + 1 // beside others that share it
	Exclusive                 // alone
)

func (m Mode) String() string {
	switch m {
	case Shared:
		return "shared"
	case Exclusive:
		return "exclusive"
	}
	return "none"
}

// Scope says which locks of a level are wanted.
type Scope uint8

const (
	Named   Scope = iota // the one of that name
	Unknown              // at least one, whose name is not known: ?
	All                  // every one: *
)

// Big is the text of the lock that runs alone among all jobs with locks, and
// therefore no level's name.
const Big = "big"

// MaxName is how long a level's or a lock's name may be, in bytes: longer ones
// do not fit into an index of PostgreSQL beside other columns.
const MaxName = 1024

// Want is one lock that a job asks for. The zero Want is none.
type Want struct {
	Big   bool // then all else is empty
	Level string
	Scope Scope
	Name  string // of Scope Named; any text but the empty one
	Mode  Mode
}

// Text is the want as it is written; Parse reads it back.
func (w Want) Text() string {
	if w.Big {
		return Big
	}
	return w.Level + ":" + w.NameText() + "=" + w.Mode.String()
}

// NameText is the name alone as it is written: * for all, ? for unknown, and a
// backslash in front of a name that would be taken for one of these.
func (w Want) NameText() string {
	switch {
	case w.Big:
		return Big
	case w.Scope == All:
		return "*"
	case w.Scope == Unknown:
		return "?"
	case w.Name == "*" || w.Name == "?" || strings.HasPrefix(w.Name, `\`):
		return `\` + w.Name
	}
	return w.Name
}

// TextError says what is wrong with a lock's text, where, and what to type.
type TextError struct {
	Text string
	At   int // the character, from 1
	Why  string
	Next string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("lock %q, character %d: %s; %s", e.Text, e.At, e.Why, e.Next)
}

const howToWrite = "write level:name=exclusive, level:name=shared, level:*=shared (all), level:?=shared (unknown), or big"

// wrong makes a TextError of a byte offset.
func wrong(text string, offset int, why, next string) error {
	return &TextError{Text: text, At: utf8.RuneCountInString(text[:offset]) + 1, Why: why, Next: next}
}

// Parse reads one lock. The level ends at the first colon, the mode begins at
// the last =, and all between is the name: colons, =, blanks and quotes are
// letters like others. A name of * means all, one of ? unknown. A backslash in
// front says that the rest is a name as it stands: `\*` is the name *, `\\x` is \x.
// The error is a *TextError.
func Parse(text string) (Want, error) {
	if text == Big {
		return Want{Big: true}, nil
	}
	colon, eq := strings.IndexByte(text, ':'), strings.LastIndexByte(text, '=')
	switch {
	case text == "":
		return Want{}, wrong(text, 0, "it is empty", howToWrite)
	case !utf8.ValidString(text):
		return Want{}, wrong(text, validPrefix(text), "it is not UTF-8", howToWrite)
	case strings.IndexByte(text, 0) >= 0:
		return Want{}, wrong(text, strings.IndexByte(text, 0), "it holds a zero byte, which PostgreSQL does not keep", "leave it out")
	case colon < 0:
		return Want{}, wrong(text, len(text), "there is no colon after a level", howToWrite)
	case eq < colon:
		return Want{}, wrong(text, len(text), "there is no = with a mode after the name",
			"write "+text+"=exclusive, or "+text+"=shared")
	}
	w := Want{Level: text[:colon], Name: text[colon+1 : eq]}
	if at, why := badLevel(w.Level); why != "" {
		return Want{}, wrong(text, at, why, howToWrite)
	}
	switch text[eq+1:] {
	case "exclusive":
		w.Mode = Exclusive
	case "shared":
		w.Mode = Shared
	default:
		return Want{}, wrong(text, eq+1, fmt.Sprintf("%q is not a valid mode", text[eq+1:]),
			"write "+text[:eq]+"=exclusive, or "+text[:eq]+"=shared")
	}
	switch name, escaped := strings.CutPrefix(w.Name, `\`); {
	case name == "":
		return Want{}, wrong(text, colon+1, "the name is empty", "write "+w.Level+":NAME="+w.Mode.String()+", or "+w.Level+":*="+w.Mode.String()+" for all")
	case len(name) > MaxName:
		return Want{}, wrong(text, colon+1, fmt.Sprintf("the name has %d bytes, and may have %d", len(name), MaxName), "write a shorter one, a hash for instance")
	case escaped:
		w.Name = name
	case name == "*":
		w.Scope, w.Name = All, ""
	case name == "?":
		w.Scope, w.Name = Unknown, ""
	}
	return w, nil
}

// validPrefix is how many bytes of a text are UTF-8 before the first that is not.
func validPrefix(text string) int {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}

// badLevel says what is wrong with a level's name, and at which byte; empty: nothing.
func badLevel(name string) (at int, why string) {
	switch {
	case name == "":
		return 0, "the level is empty"
	case name == Big:
		return 0, "big is a lock, and not a level"
	case len(name) > MaxName:
		return 0, fmt.Sprintf("the level has %d bytes, and may have %d", len(name), MaxName)
	}
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return i, fmt.Sprintf("%q may not stand in a level: letters a to z, digits, _ and - may", r)
		}
	}
	return 0, ""
}

// Levels are the levels that locks may be of. They are independent: a lock of
// one level has nothing to do with a lock of another.
type Levels []string

// GanetiLevels are the default: those of Ganeti design-predictive-queue.
var GanetiLevels = Levels{"nodegroup", "instance", "node", "noderes", "network"}

// Check finds every level that is badly written, reserved, or there twice.
func (l Levels) Check() error {
	var problems []error
	for i, name := range l {
		if at, why := badLevel(name); why != "" {
			problems = append(problems, fmt.Errorf("level %q, character %d: %s; name it otherwise", name,
				utf8.RuneCountInString(name[:at])+1, why))
		} else if slices.Contains(l[:i], name) {
			problems = append(problems, fmt.Errorf("level %q is there twice; delete one", name))
		}
	}
	return errors.Join(problems...)
}

// has says whether w may be asked for; the error lists the levels. Where there
// are none, any may be.
func (l Levels) has(w Want, text string) error {
	if w.Big || len(l) == 0 || slices.Contains(l, w.Level) {
		return nil
	}
	return wrong(text, 0, fmt.Sprintf("there is no level %q", w.Level), "the levels are "+strings.Join(l, ", ")+"; others are named in policy.levels")
}

// ParseAll reads all locks of a job and merges them. Every problem is in the
// error, each a *TextError.
func ParseAll(texts []string, levels Levels) (Set, error) {
	var problems []error
	wants := make([]Want, 0, len(texts))
	for _, text := range texts {
		w, err := Parse(text)
		if err == nil {
			err = levels.has(w, text)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		wants = append(wants, w)
	}
	if len(problems) > 0 {
		return Set{}, errors.Join(problems...)
	}
	return NewSet(wants...), nil
}
