package scheduler

import (
	"path"
	"slices"
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

// TakesVar reports whether a type that takes these names and path.Match patterns takes a var.
func TakesVar(allowed []string, name string) bool {
	if slices.Contains(allowed, name) {
		return true
	}
	return !matchesName(neverByPattern, name) && matchesName(allowed, name)
}

func matchesName(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}
