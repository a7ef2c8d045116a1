package store

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql/dial"
)

// Locator asks the user's own query on which host a name in run_on is. It has
// the login of MSQ queries and a connection of its own, and can change nothing.
type Locator struct {
	conn *connection
	text string
}

// NewLocator takes the query: its first column names hosts, $1 is the name.
func NewLocator(url, text string) (*Locator, error) {
	settings := map[string]string{"default_transaction_read_only": "on", "statement_timeout": "5000", "jit": "off"}
	maps.Copy(settings, dial.Guest)
	way := ownWay(url, "locate", settings)
	way.Writes = false // a standby can answer it
	return &Locator{&connection{way: way}, text}, way.Check()
}

// Close ends the session's connection.
func (l *Locator) Close() { l.conn.close() }

// Locate finds the hosts of names. What the query refuses is told for each
// name; an error means that the database was out of reach.
func (l *Locator) Locate(ctx context.Context, names []string) (map[string]Located, error) {
	all := map[string]Located{}
	err := l.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		for _, name := range names {
			var found Located
			// Without parameter types: the query's own say what a name is.
			res := conn.PgConn().ExecParams(ctx, l.text, [][]byte{[]byte(name)}, nil, nil, nil).Read()
			for _, row := range res.Rows {
				if len(row) > 0 && len(row[0]) > 0 {
					found.Hosts = append(found.Hosts, scheduler.HostName(row[0]))
				}
			}
			if refused := (*pgconn.PgError)(nil); errors.As(res.Err, &refused) {
				found.Error = fmt.Sprintf("%s (SQLSTATE %s)", refused.Message, refused.Code)
			} else if res.Err != nil {
				return res.Err
			} else if found.Hosts == nil {
				found.Error = "the query gives no host"
			}
			all[name] = found
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask the locate query: %w", err)
	}
	return all, nil
}
