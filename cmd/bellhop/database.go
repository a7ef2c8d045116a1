package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"bellhop/config"
	"bellhop/observability"
	"bellhop/pgdev"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/sql/store"
	"bellhop/triggers"
)

// defaultConfig is read when it is there and no other is named.
const defaultConfig = "bellhop.yaml"

// configVariable names the configuration where -c does not.
const configVariable = "BELLHOP_CONFIG"

// place is a database and how we came to it.
type place struct {
	url  string // empty: what the PG* variables say
	from string // in words
	// embedded: a server that this program started; it brings the schema up by itself.
	embedded bool
}

// findDatabase looks where the database is named, in the order that the help
// text tells.
func (a *app) findDatabase() (place, error) {
	if a.databaseURL != "" {
		return place{url: a.databaseURL, from: "--database-url"}, nil
	}
	if url := a.getenv("DATABASE_URL"); url != "" {
		return place{url: url, from: "DATABASE_URL"}, nil
	}
	// PGUSER, PGPASSFILE and their like alone name no database.
	for _, name := range []string{"PGSERVICE", "PGHOST", "PGDATABASE", "PGPORT"} {
		if a.getenv(name) != "" {
			return place{from: name}, nil
		}
	}
	tried := "--database-url, DATABASE_URL, PGHOST, PGDATABASE and PGSERVICE are not set; "
	path, err := a.configFile()
	switch {
	case err != nil:
		return place{}, err
	case path == "":
		tried += "there is no " + defaultConfig + " here; "
	default:
		c, err := config.Load(path)
		if err != nil {
			return place{}, badConfig(path, err)
		}
		if c.Database.URL != "" {
			return place{url: c.Database.URL, from: path}, nil
		}
		tried += path + " has no database.url; "
	}
	if url, ok := pgdev.Running(a.dataDir); ok {
		return place{url: url, from: "the embedded server under " + a.dataDir, embedded: true}, nil
	}
	tried += "no embedded server runs under " + a.dataDir
	return place{}, failed(exitNoDatabase, "no database", "bellhop serve   starts one; or name yours: export DATABASE_URL=postgres://user@host/database", "%s", tried)
}

// programs is where PostgreSQL's own are put where --pg-download is given.
func (a *app) programs() string {
	if !a.download {
		return ""
	}
	return filepath.Join(a.dataDir, "programs")
}

// configFile is the configuration's path, empty when there is none.
func (a *app) configFile() (string, error) {
	path := cmp.Or(a.configPath, a.getenv(configVariable))
	named := path != ""
	if !named {
		path = defaultConfig
	}
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return path, nil
	case !named && errors.Is(err, os.ErrNotExist):
		return "", nil
	}
	return "", usage("configuration", err.Error(), "bellhop config check -c FILE")
}

// badConfig tells all problems of a configuration.
func badConfig(path string, err error) error {
	return usage("configuration", flat(err.Error()), "mend "+path+", then: bellhop config check -c "+path)
}

// session is an open database with the schema that this program knows.
type session struct {
	store.Look
	conn *pgx.Conn
}

func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // the server notices either way
}

// open finds the database, connects and checks its schema.
func (a *app) open(ctx context.Context) (*session, error) {
	conn, err := a.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	s := &session{store.NewLook(conn), conn}
	plan, err := schema()
	if err == nil {
		err = plan.Check(ctx, conn)
	}
	// An account that may not read the schema's version may still submit.
	if err != nil && !isDenied(err) {
		s.close()
		return nil, err
	}
	return s, nil
}

// schema is what this program wants a database to be.
func schema() (migrate.Plan, error) { return migrate.New(sql.Migrations, triggers.Scripts) }

// connect opens the database, whatever is in it. Notices of the server go to
// notice, which may be nil.
func (a *app) connect(ctx context.Context, notice func(string)) (*pgx.Conn, error) {
	where, err := a.findDatabase()
	if err != nil {
		return nil, err
	}
	return a.dial(ctx, where, notice)
}

// dial opens a database that was found, if it is one that bellhop can live in.
func (a *app) dial(ctx context.Context, where place, notice func(string)) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(where.url)
	if err != nil {
		return nil, usage("the database's URL from "+where.from, flat(err.Error()), "it looks like postgres://user:password@host:5432/database")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "bellhop"
	}
	c.RuntimeParams["client_encoding"] = encoding // a login may have another one set
	// No prepared statements: a pooler may give each statement another server.
	if c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if notice != nil {
		c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice(n.Message) }
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, unreachable(where, c, err)
	}
	if err := encoded(where, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx)) // it is not used
		return nil, err
	}
	return conn, nil
}

// pooled reports whether a connection leads through a pooler: who answers is
// not who let us in.
func pooled(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var pid uint32
	err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid)
	return pid != conn.PgConn().PID(), err
}

// unreachable says why there is no connection.
func unreachable(where place, c *pgx.ConnConfig, err error) error {
	var refused *pgconn.PgError
	code, cause := exitNoDatabase, err
	server := fmt.Sprintf("%s:%d", c.Host, c.Port)
	database := cmp.Or(c.Database, c.User)
	next := fmt.Sprintf("is the server up there? psql -h %s -p %d -U %s -d %s", c.Host, c.Port, c.User, database)
	if errors.As(err, &refused) {
		switch {
		case strings.HasPrefix(refused.Code, "28"):
			next = fmt.Sprintf("mend user or password (in the URL, PGPASSWORD or ~/.pgpass), then: psql -h %s -p %d -U %s -d %s", c.Host, c.Port, c.User, database)
		case refused.Code == "3D000":
			next = fmt.Sprintf("createdb -h %s -p %d -U %s %s", c.Host, c.Port, c.User, database)
		case refused.Code == "42501":
			code = exitDenied
			next = fmt.Sprintf("as its owner: grant connect on database %s to %s", quoted(database), quoted(c.User))
		}
		err = errors.New(refused.Message)
	}
	what := "no database"
	if code == exitDenied {
		what = "not allowed"
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		err = connecting.Unwrap()
	}
	if strings.HasPrefix(where.from, "the embedded server") {
		next = "bellhop serve"
	}
	return &failure{code: code, what: what, next: next, cause: cause,
		why: fmt.Sprintf("cannot connect to %s (named by %s): %s", server, where.from, observability.Sentence(err.Error()))}
}

// isDenied reports that the account lacks a privilege.
func isDenied(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "42501"
}

// withDatabase is the RunE of a command that needs the database.
func (a *app) withDatabase(f func(ctx context.Context, s *session, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		defer s.close()
		return f(cmd.Context(), s, cmd, args)
	}
}
