package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/client"
	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/sql/view"
	"bellhop/verb"
	"bellhop/web"
)

// answer is what a class of errors is over HTTP.
type answer struct {
	status int
	code   string
	next   string // where the database gives no hint
}

var answers = map[client.Class]answer{
	client.ErrInvalid:  {http.StatusUnprocessableEntity, "invalid", ""},
	client.ErrNotFound: {http.StatusNotFound, "not_found", "bellhop ls"},
	client.ErrRefused:  {http.StatusConflict, "refused", "bellhop ls   lists the jobs"},
	client.ErrKeyTaken: {http.StatusConflict, "key_taken", "submit with another key"},
	client.ErrDenied: {
		http.StatusForbidden,
		"not_allowed",
		"send the token of a role with the right: tokens: in bellhop.yaml",
	},
	client.ErrTimeout: {
		http.StatusServiceUnavailable,
		"timed_out",
		"ask for less, or again; bellhop doctor shows the cause",
	},
	client.ErrUnavailable: {http.StatusServiceUnavailable, "no_database", "ask again; bellhop doctor"},
	client.ErrSchema:      {http.StatusServiceUnavailable, "schema", "bellhop migrate"},
	client.ErrSystem:      {http.StatusServiceUnavailable, "database", "bellhop doctor"},
}

// problem turns any error into what is answered.
func (a *API) problem(ctx context.Context, err error) error {
	var ours *web.Problem
	var said *pgconn.PgError
	var outside *view.NotMember
	var gone *scheduler.Unreachable
	var missing *verb.Missing
	var wrong *verb.Unfit
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &missing):
		return refused(http.StatusNotFound, "not_found", missing.Next, "%s", missing.Error())
	case errors.As(err, &wrong):
		return unfit(wrong.Error())
	case errors.As(err, &outside):
		return refused(
			http.StatusServiceUnavailable,
			"no_role",
			"grant "+outside.Role+" to the scheduler's login: bellhop doctor",
			"%s",
			outside.Error(),
		)
	case errors.As(err, &said) && !errors.As(err, &gone): // a server that refuses all connections also says so in words
		return ofDatabase(said)
	case errors.As(err, &gone),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled),
		pgconn.Timeout(err):
		return refused(
			http.StatusServiceUnavailable,
			"no_database",
			answers[client.ErrUnavailable].next,
			"the database did not answer in time",
		)
	}
	if a.Log != nil {
		a.Log.WarnContext(ctx, "a request failed", "error", err)
	}
	return refused(
		http.StatusInternalServerError,
		"internal",
		"the log of the instance says more",
		"this should not happen",
	)
}

func ofDatabase(said *pgconn.PgError) *web.Problem {
	as := answers[client.ClassOfRule(said.Code, said.ConstraintName)]
	// The queue's own functions say more than the rule: which lock, and at which letter. The server names the routine
	// that found the error, whatever the language of its messages.
	if demand, ok := grammar.Broken(said.ConstraintName, grammar.REST); ok && said.Routine == "ExecConstraints" {
		return refused(as.status, as.code, cmp.Or(said.Hint, as.next), "%s", demand)
	}
	detail := said.Message
	if said.Detail != "" {
		detail += " (" + said.Detail + ")"
	}
	return refused(as.status, as.code, cmp.Or(said.Hint, as.next), "%s", detail)
}

// refused is a problem of ours.
func refused(status int, code, next, format string, args ...any) *web.Problem {
	return &web.Problem{
		Title:  http.StatusText(status),
		Status: status,
		Code:   code,
		Next:   next,
		Detail: fmt.Sprintf(format, args...),
	}
}

func notFound(what string) *web.Problem {
	return refused(http.StatusNotFound, "not_found", "bellhop ls", "there is no %s", what)
}

// invalid is what huma says of a request that does not keep to openapi.json.
func invalid(status int, message string, errs ...error) huma.StatusError {
	var parts []string
	for _, err := range errs {
		var one *huma.ErrorDetail
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return refused(
				http.StatusRequestEntityTooLarge,
				"too_large",
				"send less at once: POST "+Prefix+"/jobs/batch takes 64 MiB",
				"the body is longer than %d bytes",
				long.Limit,
			)
		}
		switch {
		case err == nil:
		case errors.As(err, &one):
			parts = append(parts, strings.TrimPrefix(one.Location+": ", ": ")+one.Message)
		default:
			parts = append(parts, err.Error())
		}
	}
	if len(parts) > 0 {
		message = strings.Join(parts, "; ")
	}
	code := "invalid"
	if status == http.StatusRequestEntityTooLarge {
		code = "too_large"
	}
	return refused(status, code, "curl "+Prefix+"/openapi.json   describes valid requests", "%s", message)
}
