package cli

import (
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

func Quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// plainName is a database's name that needs no quotes anywhere.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// ShellWord is a name as a shell takes it.
func ShellWord(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return ShellQuoted(name)
}

func ShellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
