package view

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/words"
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
	rows, err := l.db.Query(ctx, lookAttachSQL, a.Table, a.Type, sql.ListOrNull(a.Cmd), a.Pool, a.WorkDir, a.LogDir,
		sql.ListOrNull(a.Key), a.Dispatch, a.StatusCol, a.ExitCol, a.Index, a.Name)
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
	return value[int](ctx, l.db, "detach "+name, lookDetachSQL, name)
}

// AttachmentRow is an attached table as the command line, the API and the dashboard show it.
type AttachmentRow struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	Table      string     `json:"table"         doc:"With its schema; empty: it was dropped"`
	Type       *string    `json:"type"          doc:"Its rows go to the agent of this type; null: a command runs for each"`
	Cmd        []string   `json:"cmd"    db:"-" doc:"That command; null for readers, and where there is a type"`
	Pool       int        `json:"pool"          doc:"So many of its rows run at once, at most; 0: none start"`
	Running    int        `json:"running"       doc:"Rows that have a place of the pool"`
	Ahead      int        `json:"ahead"         doc:"Rows that were taken ahead of a free place"`
	Waiting    *int       `json:"waiting"       doc:"Rows that were not taken yet, counted up to 10,000; null: not counted yet"`
	More       *bool      `json:"waiting_more"  doc:"More than these wait" db:"waiting_more"`
	WaitingAt  *time.Time `json:"waiting_at"    doc:"When they were counted"`
	Done       int64      `json:"done"          doc:"Runs that succeeded"`
	Failed     int64      `json:"failed"        doc:"Runs that ended in any other way"`
	Rate       *float64   `json:"rate"          doc:"Rows that end in a second; null: none has ended lately"`
	Key        []string   `json:"key"`
	Dispatch   string     `json:"dispatch"      doc:"The column that is NULL where a row asks to be run"`
	AttachedBy string     `json:"attached_by"`
	AttachedAt time.Time  `json:"attached_at"`
	State      string     `json:"state"         doc:"ok, broken, or detached: then its last rows run"`
	Trouble    *string    `json:"trouble"       doc:"What keeps its rows from being run"`
	StateSince time.Time  `json:"state_since"`
	Next       *string    `json:"next" db:"-"   doc:"The command that mends it, or tries again once it is mended"`
	Mends      *string    `json:"-"` // that command's verb
	Quoted     string     `json:"-"` // the table, as SQL takes it
}

// next is the command to type about an attachment in trouble.
func (a AttachmentRow) next() *string {
	if a.Mends == nil {
		return nil
	}
	line := "bellhop " + *a.Mends
	switch *a.Mends {
	case "detach":
		line += " " + words.ShellWord(a.Name)
	case "attach":
		line += " " + a.ShellTable()
	}
	return &line
}

// ShellTable is the attached table as a shell takes it.
func (a AttachmentRow) ShellTable() string {
	if schema, table, _ := strings.Cut(a.Quoted, "."); words.IsPlain(schema) && words.IsPlain(table) {
		return a.Quoted
	}
	return words.ShellQuoted(a.Quoted)
}

// Runs is what runs for each row, for people: a type, or a command as a shell takes it.
func (a AttachmentRow) Runs() string {
	switch {
	case a.Type != nil:
		return *a.Type
	case a.Cmd != nil:
		return words.ShellLine(a.Cmd)
	}
	return "(a command)"
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

// Attachments lists what is attached, without the commands.
func (l Look) Attachments(ctx context.Context) ([]AttachmentRow, error) {
	list, err := collect[AttachmentRow](ctx, l.db, "list attachments", lookAttachmentsSQL)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Next = list[i].next()
	}
	return list, nil
}

// AttachmentsToShow lists the attached tables, with the commands if the role may see them. If it may not, the server
// has refused a statement, and no other can follow in the same transaction.
func (l Look) AttachmentsToShow(ctx context.Context) ([]AttachmentRow, error) {
	list, err := l.Attachments(ctx)
	if err != nil || !slices.ContainsFunc(list, func(a AttachmentRow) bool { return a.Type == nil }) {
		return list, err
	}
	type command struct {
		ID  int64
		Cmd []string
	}
	commands, err := collect[command](ctx, l.db, "read the commands of attachments", lookAttachedCommandsSQL)
	switch {
	case denied(err):
		return list, nil
	case err != nil:
		return nil, fmt.Errorf("read the commands of attachments: %w", err)
	}
	cmds := make(map[int64][]string, len(commands))
	for _, c := range commands {
		cmds[c.ID] = c.Cmd
	}
	for i := range list {
		list[i].Cmd = cmds[list[i].ID]
	}
	return list, nil
}

// ExplainRow says why a row of an attached table does not run.
func (l Look) ExplainRow(ctx context.Context, name, key string) ([]ReasonRow, error) {
	return collect[ReasonRow](ctx, l.db, fmt.Sprintf("explain row %s of %s", key, name), lookExplainRowSQL, name, key)
}
