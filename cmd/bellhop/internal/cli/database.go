package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"bellhop/config"
	"bellhop/observability"
	"bellhop/pgdev"
	"bellhop/sql"
	"bellhop/sql/dial"
	"bellhop/sql/migrate"
	"bellhop/sql/view"
	"bellhop/triggers"
)

// Database is a database and how we came to it.
type Database struct {
	URL  string // empty: what the PG* variables say
	From string // in words
	// Embedded: a server that this program started; it brings the schema up by itself.
	Embedded bool
	// Context is the name of the context that it was taken from; empty: none.
	Context string
	// Protected: that context asks before a change.
	Protected bool
}

// FindDatabase looks where the database of a command is named, in the order that the help text tells.
func (a *App) FindDatabase() (Database, error) { return a.findDatabase(a.usedContext) }

// ServedDatabase is the same for a command that serves a database: a context that a person has chosen for other
// commands does not decide where jobs run.
func (a *App) ServedDatabase() (Database, error) {
	return a.findDatabase(func() (Database, bool, error) { return Database{}, false, nil })
}

func (a *App) findDatabase(used func() (Database, bool, error)) (Database, error) {
	if a.ConfigPath != "" { // a file that is named has to be there, also where the database is named elsewhere
		if _, err := a.ConfigFile(); err != nil {
			return Database{}, err
		}
	}
	if where, named, err := a.namedContext(); err != nil || named {
		return where, err
	}
	if a.DatabaseURL != "" {
		return Database{URL: a.DatabaseURL, From: "--database-url"}, nil
	}
	if url := a.Getenv("DATABASE_URL"); url != "" {
		return Database{URL: url, From: "DATABASE_URL"}, nil
	}
	// PGUSER, PGPASSFILE and their like alone name no database.
	for _, name := range []string{"PGSERVICE", "PGHOST", "PGDATABASE", "PGPORT"} {
		if a.Getenv(name) != "" {
			return Database{From: name}, nil
		}
	}
	tried := "--database-url, DATABASE_URL, PGHOST, PGDATABASE and PGSERVICE are not set; "
	path, err := a.ConfigFile()
	switch {
	case err != nil:
		return Database{}, err
	case path == "":
		tried += "there is no " + DefaultConfig + " here; "
	default:
		c, err := config.Load(path)
		if err != nil {
			return Database{}, BadConfig(path, err)
		}
		if c.Database.URL != "" {
			return Database{URL: c.Database.URL, From: path}, nil
		}
		tried += path + " has no database.url; "
	}
	if where, is, err := used(); err != nil || is {
		return where, err
	}
	if url, ok := pgdev.Running(a.DataDir); ok {
		return Database{URL: url, From: "the embedded server under " + a.DataDir, Embedded: true}, nil
	}
	tried += "no embedded server runs under " + a.DataDir
	return Database{}, Failed(ExitNoDatabase, "no database", "bellhop serve   starts one; or name yours: export DATABASE_URL=postgres://user@host/database", "%s", tried)
}

// Programs is where PostgreSQL's own are put where --pg-download is given.
func (a *App) Programs() string {
	if !a.Download {
		return ""
	}
	return filepath.Join(a.DataDir, "programs")
}

// Session is an open database with the schema that this program knows.
type Session struct {
	view.Look
	Conn  *pgx.Conn
	Where Database
}

// NewSession is a session on a connection that is open.
func NewSession(conn *pgx.Conn) *Session { return &Session{Look: view.NewLook(conn), Conn: conn} }

func (s *Session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.Conn.Close(ctx) // the server notices either way
}

// Open finds the database, connects and checks its schema.
func (a *App) Open(ctx context.Context) (*Session, error) {
	where, err := a.FindDatabase()
	if err != nil {
		return nil, err
	}
	conn, err := a.Dial(ctx, where, nil)
	if err != nil {
		return nil, err
	}
	s := NewSession(conn)
	s.Where = where
	plan, err := Schema()
	if err == nil {
		err = plan.Check(ctx, conn)
	}
	// An account that may not read the schema's version may still submit.
	if err != nil && !IsDenied(err) {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Schema is what this program wants a database to be.
func Schema() (migrate.Plan, error) { return migrate.New(sql.Migrations, triggers.Scripts) }

// Connect opens the database, whatever is in it. Notices of the server go to
// notice, which may be nil.
func (a *App) Connect(ctx context.Context, notice func(string)) (*pgx.Conn, error) {
	where, err := a.FindDatabase()
	if err != nil {
		return nil, err
	}
	return a.Dial(ctx, where, notice)
}

// Dial opens a database that was found, if it is one that bellhop can live in.
func (a *App) Dial(ctx context.Context, where Database, notice func(string)) (*pgx.Conn, error) {
	if strayAt(where.URL) { // the text behind it would be taken for a host, and be shown
		return nil, Usage("the database's URL from "+where.From, "its user or its password has an @, and a URL needs %40 in its place",
			"it looks like postgres://user:p%40ssword@host:5432/database; write %2F for /, %23 for # and %25 for %")
	}
	way := commandWay(where.URL, notice)
	c, err := way.Config()
	if err != nil {
		return nil, Usage("the database's URL from "+where.From, Flat(err.Error()), "it looks like postgres://user:password@host:5432/database")
	}
	conn, err := way.Connect(ctx)
	if err != nil {
		return nil, unreachable(where, c, err)
	}
	if err := encoded(where, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx)) // it is not used
		return nil, err
	}
	return conn, nil
}

// misplaced is an @ that is none between a user and a host: a second one, or one before a slash in the database's name.
var misplaced = regexp.MustCompile(`^postgres(ql)?://[^/?#]*@([^/?#]*@|[^/?#]*/[^?#]*@[^?#]*/)`)

// strayAt reports whether a URL has an @ in its user or password.
func strayAt(url string) bool { return misplaced.MatchString(url) }

// commandWay is how a command reaches a database.
func commandWay(url string, notice func(string)) dial.Way {
	tune := func(c *pgx.ConnConfig) {
		if c.RuntimeParams["application_name"] == "" {
			c.RuntimeParams["application_name"] = "bellhop"
		}
		// No prepared statements: a pooler may give each statement another server.
		if c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		if notice != nil {
			c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice(n.Message) }
		}
	}
	// A login may have another encoding set. A pooler passes on few settings: no others are given.
	return dial.Way{URL: url, Settings: map[string]string{"client_encoding": encoding}, Tune: tune}
}

// Pooled reports whether a connection leads through a pooler: the process that answers is not the one that let us
// in.
func Pooled(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var pid uint32
	err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid)
	return pid != conn.PgConn().PID(), err
}

// unreachable says why there is no connection.
func unreachable(where Database, c *pgx.ConnConfig, err error) error {
	var refused *pgconn.PgError
	code, cause := ExitNoDatabase, err
	server := fmt.Sprintf("%s:%d", c.Host, c.Port)
	database := cmp.Or(c.Database, c.User)
	next := fmt.Sprintf("is the server up there? psql -h %s -p %d -U %s -d %s", c.Host, c.Port, c.User, database)
	if errors.As(err, &refused) {
		switch {
		case strings.HasPrefix(refused.Code, "28"):
			next = fmt.Sprintf("fix user or password (in the URL, PGPASSWORD or ~/.pgpass), then: psql -h %s -p %d -U %s -d %s",
				c.Host, c.Port, c.User, database)
		case refused.Code == "3D000":
			next = fmt.Sprintf("createdb -h %s -p %d -U %s %s", c.Host, c.Port, c.User, database)
		case refused.Code == "42501":
			code = ExitDenied
			next = fmt.Sprintf("as its owner: grant connect on database %s to %s", Quoted(database), Quoted(c.User))
		}
		err = errors.New(refused.Message)
	}
	what := "no database"
	if code == ExitDenied {
		what = "not allowed"
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		err = connecting.Unwrap()
	}
	if strings.HasPrefix(where.From, "the embedded server") {
		next = "bellhop serve"
	}
	return &Failure{Code: code, What: what, Next: next, Cause: cause,
		Why: fmt.Sprintf("cannot connect to %s (named by %s): %s", server, where.From, observability.Sentence(err.Error()))}
}

// IsDenied reports that the account lacks a privilege.
func IsDenied(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "42501"
}

// WithDatabase is the RunE of a command that needs the database.
func (a *App) WithDatabase(
	f func(ctx context.Context, s *Session, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.Open(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		if err := a.Changing(cmd, s.Where, s.Conn.Config()); err != nil {
			return err
		}
		return f(cmd.Context(), s, cmd, args)
	}
}
