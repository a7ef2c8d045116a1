package config

import (
	"path"
	"slices"
	"strings"
)

// A job's vars come from any role that may insert a row. Such a role must not set variables that decide which code
// runs, rather than what it works on.
var (
	neverVars = []string{
		"PATH", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "PROMPT_COMMAND", "BASH_ENV",
		"GCONV_PATH", "GLIBC_TUNABLES", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "PYTHONSTARTUP",
	}
	neverPrefixes = []string{"LD_", "DYLD_", "BASH_"}
)

// checkVar checks one of agents[].vars: a name, or a pattern as path.Match
// takes it. A wide pattern such as * is no problem, since what is dangerous is
// never taken by pattern; one that aims at it is.
func (r *reader) checkVar(n node, at, s string) bool {
	if _, err := path.Match(s, ""); err != nil {
		r.problem(n, "* ? and [a-z] may be used", "%s: %q is not a valid pattern", at, s)
		return false
	}
	fixed := s
	if i := strings.IndexAny(s, `*?[\`); i >= 0 {
		fixed = s[:i]
	}
	begins := func(prefix string) bool { return strings.HasPrefix(fixed, prefix) }
	switch {
	case strings.ContainsAny(s, "=\x00"):
		r.problem(n, "", "%s: %q is not a valid name of a variable: it holds =", at, s)
	case slices.Contains(neverVars, s), slices.ContainsFunc(neverPrefixes, begins):
		r.problem(n, "set it under env, where only this file can", "%s: %s would let a job choose what code runs", at, s)
	case s == "TRACEPARENT", begins("BELLHOP_"):
		r.problem(n, "leave it out", "%s: %s is set by bellhop itself", at, s)
	default:
		return true
	}
	return false
}
