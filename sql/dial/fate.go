package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Fate is what an error means for the session in which it came, and for its callers.
type Fate string

const (
	// Here: the session is well, and the statement may succeed when it is tried again in it.
	Here Fate = "retry here"
	// Over: this session will not serve again. It is closed, and another one made.
	Over Fate = "session over"
	// Away: no session can be had just now. That is waited out, and told.
	Away Fate = "wait and tell"
	// Shut: the server does not let this login in. Passwords are changed in two places, one after the other: an
	// instance that runs waits it out; what is just starting ends with it.
	Shut Fate = "login refused"
	// Fault: the statement's own; tried again it gives the same.
	Fault Fate = "fault"
)

// fates are those of SQLSTATEs: the longest beginning that fits counts.
var fates = map[string]Fate{
	"":      Fault,
	"08":    Over,
	"0A000": Fault, // but see Judge
	"25006": Over,  // read_only_sql_transaction: a standby, or a database that was told to take no writes
	"25P03": Over,  // idle_in_transaction_session_timeout, and 25P04 transaction_timeout: the server has hung up
	"25P04": Over,
	"26000": Over, // a prepared statement is gone: behind a pooler the server is another one
	"42P05": Over, // or there already, for the same reason
	"28":    Shut,
	"3D000": Shut,
	"40":    Here, // another transaction was in the way
	"53":    Here, // memory, disk
	"53300": Away, // too_many_connections
	"55":    Here, // a lock was not to be had
	"57":    Here, // a statement was cancelled
	"57P01": Over, // an administrator, a crash, a dropped database, idle_session_timeout
	"57P02": Over,
	"57P03": Away, // starting, or shutting down
	"57P04": Over,
	"57P05": Over,
	"58":    Here,
}

// Judge classes an error of the database, or of the way there. What is no error of a server (a line that breaks, a
// limit of time) is the session's end.
func Judge(err error) Fate {
	var readOnly *ReadOnly
	var refused *Refused
	var connecting *pgconn.ConnectError
	var said *pgconn.PgError
	var unfit *Unfit
	switch {
	case errors.As(err, &unfit):
		return Fault
	case errors.As(err, &readOnly):
		return Away
	case errors.As(err, &refused):
		return Shut
	case errors.As(err, &connecting):
		if errors.As(err, &said) && (judge(said) == Shut || said.Code == "42501") { // 42501: no right to connect
			return Shut
		}
		return Away
	case errors.As(err, &said):
		return judge(said)
	}
	var parsing *pgconn.ParseConfigError
	if errors.As(err, &parsing) { // a certificate that is just being written, say
		return Away
	}
	return Over
}

// OverIn reports whether a server has said that this session is over. Of an error that is not a server's the session
// itself shows what it means.
func OverIn(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && Judge(e) == Over
}

func judge(said *pgconn.PgError) Fate {
	switch {
	case said.Code == "0A000" && said.Routine == "RevalidateCachedQuery":
		return Over // "cached plan must not change result type": a migration has changed what it read
	case strings.HasPrefix(said.Code, "08") && said.SeverityUnlocalized == "ERROR":
		return Fault // PostgreSQL says so, as a mere ERROR, to a query with parameters
	}
	for n := len(said.Code); n > 0; n-- {
		if fate, known := fates[said.Code[:n]]; known {
			return fate
		}
	}
	return fates[""]
}

// ReadOnly is a server that takes no writes.
type ReadOnly struct {
	Server  string // host:port
	Standby bool   // else default_transaction_read_only is on
}

func (r *ReadOnly) Error() string {
	why := "default_transaction_read_only is on"
	if r.Standby {
		why = "a standby"
	}
	return fmt.Sprintf("the server at %s is read only (%s)", r.Server, why)
}

// Mend says what becomes of it, and what to type.
func (r *ReadOnly) Mend() string {
	if r.Standby {
		return "work goes on when it is promoted, or when the URL leads to a primary"
	}
	return "work goes on when the setting is off: alter database … reset default_transaction_read_only"
}

// writable asks a session that was just made. PostgreSQL 14 and newer say with the welcome, so that it costs nothing.
func writable(at string, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("in_hot_standby") == "on" {
		return &ReadOnly{at, true}
	}
	if conn.ParameterStatus("default_transaction_read_only") == "on" {
		return &ReadOnly{at, false}
	}
	return nil
}

// Refused is a server that does not let a login in.
type Refused struct {
	Server, User string
	Err          error
	said         *pgconn.PgError
}

func (r *Refused) Error() string {
	return fmt.Sprintf("the server at %s does not let %s in: %s (SQLSTATE %s)", r.Server, r.User, r.said.Message,
		r.said.Code)
}
func (r *Refused) Unwrap() error { return r.Err }

// Mend says what becomes of it.
func (r *Refused) Mend() string {
	return "password files, service files and certificates are read again with each try; a password in a URL is not"
}

// refusedBy puts what a server says to a login into words.
func refusedBy(at, user string, err error) error {
	var said *pgconn.PgError
	var readOnly *ReadOnly
	switch {
	case err == nil:
		return nil
	case errors.As(err, &readOnly): // without pgx's words around it
		return readOnly
	case errors.As(err, &said) && Judge(err) == Shut:
		return &Refused{Server: at, User: user, Err: err, said: said}
	}
	return err
}

// several is the errors of several servers.
func several(list []error) error {
	if len(list) == 1 {
		return list[0]
	}
	return &each{list}
}

type each struct{ list []error }

func (e *each) Error() string {
	var words []string
	for _, err := range e.list {
		words = append(words, strings.Join(strings.Fields(err.Error()), " "))
	}
	return strings.Join(words, "; ")
}
func (e *each) Unwrap() []error { return e.list }

// Lost reports whether an error says that the way to the database is cut, or barred, and nothing of a statement. A
// limit of time that the caller set, and an error of something else, is not such a one.
func Lost(err error) bool {
	var said *pgconn.PgError
	var connecting *pgconn.ConnectError
	var network net.Error
	switch {
	case err == nil:
		return false
	case errors.As(err, &said), errors.As(err, &connecting), errors.As(err, new(*ReadOnly)),
		errors.As(err, new(*Refused)):
		fate := Judge(err)
		return fate == Over || fate == Away || fate == Shut
	}
	broken := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
	return broken && !errors.Is(err, context.DeadlineExceeded)
}
