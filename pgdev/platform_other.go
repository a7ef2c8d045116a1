//go:build unix && !linux

package pgdev

import (
	"os"
	"strconv"
	"strings"
)

// serves says whether pid is a live process of a PostgreSQL server whose data folder is data. A pid alone says
// nothing: after a crash it may be reused. We start every server with its data folder as the argument of -D.
func serves(pid int, data string) bool {
	out, err := output("/bin/ps", "-o", "stat=,command=", "-p", strconv.Itoa(pid))
	if err != nil {
		return false
	}
	out = strings.TrimSpace(out)
	return !strings.HasPrefix(out, "Z") && strings.Contains(out, "postgres -D "+data+" ")
}

// strays lists the processes that a crash left behind; here a server's
// processes are left to see for themselves that their postmaster is gone.
func strays(home) []int { return nil }

func isStray(int, home) bool { return false }

// pidSpace names the space in which process ids mean something: there is one.
func pidSpace() string { return "" }

// dropSharedMemory leaves the segment to the next start.
func dropSharedMemory(int, int) {}

// memoryFolder is a place in memory for a test's cluster: none that is there
// without being made.
func memoryFolder() string { return "" }

func ownProgram() (string, error) { return os.Executable() }
