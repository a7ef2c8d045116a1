//go:build unix

package pgdev

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// NewDatabase makes a fresh database as a copy of template (empty: template0) and gives its URL over the unix
// socket. During the copy, no session may be connected to the template.
func (c *Cluster) NewDatabase(ctx context.Context, name, template string) (string, error) {
	if template == "" {
		template = "template0"
	}
	conn, err := pgx.Connect(ctx, socketURL(c.state.Sockets, c.state.Port, "postgres"))
	if err != nil {
		return "", fmt.Errorf("make database %s: %w", name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx,
		"CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize())
	if err != nil {
		return "", fmt.Errorf("make database %s: %w", name, err)
	}
	return socketURL(c.state.Sockets, c.state.Port, url.PathEscape(name)), nil
}

// cannotConnectNow is what a server says that is starting, recovering or stopping.
const cannotConnectNow = "57P03"

// prepare connects to the server with pid as soon as it lets us (one that is recovering from a crash says "ready" a
// moment early), and makes sure that the password and the database are there: the process that was to make them may
// have been killed before.
func (c *Cluster) prepare(ctx context.Context, pid int) error {
	var conn *pgx.Conn
	err := until(ctx, func() (bool, error) {
		var err error
		conn, err = pgx.Connect(ctx, socketURL(c.state.Sockets, c.state.Port, "postgres"))
		var refused *pgconn.PgError
		switch {
		case err == nil:
			return true, nil
		case c.ended(pid):
			return false, errors.Join(errGone, err)
		case errors.As(err, &refused) && refused.Code == cannotConnectNow:
			return false, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var follows bool // a standby has both from the server that it follows
	if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&follows); err != nil || follows {
		return err
	}
	// The password is ours and holds letters and digits only.
	if _, err := conn.Exec(ctx, "ALTER ROLE "+superuser+" PASSWORD '"+c.state.Password+"'"); err != nil {
		return fmt.Errorf("set the password: %w", err)
	}
	var there bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&there)
	if err != nil || there {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+database); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return nil
}
