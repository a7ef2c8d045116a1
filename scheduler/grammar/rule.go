package grammar

import (
	"regexp"
	"strings"
)

// rules are the constraints of the queue, by name, in words. A field stands in braces: each face writes its own name.
var rules = map[string]string{
	"jobqueue_type_named":        "{type} is empty, or longer than 500 bytes",
	"jobqueue_args_or_msq":       "a job has {args} or {msq}, not both",
	"jobqueue_args_one_line":     "{args} must be one line: agents read lines",
	"jobqueue_msq_not_empty":     "the query of {msq} is empty",
	"jobqueue_repeat_known":      "{repeat} is once or until_empty",
	"jobqueue_repeat_needs_msq":  "{repeat} concerns the query of {msq}, and none is given",
	"jobqueue_priority_range":    "{priority} goes from -20 (first) to 19 (last)",
	"jobqueue_priority_name":     "{priority_name} takes letters and digits",
	"jobqueue_key_not_empty":     "{key} must not be empty nor longer than 1000 characters, or 2600 bytes",
	"jobqueue_run_on_not_empty":  "{run_on} is empty, or longer than 1000 bytes",
	"jobqueue_max_attempts":      "{max_attempts} is 1 or more",
	"jobqueue_timeout_positive":  "{timeout} must be longer than 0",
	"jobqueue_on_failure_known":  "{on_failure} is fail, block or run",
	"dependency_wanted_ends":     "{wanted} is one or more of succeeded, failed, cancelled, quarantined",
	"jobqueue_locks_well_formed": "{locks} is level:name=exclusive or level:name=shared (name may be * for all or ? for unknown), or big",
	"jobqueue_vars_are_strings":  "variables are strings",
	"jobqueue_state_known":       "there is no such state",
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
