// Package sql owns every statement that bellhop sends to PostgreSQL: the
// schema as forward-only migrations, and the queries, each in a file that
// names its guard and the index that serves it. It holds text only; sql/store
// runs the queries and sql/migrate the migrations.
package sql

import "embed"

// Migrations are the files of migrations/, run once each in the order of their names.
//
//go:embed migrations/*.sql
var Migrations embed.FS

//go:embed queries/*.sql
var queries embed.FS

// Query returns the text of queries/<name>.sql. A name without a file is a
// programming error and panics when the program starts.
func Query(name string) string {
	text, err := queries.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic("sql: no query named " + name)
	}
	return string(text)
}
