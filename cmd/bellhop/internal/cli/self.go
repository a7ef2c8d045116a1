package cli

import (
	"cmp"
	"os"
	"runtime/debug"
	"strings"
)

// Built is what the build knows of itself; the commit is empty where it does not.
func Built() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)", ""
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit != "" {
		commit += dirty
	}
	return cmp.Or(info.Main.Version, "(devel)"), commit
}

// Version is a released version, or the commit.
func Version() string {
	v, commit := Built()
	if v == "(devel)" && commit != "" {
		v += " " + commit
	}
	return v
}

// OwnProgram is the file that this process was started from; empty where that
// cannot be found out.
func OwnProgram() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}
