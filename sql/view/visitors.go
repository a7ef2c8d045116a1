package view

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/scheduler"
	"bellhop/sql"
	"bellhop/sql/dial"
)

// visitorsMost is how many connections callers from outside share. More callers wait for one another, and the
// scheduler does not wait for them.
const visitorsMost = 4

// visitorsStay is how long a connection of theirs outlives its last use: a reader of pages or a follower goes on
// within it, and an instance without viewers has none.
const visitorsStay = 2 * time.Second

// Statements of callers from outside end after these times.
const (
	readPatience   = 5 * time.Second
	changePatience = 20 * time.Second
)

// Visitors answers callers from outside, each under a role of its own. It connects at the first use, and closes
// unused connections.
type Visitors struct {
	pool *pgxpool.Pool
	// Actor names the caller, as changes keep it, and how it was identified; nil: it is the login.
	Actor func(context.Context) (name, via string)
}

// byIndexAlone keeps what is asked from outside off the whole queue, whatever
// the statistics say, and on one processor.
var byIndexAlone = map[string]string{"enable_seqscan": "off", "max_parallel_workers_per_gather": "0"}

// NewVisitors returns a pool that has no connection yet.
func NewVisitors(url string) (*Visitors, error) {
	// A server that takes no writes can still be looked at.
	way := dial.Way{URL: url, Name: "bellhop web", Settings: dial.With(byIndexAlone), Tune: dial.KeepStatements}
	config, err := way.Pool()
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = visitorsMost, 0
	config.MaxConnIdleTime, config.HealthCheckPeriod = visitorsStay, visitorsStay/2
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return &Visitors{pool: pool}, err
}

// Close ends the connections.
func (v *Visitors) Close() { v.pool.Close() }

// NotMember is a role under which this login may not answer.
type NotMember struct {
	Role string
	err  error
}

func (n *NotMember) Error() string {
	return fmt.Sprintf("this instance's login may not answer for the role %s: %v", n.Role, n.err)
}
func (n *NotMember) Unwrap() error { return n.err }

// As runs fn in one transaction under a role, which a statement of it may not
// outlast by far. The transaction commits when fn gives no error.
func (v *Visitors) As(ctx context.Context, role string, fn func(Look) error) error {
	return v.as(ctx, role, "begin", changePatience, fn)
}

// ReadAs is As for read-only callers: PostgreSQL refuses every change.
func (v *Visitors) ReadAs(ctx context.Context, role string, fn func(Look) error) error {
	return v.as(ctx, role, readOnlyBegin, readPatience, fn)
}

const readOnlyBegin = "begin read only"

// AsOfNow is As for a change of what was read: where another transaction has changed it
// meanwhile, the change fails with the SQLSTATE 40001.
func (v *Visitors) AsOfNow(ctx context.Context, role string, fn func(Look) error) error {
	return v.as(ctx, role, "begin isolation level repeatable read", changePatience, fn)
}

// Pool is for package client, which listens over a connection of its own. What is done
// over it is done with the scheduler's rights.
func (v *Visitors) Pool() *pgxpool.Pool { return v.pool }

func (v *Visitors) as(ctx context.Context, role, begin string, patience time.Duration, fn func(Look) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience+readPatience)
	defer cancel()
	conn, err := v.pool.Acquire(ctx)
	if err != nil {
		return &scheduler.Unreachable{Err: err}
	}
	defer conn.Release()
	// One round trip. The role goes with the transaction, whatever becomes of that.
	enter := fmt.Sprintf("%s; set local role %s; set local statement_timeout = %d; set local lock_timeout = '2s'",
		begin, pgx.Identifier{role}.Sanitize(), patience.Milliseconds())
	if v.Actor != nil {
		name, via := v.Actor(ctx)
		enter += "; set local bellhop.actor = " + literal(name) + "; set local bellhop.via = " + literal(via)
	}
	_, err = conn.Exec(ctx, enter)
	end := func(what string) error {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), readPatience)
		defer cancel()
		_, err := conn.Exec(bye, what)
		return err
	}
	if err != nil {
		_ = end("rollback") // a connection that broke is closed by the pool
		return roleRefused(role, err)
	}
	if err := fn(NewLook(conn)); err != nil {
		_ = end("rollback")
		if dial.OverIn(err) && begin != readOnlyBegin { // the next one may find a server that takes writes
			_ = conn.Conn().Close(ctx)
		}
		return err
	}
	if conn.Conn().PgConn().TxStatus() == 'E' { // an error that fn has swallowed
		return end("rollback")
	}
	return end("commit")
}

// literal is a text as SQL takes it, whatever standard_conforming_strings says.
func literal(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	return " E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}

func roleRefused(role string, err error) error {
	var said *pgconn.PgError
	if errors.As(err, &said) && (said.Code == "42501" || said.Code == "22023") {
		return &NotMember{role, err}
	}
	if errors.As(err, &said) {
		return err
	}
	return &scheduler.Unreachable{Err: err}
}

var (
	webEnterSQL   = sql.Query("web_enter")
	webSessionSQL = sql.Query("web_session")
	webAdmitSQL   = sql.Query("web_admit")
	webLeaveSQL   = sql.Query("web_leave")
	webRolesSQL   = sql.Query("web_roles")
	lookSignInSQL = sql.Query("look_sign_in")
)

// Session gives the login of a session, by its digest, or the person that the provider has identified, and the role of
// its requests (empty: none that there is).
func (v *Visitors) Session(
	ctx context.Context, session [sha256.Size]byte,
) (name, role string, person, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	type row struct {
		Name, Role string
		Person     bool
	}
	of, ok, err := first(collect[row](ctx, v.pool, "look for the session", webSessionSQL, session[:]))
	return of.Name, of.Role, of.Person, ok, err
}

// Admit makes a session for a person; ok false: this attempt, by its digest, has made one before.
func (v *Visitors) Admit(
	ctx context.Context, session, attempt [sha256.Size]byte, name, role string, lasts time.Duration,
) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	return value[bool](ctx, v.pool, "make a session", webAdmitSQL, session[:], attempt[:], name, role,
		int(lasts.Seconds()))
}

// Enter makes a session of a one-time link, both by their digests, and tells
// whose it is and under which role it is answered (empty: none that there is).
func (v *Visitors) Enter(
	ctx context.Context, link, session [sha256.Size]byte,
) (login, role string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	type row struct {
		Login string
		Role  *string
	}
	rows, err := collect[row](ctx, v.pool, "look for the session", webEnterSQL, link[:], session[:])
	if err != nil || len(rows) == 0 {
		return "", "", false, err
	}
	if rows[0].Role != nil {
		role = *rows[0].Role
	}
	return rows[0].Login, role, true, nil
}

// Leave ends a session.
func (v *Visitors) Leave(ctx context.Context, session [sha256.Size]byte) error {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	_, err := v.pool.Exec(ctx, webLeaveSQL, session[:])
	return err
}

// Rights tells what a role may do, before a request of it is looked at.
func (v *Visitors) Rights(ctx context.Context, role string) (submits, operates bool, err error) {
	err = v.ReadAs(ctx, role, func(l Look) error {
		may, err := l.May(ctx)
		submits, operates = may.Submits, may.Operates
		return err
	})
	return submits, operates, err
}

// SignIn asks for a link that opens the pages once, with this login's rights.
func (l Look) SignIn(ctx context.Context, secret string) error {
	digest := sha256.Sum256([]byte(secret))
	rows, err := l.db.Query(ctx, lookSignInSQL, digest[:])
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// RoleRow is a role that this login may not take, or that there is not.
type RoleRow struct {
	Role   string
	Exists bool
}

// NotMine gives those of some roles under which this login may not answer.
func (l Look) NotMine(ctx context.Context, roles []string) ([]RoleRow, error) {
	return collect[RoleRow](ctx, l.db, "look at roles", webRolesSQL, roles)
}

// NotMine is Look's, without a caller's role.
func (v *Visitors) NotMine(ctx context.Context, roles []string) ([]RoleRow, error) {
	return NewLook(v.pool).NotMine(ctx, roles)
}
