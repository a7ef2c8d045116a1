package cli

import (
	"os"
	"runtime/debug"
	"strings"
)

// What a release sets (-ldflags "-X …"), so that its packages and programs say the same.
var (
	release string // 1.2.3, of the tag
	commit  string
	date    string // of the commit, RFC 3339
	// ReleaseKey is the public key that signs releases, as minisign writes it; empty: none is known.
	ReleaseKey string
)

// nextRelease is what a build between releases leads to.
const nextRelease = "0.1.0"

// Build is what a build knows of itself; what it does not know is empty.
type Build struct{ Version, Commit, Date string }

// Built reads it: a release says it itself, another build knows its checkout.
func Built() Build {
	b := Build{release, commit, date}
	if info, ok := debug.ReadBuildInfo(); ok && b.Commit == "" {
		dirty := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				b.Commit = s.Value
			case s.Key == "vcs.time":
				b.Date = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = ".dirty"
			}
		}
		if b.Commit = b.Commit[:min(12, len(b.Commit))]; b.Commit != "" {
			b.Commit += dirty
		}
	}
	if b.Version == "" {
		b.Version = nextRelease + "-dev"
		if b.Commit != "" {
			b.Version += "+" + b.Commit
		}
	}
	return b
}

// Version is that of a release, or the next one's with the commit: 0.1.0-dev+0a1b2c3d4e5f.
func Version() string { return Built().Version }

// OwnProgram is the file that this process was started from; empty where that
// cannot be found out.
func OwnProgram() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}
