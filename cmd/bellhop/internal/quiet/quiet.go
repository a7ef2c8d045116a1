// Package quiet keeps the terminal library of `bellhop top` from asking every terminal for its colours. It does so
// where it is linked in, before main: whatever the command is, escapes would come before its output, and it would
// wait 5 s for a terminal that does not answer. bellhop's colours are the same on light and dark.
//
// It works because packages are initialized in the order of their import paths once what they import is: this one
// imports nothing else, and comes before github.com/charmbracelet/bubbletea.
package quiet

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
