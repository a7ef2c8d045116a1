package cli

import (
	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/words"
)

func Quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// What is pasted into a shell or a statement, as pages and the API show it too.
var (
	Literal     = words.Literal
	ShellWord   = words.ShellWord
	ShellQuoted = words.ShellQuoted
)
