package cli

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/client"
)

// refusal is what an error code of PostgreSQL means to the user of a command.
type refusal struct {
	state string // SQLSTATE: all five letters, or the first two or three
	what  string // empty: what was being done says it
	next  string // used where the database gives no hint
}

const runAgain = "run it again; the change may or may not have been made"

// refusals are our words for the SQLSTATEs that a command can meet; their exit
// codes are those of the client's classes. The longest that fits
// counts; what is not here is the database's own trouble.
var refusals = []refusal{
	{"08", "the connection to the database was lost", runAgain},
	{"57P", "the connection to the database was lost", runAgain},
	{"25006", "the database is read-only", "name the primary server, not a standby: --database-url"},
	{"25P", "the database ended an idle transaction", runAgain},
	{"28", "the database does not let this login in", "fix user or password: in the URL, PGPASSWORD or ~/.pgpass"},
	{"3D", "there is no such database", "createdb NAME; or name another: --database-url"},
	{"53300", "the database has no connection left", "run it again; max_connections is the limit"},
	{"42501", "not allowed", "ask for a role: grant bellhop_operator to …  (bellhop_reader to look, bellhop_submitter to submit)"},
	{"55", "", "bellhop ls   lists the jobs"},
	{"23505", "", "bellhop ls   lists the jobs"},
	{"42710", "", "bellhop ls   lists the jobs"},
	{"40", "", "run it again: another transaction was in the way"},
	{"P0", "", "a function or trigger of this database refuses it"},
	{"23503", "", "bellhop ls"},
	{"42704", "", "bellhop ls"},
	{"57014", "the database's time limit came first", "run it again; statement_timeout is the limit"},
	{
		"55P03",
		"a lock was not available in time",
		"run it again; bellhop doctor shows transactions that are open for long",
	},
	{"22", "", "a value is not valid"},
	{"23", "", "a value is not valid"},
	{"42", "", "a value is not valid"},
	{"54", "", "a value is too big"},
	{"3F000", "schema", "bellhop migrate"},
	{"42P01", "schema", "bellhop migrate"},
	{"42703", "schema", "bellhop migrate"},
	{"42883", "schema", "bellhop migrate"},
	{"53", "the database's machine ran out of something", "free disk or memory there, then run it again"},
	{"58", "the database's machine", "its log says more"},
	{"", "", ""},
}

// refusalOf is the longest entry that a SQLSTATE begins with.
func refusalOf(state string) refusal {
	best := refusals[len(refusals)-1] // every one begins with it
	for _, r := range refusals {
		if strings.HasPrefix(state, r.state) && len(r.state) > len(best.state) {
			best = r
		}
	}
	return best
}

// codes are the exit codes of the client's classes of errors, which say what a
// SQLSTATE means.
var codes = map[client.Class]int{
	client.ErrInvalid:     ExitUsage,
	client.ErrNotFound:    ExitNotFound,
	client.ErrRefused:     ExitState,
	client.ErrKeyTaken:    ExitState,
	client.ErrDenied:      ExitDenied,
	client.ErrTimeout:     ExitTimeout,
	client.ErrUnavailable: ExitNoDatabase,
	client.ErrSchema:      ExitSchema,
	client.ErrSystem:      ExitSystem,
}

func codeOf(state string) int { return codes[client.ClassOf(state)] }

// ExplainRefusal is for what the database said no to.
func ExplainRefusal(err error, e *pgconn.PgError) *Failure {
	r := refusalOf(e.Code)
	why := e.Message
	if e.Detail != "" {
		why += " (" + e.Detail + ")"
	}
	code := codes[client.ClassOfRule(e.Code, e.ConstraintName)]
	f := &Failure{Code: code, What: r.what, Why: why, Next: r.next, Cause: e}
	if f.What == "" {
		f.What = "the database refused"
		// The chain says what was being done: "list jobs: ERROR: …".
		if doing, _, ok := strings.Cut(err.Error(), ": "+e.Severity); ok {
			f.What = doing
		}
	}
	if e.Hint != "" && f.Code != ExitSchema {
		f.Next = e.Hint
	}
	if f.Next == "" {
		f.Next = "SQLSTATE " + e.Code
	}
	return f
}

// AttachRefused turns what bellhop.attach says no to into what a person reads.
func AttachRefused(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Hint == "" ||
		e.Code == "42501" && !strings.HasPrefix(e.Message, "permission denied: ") &&
			!strings.HasPrefix(e.Message, "row security") {
		return err
	}
	code := codeOf(e.Code)
	switch e.Code {
	case "42P01": // undefined_table: it is the one that was named
		code = ExitNotFound
	case "42703", "42883": // undefined_column, undefined_function: likewise
		code = ExitUsage
	}
	return Failed(code, "attach", e.Hint, "%s", e.Message)
}
