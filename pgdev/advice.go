//go:build unix

package pgdev

import (
	"fmt"
	"os"
	"strings"
)

// managers is how PostgreSQL's server is installed, by package manager. The
// second form of a line is for one certain version.
var managers = []struct{ program, system, line, version string }{
	{"apt-get", "Debian, Ubuntu", "apt-get install postgresql", "apt-get install postgresql-%d"},
	{"dnf", "Fedora, RHEL", "dnf install postgresql-server", "dnf install postgresql%d-server"},
	{"apk", "Alpine", "apk add postgresql", "apk add postgresql%d"},
	{"pacman", "Arch", "pacman -S postgresql", "pacman -S postgresql"},
	{"brew", "macOS", "brew install postgresql@17", "brew install postgresql@%d"},
}

// advice says what to type: the line for the package manager that is here, or
// all of them when none of them is.
func (p places) advice(major int) string {
	var here, all []string
	for _, m := range managers {
		line := m.line
		if major != 0 && strings.Contains(m.version, "%d") {
			line = fmt.Sprintf(m.version, major)
		}
		if m.program != "brew" && os.Geteuid() != 0 {
			line = "sudo " + line
		}
		all = append(all, fmt.Sprintf("  %-40s (%s)", line, m.system))
		if _, ok := p.lookPath(m.program); ok {
			here = append(here, "  "+line)
		}
	}
	if len(here) == 0 {
		here = all
	}
	return "install it; type:\n" + strings.Join(here, "\n") +
		"\nor name a server that runs: --database-url postgres://user@host/database" +
		"\nor the folder of its programs: BELLHOP_PG_BIN=/path/to/bin" +
		"\nor have it downloaded to --data-dir: --pg-download"
}
