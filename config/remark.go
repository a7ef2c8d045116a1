package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Remarks names what is no mistake and still may surprise: one sentence each.
func (c Config) Remarks() (list []string) {
	for _, a := range c.Agents {
		if a.Mode == ModeExec && takesOptions(a.Command) {
			program := filepath.Base(a.Command[0])
			list = append(list, fmt.Sprintf("agents: type %s: args that begin with - are options of %s; "+
				"end its command with -- unless jobs are meant to give options", a.Type, program))
		}
	}
	return list
}

// shells read the word after -c as their program, and what follows as its arguments.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh"}

// takesOptions reports whether a submitter's args can be an option of a program of the system. A program in any other
// folder is the operator's own, and may not know --.
func takesOptions(command []string) bool {
	program, last := command[0], command[len(command)-1]
	dir := filepath.Dir(program)
	if strings.Contains(program, "/") && !slices.Contains([]string{"/bin", "/usr/bin", "/usr/local/bin"}, dir) {
		return false
	}
	if slices.Contains(shells, filepath.Base(program)) && strings.HasPrefix(last, "-") && strings.HasSuffix(last, "c") {
		return false // the args are the program's text
	}
	return !slices.Contains(command[1:], "--")
}
