package grammar

import (
	"maps"
	"regexp"
	"strings"
)

// rules are the constraints of the queue, by name, in words: those of single fields, and others by hand. A field stands
// in braces: each face writes its own name.
var rules = func() map[string]string {
	all := maps.Clone(byHand)
	for _, r := range refusals() {
		all["jobqueue_"+r.name] = r.says
	}
	return all
}()

var byHand = map[string]string{
	"jobqueue_args_or_msq":         "a job has {args} or {msq}, not both",
	"jobqueue_args_one_line":       "{args} must be one line: agents read lines",
	"jobqueue_msq_not_empty":       "the query of {msq} is empty",
	"jobqueue_reasons_well_formed": "{reasons} is a list of texts, without NULL",
	"jobqueue_repeat_needs_msq":    "{repeat} concerns the query of {msq}, and none is given",
	"jobqueue_priority_name":       "{priority_name} takes letters and digits",
	"dependency_wanted_ends":       "{wanted} is one or more of succeeded, failed, cancelled, quarantined",
	"jobqueue_locks_well_formed":   "{locks} is level:name=exclusive or level:name=shared (name may be * for all or ? for unknown), or big",
	"jobqueue_vars_are_strings":    "variables are strings",
	"jobqueue_state_known":         "there is no such state",
}

// Rules are the names of the constraints that have words.
func Rules() (names []string) {
	for name := range rules {
		names = append(names, name)
	}
	return names
}

var inBraces = regexp.MustCompile(`\{(\w+)\}`)

// Broken says what a constraint of the queue demands, in the words of a face. ok is false for any other constraint.
func Broken(rule string, face Face) (sentence string, ok bool) {
	text, ok := rules[rule]
	return inBraces.ReplaceAllStringFunc(text, func(name string) string {
		f := Submission.Field(strings.Trim(name, "{}"))
		switch {
		case face != Command:
			return f.In(face)
		case f.Without[Command] != "": // a word, and not a flag
			return strings.ToUpper(f.Name)
		}
		return "--" + f.In(Command)
	}), ok
}
