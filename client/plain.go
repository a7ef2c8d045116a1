package client

import (
	"context"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// plain hands lists of our types over as what they are made of. Without a
// prepared statement, as behind PgBouncer (pgx.QueryExecModeExec and
// QueryExecModeSimpleProtocol), pgx knows no others.
type plain struct{ DB }

func (p plain) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	made := make([]any, len(args))
	for i, arg := range args {
		switch list := arg.(type) {
		case []JobID:
			made[i] = each(list, func(id JobID) int64 { return int64(id) })
		case []State:
			made[i] = each(list, func(s State) string { return string(s) })
		case []TypeName:
			made[i] = each(list, func(t TypeName) string { return string(t) })
		case []scheduler.Level:
			made[i] = each(list, func(l scheduler.Level) string { return string(l) })
		default:
			made[i] = arg
		}
	}
	return p.DB.Query(ctx, sql, made...)
}

// each makes a list of what each of another is made of.
func each[F, T any](list []F, turn func(F) T) []T {
	if list == nil {
		return nil
	}
	made := make([]T, len(list))
	for i, one := range list {
		made[i] = turn(one)
	}
	return made
}
