package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Asks reports whether the user can be asked: input and output are a terminal.
func (a *App) Asks() bool {
	f, isFile := a.Stdin.(*os.File)
	if !isFile {
		return false
	}
	_, in := TerminalWidth(f)
	_, out := TerminalWidth(a.Stdout)
	return in && out
}

// Confirmed asks a question, and reports whether the answer was yes.
func (a *App) Confirmed(question string) bool {
	if _, err := fmt.Fprintf(a.Stderr, "%s [y/N] ", question); err != nil {
		return false
	}
	line, err := bufio.NewReader(a.Stdin).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
}
