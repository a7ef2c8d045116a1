package scheduler

import (
	"fmt"
	"regexp"
)

// typeName is what a type looks like: names of children are a type, a dot and
// a number, and commands in the queue are words between blanks.
var typeName = regexp.MustCompile(`^[A-Za-z0-9_:-]+$`)

// typeMost is how many bytes a job's type may have: an index holds it beside the name of a lock (triggers/refuse.sql).
const typeMost = 500

// CheckType tells whether an agent may be of a type so called: why not, and what
// to do; empty: it may.
func CheckType(name string) (why, next string) {
	if !typeName.MatchString(name) {
		return fmt.Sprintf("%q is not a valid name of a type", name), "use letters, digits and _ - :"
	}
	if len(name) > typeMost {
		return fmt.Sprintf("a type of %d bytes is one that no job can have", len(name)),
			fmt.Sprintf("use at most %d", typeMost)
	}
	taken := map[string]string{
		"command":       "the type of bellhop's own commands",
		"attachment":    "the type of rows of attached tables with a command",
		"dummy":         "the type of jobs that do nothing, and need no agent",
		string(RJMType): "the agent of RJM's workers: bellhop rjmproc",
	}
	if is := taken[name]; is != "" {
		return fmt.Sprintf("%q is %s", name, is), "choose another name"
	}
	return "", ""
}
