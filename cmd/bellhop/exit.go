package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/sql/migrate"
)

// failure is an error as a person reads it, and its exit code. Said nothing:
// the code is all there is to say.
type failure struct {
	code int
	what string // what could not be done
	why  string
	next string // what to type next; may be empty
	// cause is the error beneath, where one is of use to us; it is not printed.
	cause error
}

func (f *failure) Error() string {
	text := f.what + ": " + f.why
	if f.next != "" {
		text += "\n  " + f.next
	}
	return text
}

// usage is a command that cannot be meant as it was typed.
func usage(what, why, next string) error {
	return &failure{code: exitUsage, what: what, why: why, next: next}
}

func isFailure(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// silent ends the program with a code and without a word.
func silent(code int) error { return &failure{code: code} }

// report says what went wrong and gives the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	f := explainFailure(err)
	if f.what != "" {
		// There is nothing left to do about an error in here.
		_, _ = io.WriteString(a.stderr, "bellhop: "+redact(paragraph(f.Error()))+"\n")
	}
	return f.code
}

// explainFailure turns any error into one with an exit code.
func explainFailure(err error) *failure {
	var f *failure
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, migrate.ErrTooOld):
		return &failure{code: exitSchema, what: "schema", why: err.Error(), next: "bellhop migrate"}
	case errors.Is(err, migrate.ErrTooNew):
		return &failure{code: exitSchema, what: "schema", why: err.Error(), next: "bellhop version"}
	case errors.As(err, &refused):
		return explainRefusal(err, refused)
	case isLost(err):
		return &failure{code: exitNoDatabase, what: "the connection to the database was lost", why: flat(err.Error()), next: runAgain}
	case isCommandLine(err):
		return &failure{code: exitUsage, what: "command", why: err.Error(), next: "bellhop --help"}
	}
	return &failure{code: exitSystem, what: "error", why: err.Error()}
}

// isLost reports that a connection broke, so that it is worth opening another.
func isLost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) { // the server's last words before it closes
		return strings.HasPrefix(refused.Code, "57P") || strings.HasPrefix(refused.Code, "08")
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, context.DeadlineExceeded)
}

// isCommandLine reports an error of cobra's own that our checks did not catch:
// of the completion and help commands.
func isCommandLine(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command ") || strings.Contains(err.Error(), " arg(s), ")
}

var passwords = []*regexp.Regexp{
	regexp.MustCompile(`(://[^:@/\s]*:)\S*(@)`),
	regexp.MustCompile(`([?&]password=)[^&\s]*()`),
	regexp.MustCompile(`(\bpassword\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)()`),
}

// redact takes passwords out of a text that may hold a database's URL.
func redact(text string) string {
	for _, p := range passwords {
		text = p.ReplaceAllString(text, "${1}xxxxx${2}")
	}
	return text
}

// paragraph makes a text safe to print: one paragraph, whose further lines are
// indented, without control characters.
func paragraph(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	kept := lines[:0]
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if i > 0 {
			line = "  " + line
		}
		kept = append(kept, clean(line))
	}
	return strings.Join(kept, "\n")
}

// flat joins the lines of an error that has several.
func flat(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// failed is a short way to a failure with formatted reason.
func failed(code int, what, next, format string, args ...any) error {
	return &failure{code: code, what: what, why: fmt.Sprintf(format, args...), next: next}
}
