package serve

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// forgetProgram drops what this process has mapped of its own program: code, and data that is only read. Most of
// that is used by the start alone, or not at all (the kernel maps 16 pages where one is read); what is used comes
// back from the page cache when it is, for half a microsecond a page.
func forgetProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // no /proc: it stays
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was only read
	for _, m := range programMaps(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.begin, m.end-m.begin, syscall.MADV_DONTNEED) // or it stays
	}
}

type span struct{ begin, end uintptr }

// programMaps are the parts of memory that are a file, unchanged from the disk: not writable, and without a page
// that differs from the file's (a debugger's breakpoints make such pages).
func programMaps(smaps io.Reader, program string) (list []span) {
	var at span
	var of bool
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		var begin, end uintptr
		var may string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %4s", &begin, &end, &may); n == 3 {
			at = span{begin, end}
			of = (may == "r--p" || may == "r-xp") && strings.HasSuffix(lines.Text(), " "+program)
			continue
		}
		if same := strings.Fields(lines.Text()); of && len(same) == 3 && same[0] == "Anonymous:" && same[1] == "0" {
			list = append(list, at)
		}
	}
	return list
}
