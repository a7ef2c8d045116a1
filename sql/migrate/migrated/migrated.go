// Package migrated gives tests a database with bellhop's schema.
package migrated

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/triggers"
)

// URL gives a fresh database of the test's own with the present schema. It is a copy
// of one that was migrated once for all tests of the process.
func URL(t testing.TB) string {
	t.Helper()
	return pgtest.Copy(t, "migrated", Schema)
}

// Schema puts the present schema into a database, and leaves no connection to it: else it could not be copied.
func Schema(ctx context.Context, url string) error {
	plan, err := migrate.New(sql.Migrations, triggers.Scripts)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = plan.Run(ctx, conn)
	_ = conn.Close(ctx)
	return err
}
