package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
)

// Asker runs what one agent says with DB:, on a connection of its own that
// belongs to a login of few rights. It connects at its first use, and again
// after a statement was cut off. It is not safe for concurrent use.
type Asker struct {
	config *pgconn.Config
	conn   *pgconn.PgConn
}

// NewAsker takes the URL of the login.
func NewAsker(url string) (*Asker, error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "bellhop agent"
	config.RuntimeParams["bytea_output"] = "hex" // values look as those of an MSQ
	config.RuntimeParams["client_encoding"] = "UTF8"
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	config.AfterConnect = endsWithUs
	return &Asker{config: config}, nil
}

// Ask runs one statement and hands over its rows as they come; NULL columns are
// left out. When row returns an error, or ctx ends, the statement is cut off
// wherever it is.
func (a *Asker) Ask(ctx context.Context, statement string, row func([]scheduler.Column) error) error {
	if a.conn == nil || a.conn.IsClosed() {
		conn, err := pgconn.ConnectConfig(ctx, a.config)
		if err != nil {
			return fmt.Errorf("db_error: connect: %w", err)
		}
		a.conn = conn
	}
	statement = strings.TrimRight(strings.TrimSpace(statement), "; \t")
	// The extended protocol takes one statement only.
	reader := a.conn.ExecParams(ctx, statement, nil, nil, nil, nil)
	var names []string
	for reader.NextRow() {
		if names == nil {
			for _, f := range reader.FieldDescriptions() {
				names = append(names, f.Name)
			}
		}
		columns := make([]scheduler.Column, 0, len(names))
		for n, value := range reader.Values() {
			if value != nil {
				columns = append(columns, scheduler.Column{Name: names[n], Value: string(value)})
			}
		}
		if err := row(columns); err != nil {
			a.Close() // there may be millions of rows to come
			return err
		}
	}
	_, err := reader.Close()
	return refusal("db_error", err, statement, 0)
}

// Close ends the session, and the statement that it is at.
func (a *Asker) Close() {
	if a.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = a.conn.CancelRequest(ctx) // one that is not at work does not mind
	_ = a.conn.Close(ctx)
	a.conn = nil
}
