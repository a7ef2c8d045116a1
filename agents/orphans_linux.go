package agents

import (
	"os"
	"strconv"
	"strings"
)

// holdsPipe looks at 0, 1 and 2 only: a process that the scheduler is forking
// just now has copies of our own ends under higher numbers.
func holdsPipe(pid int, pipes map[uint64]bool) bool {
	for fd := range 3 {
		link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(fd))
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(link, "pipe:[")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if err != nil {
			continue
		}
		if pipes[n] {
			return true
		}
	}
	return false
}
