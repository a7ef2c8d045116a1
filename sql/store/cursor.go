package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql/dial"
)

// Cursors opens the queries of MSQ jobs, each on a connection of its own that
// belongs to the msq login, so that a query is never able to do more than that
// login may.
type Cursors struct{ way dial.Way }

// NewCursors takes the URL that MSQ text runs on.
func NewCursors(url string) (*Cursors, error) {
	way := guestWay(url, "msq")
	return &Cursors{way}, way.Check()
}

// guestWay is for text of others. What it reads, a standby may have too.
func guestWay(url, name string) dial.Way {
	return dial.Way{URL: url, Name: "bellhop " + name, Settings: dial.Guest, Tune: endsWithUs}
}

// openGuest opens a session for text of others.
func openGuest(ctx context.Context, way dial.Way) (*pgconn.PgConn, error) {
	conn, err := way.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn.PgConn(), nil
}

// endsWithUs has the server look, while it is at a statement of this session, whether we are still there. To cancel a
// statement is one try, which misses a backend that is just between two of them, and a process that is killed makes
// none: the query would go on for as long as it likes, with its snapshot. Where the server cannot look, it does as
// before.
func endsWithUs(config *pgx.ConnConfig) {
	first := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := first(ctx, conn); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "set client_connection_check_interval = '2s'").ReadAll()
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			return nil
		}
		return err
	}
}

// Cursor streams the rows of one run of a query. It is not safe for concurrent use.
type Cursor struct {
	conn  *pgconn.PgConn
	fetch string
	names []string
}

// queryError is PostgreSQL's refusal of an MSQ text, as the job's error shows it.
type queryError struct{ text string }

func (e *queryError) Error() string { return e.text }
func (e *queryError) Unwrap() error { return scheduler.ErrQuery }

// ErrNoColumns: the query yields rows without a single column, so there is
// nothing that an agent could be told.
var ErrNoColumns error = &queryError{"no_columns: the query selects no column, so an item would be an empty line"}

// Open starts a query in a READ ONLY transaction as a cursor. ctx bounds only
// the opening. An error that wraps scheduler.ErrQuery is the query's fault and will not go away.
func (c *Cursors) Open(ctx context.Context, text string, rows int) (*Cursor, error) {
	conn, err := openGuest(ctx, c.way)
	if err != nil {
		return nil, fmt.Errorf("connect for an MSQ: %w", err)
	}
	cur := &Cursor{conn: conn, fetch: fmt.Sprintf("fetch %d from item", rows)}
	if _, err := conn.Exec(ctx, "begin transaction isolation level repeatable read read only").ReadAll(); err != nil {
		cur.Close()
		return nil, fmt.Errorf("begin an MSQ: %w", err)
	}
	// The extended protocol takes one statement only, and DECLARE takes no
	// COMMIT and nothing that changes data: both refused when parsed.
	const declare = "declare item no scroll cursor for "
	if res := conn.ExecParams(ctx, declare+text, nil, nil, nil, nil).Read(); res.Err != nil {
		cur.Close()
		return nil, describe(res.Err, text, len([]rune(declare)))
	}
	return cur, nil
}

// Next reads the next rows, at most as many as Open was told; none: the end.
func (c *Cursor) Next(ctx context.Context) ([][]scheduler.Column, error) {
	reader := c.conn.ExecParams(ctx, c.fetch, nil, nil, nil, nil)
	var items [][]scheduler.Column
	for reader.NextRow() {
		if c.names == nil {
			for _, f := range reader.FieldDescriptions() {
				c.names = append(c.names, f.Name)
			}
			if len(c.names) == 0 {
				_, _ = reader.Close() // the cursor is not used any more
				return nil, ErrNoColumns
			}
		}
		row := reader.Values()
		item := make([]scheduler.Column, 0, len(row))
		for n, value := range row {
			if value != nil { // NULL columns are left out
				item = append(item, scheduler.Column{Name: c.names[n], Value: string(value)})
			}
		}
		items = append(items, item)
	}
	if _, err := reader.Close(); err != nil {
		return nil, describe(err, "", 0)
	}
	return items, nil
}

// Close ends the query, wherever it is, and its connection.
func (c *Cursor) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.conn.Close(ctx) // the server notices by itself
}

// describe turns a refusal into what the job's error says: SQLSTATE, text, and
// the place in the query with a caret. Everything else is passed on: the line,
// not the query, is to blame.
func describe(err error, query string, prefix int) error {
	return refusal("msq_error", err, query, prefix)
}

// refusal is describe under another code.
func refusal(code string, err error, query string, prefix int) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	// A query that would write is told so (25006); all else that ends sessions, or keeps them from beginning, is not its.
	fate := dial.Judge(e)
	if fate == dial.Away || fate == dial.Over && e.Code != readOnly || strings.HasPrefix(e.Code, "53") {
		return err
	}
	s := fmt.Sprintf("%s: %s (SQLSTATE %s)", code, e.Message, e.Code)
	if at := int(e.Position) - prefix; e.Position > 0 && at > 0 && query != "" {
		runes := []rune(query)
		start := max(0, at-1-30)
		end := min(len(runes), at-1+30)
		clean := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")
		s += fmt.Sprintf(" at character %d:\n  %s\n  %s^", at, clean.Replace(string(runes[start:end])),
			strings.Repeat(" ", at-1-start))
	}
	if e.Detail != "" {
		s += "\n  " + e.Detail
	}
	if e.Hint != "" {
		s += "\n  hint: " + e.Hint
	}
	return &queryError{s}
}
