package client

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Class is what an error means for the caller's next step. It is an error, for errors.Is.
type Class string

// The classes of errors.
const (
	// ErrInvalid: a value cannot be right; another try gives the same.
	ErrInvalid Class = "invalid"
	// ErrNotFound: there is no such job, table or attachment, or none that this
	// login may know of.
	ErrNotFound Class = "not found"
	// ErrRefused: it cannot be done as things are now: a job that runs is not retried.
	ErrRefused Class = "refused in this state"
	// ErrKeyTaken: another job, with other content, has the key. It is an ErrRefused too.
	ErrKeyTaken Class = "the key is taken"
	// ErrDenied: the login lacks a right.
	ErrDenied Class = "not allowed"
	// ErrTimeout: a limit of the database came first; another try may succeed.
	// The end of the caller's own context is context.DeadlineExceeded, as always.
	ErrTimeout Class = "timed out"
	// ErrUnavailable: no connection could be made or kept, or the database takes
	// no writes. What was asked for may or may not have been done.
	ErrUnavailable Class = "the database is not available"
	// ErrSchema: bellhop's schema is not there, or too old: bellhop migrate.
	ErrSchema Class = "bellhop's schema is not there, or too old"
	// ErrSystem: the database's machine ran out of something, or what no other
	// class is for.
	ErrSystem Class = "the database is in trouble"
)

func (c Class) Error() string { return string(c) }

// Error is why something was not done, where the database or the way to it is
// the reason, or a rule of the queue.
type Error struct {
	Class Class
	// Rule is the constraint that was broken, such as jobqueue_args_one_line;
	// empty where none was. The names are those of the table bellhop.jobqueue, and stay.
	Rule string
	// SQLState is PostgreSQL's code; empty where it did not say anything.
	SQLState string
	// Message, Detail and Hint are what PostgreSQL said; Detail and Hint may be empty.
	Message, Detail, Hint string

	err error
}

// Error says what was being done, and what was said about it.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap gives the error beneath, which may be one of pgx's.
func (e *Error) Unwrap() error { return e.err }

// Is makes errors.Is(err, client.ErrNotFound) and the like work.
func (e *Error) Is(target error) bool {
	class, is := target.(Class)
	return is && (class == e.Class || class == ErrRefused && e.Class == ErrKeyTaken)
}

// classes is every SQLSTATE that a caller can meet: all five letters, or the
// first few. The longest that fits counts; what is not here is the database's
// own trouble.
var classes = map[string]Class{
	"08":    ErrUnavailable, // the connection was lost
	"57P":   ErrUnavailable, // the server goes down, or comes up
	"25006": ErrUnavailable, // read-only
	"25P":   ErrUnavailable, // an idle transaction was ended
	"28":    ErrUnavailable, // no way in for this login
	"3D":    ErrUnavailable, // no such database
	"53300": ErrUnavailable, // too many connections
	"42501": ErrDenied,
	"55":    ErrRefused,
	"23505": ErrRefused,
	"42710": ErrRefused,
	"40":    ErrRefused, // another transaction was in the way
	"P0":    ErrRefused, // a function or trigger of the database's owner says no
	"25P02": ErrRefused, // a statement before it in the transaction failed
	"23503": ErrNotFound,
	"42704": ErrNotFound,
	"57014": ErrTimeout, // statement_timeout
	"55P03": ErrTimeout, // lock_timeout
	"22":    ErrInvalid,
	"23":    ErrInvalid,
	"42":    ErrInvalid,
	"54":    ErrInvalid, // too big
	"3F000": ErrSchema,
	"42P01": ErrSchema,
	"42703": ErrSchema,
	"42883": ErrSchema,
	"53":    ErrSystem,
	"58":    ErrSystem,
}

// filterRule is the constraint that a job breaks which a filter rejects: it may come in when the filter is gone.
const filterRule = "jobqueue_filter_rejected"

// ClassOfRule is what a SQLSTATE means where a constraint of this name is broken.
func ClassOfRule(sqlstate, rule string) Class {
	switch {
	case sqlstate == "23505" && rule == keyRule:
		return ErrKeyTaken
	case sqlstate == "23514" && rule == filterRule:
		return ErrRefused
	}
	return ClassOf(sqlstate)
}

// ClassOf is what a SQLSTATE means.
func ClassOf(sqlstate string) Class {
	for n := len(sqlstate); n > 0; n-- {
		if class, is := classes[sqlstate[:n]]; is {
			return class
		}
	}
	return ErrSystem
}

// keyRule is the index under which keys are unique.
const keyRule = "jobqueue_key"

// explained makes any error of the store's one of ours. The end of a context
// is left as it is.
func explained(ctx context.Context, err error) error {
	var ours *Error
	var said *pgconn.PgError
	switch {
	case err == nil || ctx.Err() != nil || errors.As(err, &ours):
		return err
	case errors.As(err, &said):
		e := &Error{
			Class:    ClassOfRule(said.Code, said.ConstraintName),
			Rule:     said.ConstraintName,
			SQLState: said.Code,
			Message:  said.Message,
			Detail:   said.Detail,
			Hint:     said.Hint,
			err:      err,
		}
		return e
	case isLost(err):
		return &Error{Class: ErrUnavailable, Message: lastOf(err), err: err}
	}
	return &Error{Class: ErrSystem, Message: lastOf(err), err: err}
}

// isLost reports that a connection broke, or could not be made.
func isLost(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, context.DeadlineExceeded)
}

// lastOf is the error without the words before it.
func lastOf(err error) string {
	text := err.Error()
	for e := err; e != nil; e = errors.Unwrap(e) {
		text = e.Error()
	}
	return strings.TrimSpace(text)
}

// missing is the error for a job that is not there.
func missing(err error) error {
	return &Error{Class: ErrNotFound, Message: err.Error(), err: err}
}
