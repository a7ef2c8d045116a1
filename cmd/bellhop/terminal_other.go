//go:build !unix

package main

import "io"

// terminalWidth knows no terminals here: tables are printed plain and whole.
func terminalWidth(io.Writer) (width int, ok bool) { return 0, false }
