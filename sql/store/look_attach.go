package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
)

var (
	lookAttachSQL           = sql.Query("look_attach")
	lookDetachSQL           = sql.Query("look_detach")
	lookAttachmentsSQL      = sql.Query("look_attachments")
	lookAttachedCommandsSQL = sql.Query("look_attached_commands")
	lookExplainRowSQL       = sql.Query("look_explain_row")
)

// Attachment is a table to be attached. Nil fields are left to the defaults of
// bellhop.attach.
type Attachment struct {
	Table     string
	Type      *string
	Cmd       []string
	Pool      *int
	WorkDir   *string
	LogDir    *string
	Key       []string
	Dispatch  string
	StatusCol *string
	ExitCol   *string
	Index     bool
	Name      *string
}

// Attached is an attachment's id, and the statements that were carried out.
type Attached struct {
	ID         int64    `json:"id"`
	Statements []string `json:"statements"`
}

// Attach attaches a table, or changes the pool of one that is attached.
func (l Look) Attach(ctx context.Context, a Attachment) (Attached, error) {
	rows, err := l.db.Query(ctx, lookAttachSQL, a.Table, a.Type, orNull(a.Cmd), a.Pool, a.WorkDir, a.LogDir, orNull(a.Key),
		a.Dispatch, a.StatusCol, a.ExitCol, a.Index, a.Name)
	if err != nil {
		return Attached{}, fmt.Errorf("attach %s: %w", a.Table, err)
	}
	done, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Attached])
	if err != nil {
		return Attached{}, fmt.Errorf("attach %s: %w", a.Table, err)
	}
	return done, nil
}

// Detach ends an attachment, and gives how many rows that were taken and had
// not started were given back.
func (l Look) Detach(ctx context.Context, name string) (back int, err error) {
	rows, err := l.db.Query(ctx, lookDetachSQL, name)
	if err == nil {
		back, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	}
	if err != nil {
		return 0, fmt.Errorf("detach %s: %w", name, err)
	}
	return back, nil
}

// AttachmentRow is an attached table as it is shown.
type AttachmentRow struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	Table      string     `json:"table"`
	Type       *string    `json:"type"`
	Cmd        []string   `json:"cmd" db:"-"` // operators only
	Pool       int        `json:"pool"`
	Running    int        `json:"running"` // rows that have a place of the pool
	Ahead      int        `json:"ahead"`   // and those that were taken ahead of a free one
	Waiting    *int       `json:"waiting"` // and not yet; at most 10,000 are counted. nil: not counted yet
	More       *bool      `json:"waiting_more" db:"waiting_more"`
	WaitingAt  *time.Time `json:"waiting_at"` // when they were counted
	Done       int64      `json:"done"`
	Failed     int64      `json:"failed"`
	Rate       *float64   `json:"rate"` // rows that end in a second; nil: none has ended lately
	Key        []string   `json:"key"`
	Dispatch   string     `json:"dispatch"`
	AttachedBy string     `json:"attached_by"`
	AttachedAt time.Time  `json:"attached_at"`
	State      string     `json:"state"`
	Trouble    *string    `json:"trouble"`
	StateSince time.Time  `json:"state_since"`
}

// WaitingText is how many rows wait, for people.
func (a AttachmentRow) WaitingText() string {
	switch {
	case a.Waiting == nil:
		return "-"
	case a.More != nil && *a.More:
		return "10,000+"
	}
	return strconv.Itoa(*a.Waiting)
}

// RateText is how many rows end in a second, for people.
func (a AttachmentRow) RateText() string {
	switch {
	case a.Rate == nil:
		return "-"
	case *a.Rate < 10:
		return fmt.Sprintf("%.1f/s", *a.Rate)
	}
	return fmt.Sprintf("%.0f/s", *a.Rate)
}

// Attachments lists what is attached.
func (l Look) Attachments(ctx context.Context) ([]AttachmentRow, error) {
	list, err := collect[AttachmentRow](ctx, l.db, lookAttachmentsSQL)
	if err != nil {
		return nil, fmt.Errorf("list attachments: %w", err)
	}
	return list, nil
}

// AttachedCommands gives the commands of attachments by their ids. Readers get
// the error code 42501.
func (l Look) AttachedCommands(ctx context.Context) (map[int64][]string, error) {
	type one struct {
		ID  int64
		Cmd []string
	}
	list, err := collect[one](ctx, l.db, lookAttachedCommandsSQL)
	if err != nil {
		return nil, fmt.Errorf("read the commands of attachments: %w", err)
	}
	commands := make(map[int64][]string, len(list))
	for _, c := range list {
		commands[c.ID] = c.Cmd
	}
	return commands, nil
}

// ExplainRow says why a row of an attached table does not run.
func (l Look) ExplainRow(ctx context.Context, name, key string) ([]ReasonRow, error) {
	reasons, err := collect[ReasonRow](ctx, l.db, lookExplainRowSQL, name, key)
	if err != nil {
		return nil, fmt.Errorf("explain row %s of %s: %w", key, name, err)
	}
	return reasons, nil
}
