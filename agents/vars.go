package agents

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"bellhop/scheduler"
)

// neverByPattern are variables that change what a program is, rather than what
// it works on. A type that wants one has to name it in full: "*" is not consent.
var neverByPattern = []string{
	"LD_*", "DYLD_*", "PATH", "HOME", "IFS", "ENV", "BASH_*", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "PROMPT_COMMAND",
	"PYTHON*", "PERL*", "RUBY*", "GEM_*", "NODE_*", "NPM_*", "LUA_*", "PHP*", "TCL*", "JAVA_*", "_JAVA_*", "JDK_*", "CLASSPATH",
	"DOTNET_*", "GODEBUG", "GIT_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "MALLOC_*", "HOSTALIASES",
	"LOCALDOMAIN", "RES_OPTIONS", "OPENSSL_*", "SSL_*", "SSLKEYLOGFILE", "SHELL", "EDITOR", "VISUAL", "PAGER", "TMPDIR",
	"BELLHOP_*", "TRACEPARENT",
}

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
			return nil, fmt.Errorf("vars_refused: var %q is no environment variable: "+
				"its name is empty or holds =, or a zero byte is in it", name)
		}
		if !takesVar(allowed, name) {
			return nil, fmt.Errorf("vars_refused: var %q is not taken by this type; "+
				"name it under agents[].vars in bellhop.yaml, or submit without it", name)
		}
	}
	return given, nil
}

func takesVar(allowed []string, name string) bool {
	if slices.Contains(allowed, name) {
		return true
	}
	return !matchesAny(neverByPattern, name) && matchesAny(allowed, name)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}
