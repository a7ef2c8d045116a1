package view

import (
	"context"

	"bellhop/scheduler"
	"bellhop/sql"
)

// ShareRow is a key among whose jobs and those of others the starts of a type are shared.
type ShareRow struct {
	Type    scheduler.TypeName `json:"type"`
	Name    string             `json:"name"`
	Weight  float32            `json:"weight"`
	Waiting int64              `json:"waiting"`
	Running int64              `json:"running"`
	Started int64              `json:"started"` // since it came into the line
}

var lookSharesSQL, lookShareSetSQL = sql.Query("look_shares"), sql.Query("look_share_set")

// Shares gives the keys of a type that have a weight, or work; nil: of all types.
func (l Look) Shares(ctx context.Context, of *string) ([]ShareRow, error) {
	return collect[ShareRow](ctx, l.db, "list shares", lookSharesSQL, of)
}

// SetShare gives a key its weight.
func (l Look) SetShare(ctx context.Context, s ShareRow) error {
	_, err := value[bool](ctx, l.db, "set a weight", lookShareSetSQL, string(s.Type), s.Name, s.Weight)
	return err
}
