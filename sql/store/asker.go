package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql/dial"
)

// Asker runs what one agent says with DB:, on a connection of its own that
// belongs to a login of few rights. It connects at its first use, and again
// after a statement was cut off. It is not safe for concurrent use.
type Asker struct {
	way  dial.Way
	conn *pgconn.PgConn
}

// NewAsker takes the URL of the login.
func NewAsker(url string) (*Asker, error) {
	way := guestWay(url, "agent") // values look as those of an MSQ
	return &Asker{way: way}, way.Check()
}

// Ask runs one statement and hands over its rows as they come; NULL columns are
// left out. When row returns an error, or ctx ends, the statement is cut off
// wherever it is.
func (a *Asker) Ask(ctx context.Context, statement string, row func([]scheduler.Column) error) error {
	if a.conn == nil || a.conn.IsClosed() {
		conn, err := openGuest(ctx, a.way)
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
	if dial.OverIn(err) {
		a.Close() // the next one may find a server that takes writes
	}
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
