//go:build !unix

package cli

import "io"

// TerminalWidth knows no terminals here: tables are printed plain and whole.
func TerminalWidth(io.Writer) (width int, ok bool) { return 0, false }
