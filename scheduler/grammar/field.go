// Package grammar is the shape of what people and programs write: a submission, a change of a job, a filter, a workflow
// with its steps, sensor and notification rules. Each field stands here once, with its kind, bounds, example and
// sentence. Commands, REST, SQL and docs/reference.md read it here; tests hold all faces against it.
package grammar

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind is what a value may be. Those that a definition of a workflow may hold have the names that SQL knows them by.
type Kind string

const (
	Word  Kind = "word"  // text that is not empty
	Text  Kind = "text"  // any text
	Whole Kind = "whole" // a whole number
	Count Kind = "count" // a whole number from 0 on
	Long  Kind = "long"  // a duration, such as 90s
	Flag  Kind = "flag"  // true or false
	Words Kind = "words" // a list of words
	Pairs Kind = "pairs" // names and texts
	List  Kind = "list"  // a list of objects
	Part  Kind = "part"  // an object
	Time  Kind = "time"  // a point in time
	ID    Kind = "id"    // the id of a job
	IDs   Kind = "ids"   // a list of them
	JSON  Kind = "json"  // a list of expressions in JSON
)

// Face is one of the ways in which a field can be written.
type Face string

const (
	SQL     Face = "SQL"
	REST    Face = "REST"
	Command Face = "command"
	Go      Face = "Go"
	File    Face = "file"      // the definition of a workflow: a file, or JSON
	Child   Face = "child job" // what a run makes, and waits for
)

// Field is one value that an object may have.
type Field struct {
	// Name is what SQL, REST and files call it. The command's flag is the name with hyphens, Go's field the name in
	// camel case, unless Flag, Go and Argument (of SQL) say otherwise.
	Name, Flag, Go, Argument string

	Kind   Kind
	Needed bool
	// Says is the meaning in a sentence without its period. A command's help calls the value by the word in backquotes.
	Says string
	// Usage is that sentence for a command, where the flag takes less or more than the field.
	Usage   string
	Choices []string // the only texts that it, or each of its elements, may be
	// Pattern matches the whole text. Go and PostgreSQL must read it alike.
	Pattern *regexp.Regexp
	// Wrong is the sentence about a text that breaks Choices or Pattern, which stands for %s; empty: NAME cannot be TEXT.
	// Hint says what to write in place of it; empty: the choices or bounds.
	Wrong, Hint string
	// Kinds are the kinds of sensors that may have the field; the field that makes a kind names itself alone.
	Kinds []string
	One   bool // in a file one word may stand for a list of it
	// Least and Most bound a number; Most also the letters of a text and the elements of a list, and MostBytes the bytes
	// of a text. 0: no bound but the kind's.
	Least, Most, MostBytes int
	Default                string // in words; empty: no value
	// Call marks an argument of bellhop.submit that is not a column of the queue.
	Call    bool
	Example string
	// Without names the faces that leave the field out, each with the reason.
	Without map[Face]string
}

// Object is what can be written as a whole.
type Object struct {
	Name   string // in the reference
	Says   string
	Part   string // of a definition of a workflow, as SQL calls it
	Faces  []Face
	Fields []Field
}

// Field gives a field by its name. A name that the object does not have is a programming error, and panics.
func (o Object) Field(name string) Field {
	for _, f := range o.Fields {
		if f.Name == name {
			return f
		}
	}
	panic(fmt.Sprintf("grammar: %s has no field %s", o.Name, name))
}

// Names are what a face calls the fields that it has, sorted.
func (o Object) Names(face Face) (names []string) {
	for _, f := range o.Fields {
		if f.Without[face] == "" {
			names = append(names, f.In(face))
		}
	}
	slices.Sort(names)
	return names
}

// In is what a face calls the field.
func (f Field) In(face Face) string {
	switch {
	case face == SQL && f.Argument != "":
		return f.Argument
	case face == Command && f.Flag != "":
		return f.Flag
	case face == Command:
		return strings.ReplaceAll(f.Name, "_", "-")
	case face == Go && f.Go != "":
		return f.Go
	case face == Go:
		return camel(f.Name)
	}
	return f.Name
}

// camel writes a name as Go does.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// Sentence is the meaning, with its choices, bounds and default, and no mark of a command's.
func (f Field) Sentence() string { return strings.ReplaceAll(f.Says, "`", "") + f.tail() }

// Help is the sentence as a command's help has it: its first letter is small.
func (f Field) Help() string {
	if f.Usage != "" {
		return f.Usage
	}
	text := f.Says + f.tail()
	return strings.ToLower(text[:1]) + text[1:]
}

// tail are the choices, the bounds of a number and the default.
func (f Field) tail() string {
	var tail string
	if len(f.Choices) > 0 {
		tail = ": " + either(f.Choices)
	}
	if f.Default != "" {
		tail += " (default: " + f.Default + ")"
	}
	return tail
}

// either lists words: a, b or c.
func either(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
