// Package sql owns every statement that bellhop sends to PostgreSQL: the
// schema as a baseline and forward-only migrations, and the queries, each in a file
// that names its guard and the index that serves it. It holds text only; sql/store
// runs the queries and sql/migrate the migrations.
package sql

import (
	"embed"
	"slices"
	"strings"
	"sync"
)

// Migrations are the files of baseline/, which make the schema of an empty database; those of migrations/, run once
// each in the order of their names; and the functions of functions/, put in place again whenever they change.
//
//go:embed baseline/*.sql migrations/*.sql functions/*.sql
var Migrations embed.FS

//go:embed queries/*.sql
var queries embed.FS

//go:embed compat/*.sql
var compat embed.FS

// Compat returns compat/<name>.sql: views under the names of another system.
func Compat(name string) (text string, ok bool) {
	b, err := compat.ReadFile("compat/" + name + ".sql")
	return string(b), err == nil
}

//go:embed rights.sql
var rights string

// Rights are the rights that the migrations give to others than the schema's
// owner, one statement each, in the words of queries/rights.sql.
func Rights() []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(rights), "\n"),
		func(line string) bool { return strings.HasPrefix(line, "--") })
}

// Query returns the text of queries/<name>.sql, or that behind "-- name: <name>" in queries/calls.sql. A name without a
// text is a programming error and panics when the program starts.
func Query(name string) string {
	if text, there := calls()[name]; there {
		return text
	}
	text, err := queries.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic("sql: no query named " + name)
	}
	return string(text)
}

// calls are the queries of queries/calls.sql, by name.
var calls = sync.OnceValue(func() map[string]string {
	text, err := queries.ReadFile("queries/calls.sql")
	if err != nil {
		panic("sql: no calls.sql")
	}
	list := map[string]string{}
	for _, part := range strings.Split(string(text), "\n-- name: ")[1:] {
		name, query, _ := strings.Cut(part, "\n")
		list[name] = query
	}
	return list
})
