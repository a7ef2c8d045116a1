package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
	"bellhop/sql/dial"
)

// turnSQL is one turn; its function's name is put in.
var turnSQL = sql.Query("turn")

// AttachRole is the login for turns at attached tables that the migrations make.
const AttachRole = "bellhop_attach"

// turns is the session in which users' tables are touched: foreign code runs there, so its login may do nothing
// else. It is that of database.attach_url; without one, AttachRole without a password, which a server may let in,
// or not. If it does not, it is the login of the scheduler: bellhop.turn_open then lets in only code of roles that
// can do all that anyway.
type turns struct {
	given *connection // database.attach_url
	apart *connection // AttachRole
	own   *connection // the scheduler's
	mu    sync.Mutex
	tried time.Time // when AttachRole was refused
}

// tryAgain is how long after the login was refused it is tried again: it may
// have been let in meanwhile.
const tryAgain = time.Minute

// turnSettings make a session the same whatever the server, the database and
// the login say; code of others that has run as this login may have altered that.
var turnSettings = map[string]string{
	"search_path": "pg_catalog, pg_temp", "local_preload_libraries": "", "statement_timeout": "10s",
	"default_transaction_isolation": "read committed", "default_transaction_read_only": "off",
	"TimeZone": "UTC", "DateStyle": "ISO, MDY", "IntervalStyle": "postgres", "bytea_output": "hex", "extra_float_digits": "1",
}

// newTurns: url is that of attach_url where given is true, else the scheduler's.
func newTurns(url string, given bool) (*turns, error) {
	conn, err := newConnection(url, "attacher", turnSettings)
	if err != nil {
		return nil, err
	}
	stranger(conn, "")
	if given {
		return &turns{given: conn}, nil
	}
	apart, err := newConnection(url, "attacher", turnSettings)
	if err != nil {
		return nil, err
	}
	stranger(apart, AttachRole)
	return &turns{apart: apart, own: conn}, nil
}

// stranger readies a connection for code of others: nothing is kept of what it says,
// nor of what was prepared, which it may throw away.
// user: another login than that of the URL, without a password.
func stranger(conn *connection, user string) {
	conn.way.Tune = func(config *pgx.ConnConfig) {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
		config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
		config.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
		if user != "" {
			config.User, config.Password = user, ""
		}
	}
}

func (t *turns) close() {
	for _, conn := range []*connection{t.given, t.apart, t.own} {
		if conn != nil {
			conn.close()
		}
	}
}

// trouble is why an attachment does not run.
type trouble struct {
	why   string
	login bool // the fault is that of this instance's login
}

func (t *trouble) Error() string { return t.why }

// took is what a turn at one attachment came to, in rows.
type took struct {
	taken, ended int
	aside        int // could not be marked, or their outcome not be written
	ahead        int // wait for a place of the pool
}

// take takes a turn at one attachment. An error is a *trouble, or tells nothing
// about the user's table.
func (t *turns) take(ctx context.Context, x attachment) (r took, err error) {
	f := func(ctx context.Context, conn *pgx.Conn) error {
		text := strings.Replace(turnSQL, "turn_of(", pgx.Identifier{x.Turn}.Sanitize()+"(", 1)
		err := conn.QueryRow(ctx, text, x.ID).Scan(&r.taken, &r.ended, &r.aside, &r.ahead)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // there was nothing to do, and no code of others has run
		}
		if conn.IsClosed() { // code of others can do that too, and is to hold up no other table
			return &trouble{why: clip("the session of its turn was lost: " + err.Error())}
		}
		// Settings, temporary tables, prepared statements, cursors, locks, listeners, roles: what others left behind.
		if _, clean := conn.Exec(ctx, "discard all"); clean != nil {
			_ = conn.Close(ctx)
			if err == nil {
				return nil // the turn is committed
			}
		}
		if dial.OverIn(err) {
			hangUp(conn)
		}
		return turnRefusal(err)
	}
	if t.given != nil {
		err = t.given.use(ctx, f)
		if why := refusedLogin(err); why != "" {
			err = &trouble{why: "the login of database.attach_url is refused: " + why + " (bellhop doctor)", login: true}
		}
		return r, err
	}
	t.mu.Lock()
	refused := time.Since(t.tried) < tryAgain
	t.mu.Unlock()
	if !refused {
		err = t.apart.use(ctx, f)
		if refusedLogin(err) == "" {
			return r, err
		}
		t.mu.Lock()
		t.tried = time.Now()
		t.mu.Unlock()
	}
	err = t.own.use(ctx, f)
	return r, err
}

// refusedLogin gives the words of a server that does not let a login in.
func refusedLogin(err error) string {
	var away *scheduler.Unreachable
	var e *pgconn.PgError
	if !errors.As(err, &away) || !errors.As(err, &e) {
		return ""
	}
	if strings.HasPrefix(e.Code, "28") || e.Code == "42501" || e.Code == "08P01" {
		return e.Message
	}
	return ""
}

// maxWords is how much is kept of what a user's table says.
const maxWords = 1000

// turnRefusal turns what a turn ended with into a trouble, where it is one.
func turnRefusal(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	if e.Code != statementTimeout && e.Code != readOnly && transient(err) {
		return nil // the table is being altered, or the server is going down: the next turn sees
	}
	why := e.Message
	if e.Code == otherLogin {
		why = fmt.Sprintf("%s (set database.attach_url; bellhop install roles --logins, then bellhop doctor)", e.Message)
	} else if e.Hint != "" {
		why += " (" + e.Hint + ")"
	}
	return &trouble{why: clip(why), login: e.Code == otherLogin}
}

func clip(words string) string {
	return strings.ToValidUTF8(words[:min(len(words), maxWords)], "")
}

const (
	// statementTimeout is what a turn ends with that takes too long: a table
	// without an index on what waits, or a trigger of the user's.
	statementTimeout = "57014"
	// readOnly is what a turn ends with where a trigger of the user's, or the server, takes no writes.
	readOnly = "25006"
	// otherLogin is what bellhop.turn_open says to a login that is worth something.
	otherLogin = "BH002"
)
