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
	Hour    ShareHour          `json:"last_hour" db:"-"`
}

// ShareHead is a key of those that matter now.
type ShareHead struct {
	Type    scheduler.TypeName `json:"type"`
	Name    string             `json:"name"`
	Weight  float32            `json:"weight"`
	Waiting int64              `json:"waiting"` // 1,000 are counted for each place and priority
	Running int64              `json:"running"`
	Keys    int64              `json:"keys"` // of the type that run or wait, as far as they are looked at
}

// ShareKeysMost is how many keys with ready jobs ShareHeads looks at, of one type.
const ShareKeysMost = 200

var (
	lookSharesSQL     = sql.Query("look_shares")
	lookShareSetSQL   = sql.Query("look_share_set")
	lookShareHeadsSQL = sql.Query("look_share_heads")
)

// Shares gives the keys of a type that have a weight, or work, or had a start in the last hour; nil: of all types.
func (l Look) Shares(ctx context.Context, of *string) ([]ShareRow, error) {
	keys, err := collect[ShareRow](ctx, l.db, "list shares", lookSharesSQL, of)
	if err != nil {
		return nil, err
	}
	return l.withHour(ctx, of, keys)
}

// ShareHeads gives so many keys of each type, those first that run most, then those that wait most.
func (l Look) ShareHeads(ctx context.Context, most int) ([]ShareHead, error) {
	return collect[ShareHead](ctx, l.db, "list the keys that run and wait most", lookShareHeadsSQL, most)
}

// SetShare gives a key its weight.
func (l Look) SetShare(ctx context.Context, s ShareRow) error {
	_, err := value[bool](ctx, l.db, "set a weight", lookShareSetSQL, string(s.Type), s.Name, s.Weight)
	return err
}
