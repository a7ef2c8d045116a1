package agents

import (
	"fmt"
	"slices"
	"strings"

	"bellhop/scheduler"
)

// allowedVars returns the line's variables if the spec takes every one of
// them, and otherwise an error that names the first it does not.
func allowedVars(allowed []string, vars scheduler.Vars) (map[string]string, error) {
	return checkVars(allowed, vars.Map())
}

func checkVars(allowed []string, given map[string]string) (map[string]string, error) {
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(given[name], "\x00") {
			return nil, fmt.Errorf("vars_refused: var %q is not an environment variable: "+
				"its name is empty or holds =, or a zero byte is in it", name)
		}
		if !scheduler.TakesVar(allowed, name) {
			return nil, fmt.Errorf("vars_refused: var %q is not taken by this type; "+
				"name it under agents[].vars in bellhop.yaml, or submit without it", name)
		}
	}
	return given, nil
}
