//go:build unix

package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// TerminalWidth gives the width of the terminal that w writes to, in
// characters; ok is false when it is none.
func TerminalWidth(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
