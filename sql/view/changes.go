package view

import (
	"context"
	"time"

	"bellhop/sql"
)

var (
	changesSQL   = sql.Query("look_changes")
	changesBySQL = sql.Query("look_changes_by")
	changesOfSQL = sql.Query("look_changes_of")
)

// ChangeRow is a change by a person, a token or a database login.
type ChangeRow struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Via    string    `json:"via"  enum:"login,session,token,oidc"` // how the caller was identified
	Role   string    `json:"role"`
	Verb   string    `json:"verb"`
	Thing  string    `json:"thing"`
	Name   *string   `json:"name"` // of the thing, or its id; nil: all, or several
	Result *string   `json:"result"`
}

// ChangeFilter says which changes are meant.
type ChangeFilter struct {
	Before      int64  // an id; 0: the newest
	By          string // empty: all
	Thing, Name string // both, or neither
}

// Changes lists changes, the newest first.
func (l Look) Changes(ctx context.Context, f ChangeFilter, most int) ([]ChangeRow, error) {
	text, args := changesSQL, []any{orNil(f.Before), most}
	switch {
	case f.Thing != "":
		text, args = changesOfSQL, append(args, f.Thing, f.Name, orNil(f.By))
	case f.By != "":
		text, args = changesBySQL, append(args, f.By)
	}
	return collect[ChangeRow](ctx, l.db, "list changes", text, args...)
}

// orNil is NULL for the zero value.
func orNil[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}
