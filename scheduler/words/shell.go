package words

import (
	"fmt"
	"regexp"
	"strings"
)

// plainName is a name that needs no quotes anywhere.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// IsPlain reports whether a name needs no quotes, in a shell or in SQL.
func IsPlain(name string) bool { return plainName.MatchString(name) }

// Literal is a text as a statement takes it.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Identifier is a name as a statement takes it.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// ShellWord is a name as a shell takes it.
func ShellWord(name string) string {
	if IsPlain(name) {
		return name
	}
	return ShellQuoted(name)
}

// ShellLine is a command as a shell takes it.
func ShellLine(argv []string) string {
	quoted := make([]string, len(argv))
	for i, word := range argv {
		quoted[i] = word
		if !plainWord.MatchString(word) {
			quoted[i] = ShellQuoted(word)
		}
	}
	return strings.Join(quoted, " ")
}

// ShellQuoted is a text as a shell takes it, for people to paste. What a terminal would obey stands in it as octal
// digits, which bash, ksh and zsh read.
func ShellQuoted(text string) string {
	if Clean(text) == text {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, r := range text {
		switch c := string(r); {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + c)
		case Clean(c) == c:
			b.WriteString(c)
		default: // of what is not UTF-8 PostgreSQL has kept nothing
			for _, octet := range []byte(c) {
				fmt.Fprintf(&b, `\%03o`, octet)
			}
		}
	}
	return "$'" + b.String() + "'"
}
