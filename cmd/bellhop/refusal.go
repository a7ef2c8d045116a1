package main

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusal is what an error code of PostgreSQL means to who typed a command.
type refusal struct {
	state string // SQLSTATE: all five letters, or the first two or three
	code  int
	what  string // empty: what was being done says it
	next  string // used where the database gives no hint
}

const runAgain = "run it again; what was asked for may or may not have been done"

// refusals is every SQLSTATE that a command can meet. The longest that fits
// counts; what is not here is the database's own trouble.
var refusals = []refusal{
	{"08", exitNoDatabase, "the connection to the database was lost", runAgain},
	{"57P", exitNoDatabase, "the connection to the database was lost", runAgain},
	{"25006", exitNoDatabase, "the database is read-only", "name the primary server, not a standby: --database-url"},
	{"25P", exitNoDatabase, "the database ended an idle transaction", runAgain},
	{"28", exitNoDatabase, "the database does not let this login in", "mend user or password: in the URL, PGPASSWORD or ~/.pgpass"},
	{"3D", exitNoDatabase, "there is no such database", "createdb NAME; or name another: --database-url"},
	{"53300", exitNoDatabase, "the database has no connection left", "run it again; max_connections is the limit"},
	{"42501", exitDenied, "not allowed", "ask for a role: grant bellhop_operator to …  (bellhop_reader to look, bellhop_submitter to submit)"},
	{"55", exitState, "", "bellhop ls   shows how things are"},
	{"23505", exitState, "", "bellhop ls   shows how things are"},
	{"42710", exitState, "", "bellhop ls   shows how things are"},
	{"40", exitState, "", "run it again: another transaction was in the way"},
	{"P0", exitState, "", "a function or trigger of this database refuses it"},
	{"23503", exitNotFound, "", "bellhop ls"},
	{"42704", exitNotFound, "", "bellhop ls"},
	{"57014", exitTimeout, "the database's time limit came first", "run it again; statement_timeout is the limit"},
	{"55P03", exitTimeout, "a lock was not to be had in time", "run it again; bellhop doctor shows transactions that are open for long"},
	{"22", exitUsage, "", "a value is not as it must be"},
	{"23", exitUsage, "", "a value is not as it must be"},
	{"42", exitUsage, "", "a value is not as it must be"},
	{"54", exitUsage, "", "a value is too big"},
	{"3F000", exitSchema, "schema", "bellhop migrate"},
	{"42P01", exitSchema, "schema", "bellhop migrate"},
	{"42703", exitSchema, "schema", "bellhop migrate"},
	{"42883", exitSchema, "schema", "bellhop migrate"},
	{"53", exitSystem, "the database's machine ran out of something", "free disk or memory there, then run it again"},
	{"58", exitSystem, "the database's machine", "its log says more"},
	{"", exitSystem, "", ""},
}

// refusalOf is the longest entry that a SQLSTATE begins with.
func refusalOf(state string) refusal {
	var best refusal
	for _, r := range refusals {
		if strings.HasPrefix(state, r.state) && (best.code == 0 || len(r.state) > len(best.state)) {
			best = r
		}
	}
	return best
}

// explainRefusal is for what the database said no to.
func explainRefusal(err error, e *pgconn.PgError) *failure {
	r := refusalOf(e.Code)
	why := e.Message
	if e.Detail != "" {
		why += " (" + e.Detail + ")"
	}
	f := &failure{code: r.code, what: r.what, why: why, next: r.next, cause: e}
	if f.what == "" {
		f.what = "the database refused"
		// The chain says what was being done: "list jobs: ERROR: …".
		if doing, _, ok := strings.Cut(err.Error(), ": "+e.Severity); ok {
			f.what = doing
		}
	}
	if e.Hint != "" && f.code != exitSchema {
		f.next = e.Hint
	}
	if f.next == "" {
		f.next = "SQLSTATE " + e.Code
	}
	return f
}
