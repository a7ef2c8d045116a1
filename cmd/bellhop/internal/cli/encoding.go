package cli

import (
	"cmp"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/words"
)

// encoding is the one in which a job's text is kept, sent and handed to agents.
const encoding = "UTF8"

// encoded refuses a database that keeps its text in another encoding: one of
// SQL_ASCII takes bytes that are no text at all, and gives them back; one of
// LATIN1 cannot hold every line. Nothing turns either into another one, so the
// way out is a new database. The server tells its encoding with its greeting;
// what is in between and does not is taken for one that would not matter.
func encoded(where Database, conn *pgx.Conn) error {
	is := conn.PgConn().ParameterStatus("server_encoding")
	if is == encoding || is == "" {
		return nil
	}
	c := conn.Config()
	name := cmp.Or(c.Database, c.User)
	fresh := name + "_utf8"
	if !words.IsPlain(fresh) {
		fresh = "bellhop_utf8"
	}
	// In another locale than C, template0 may not take UTF8.
	next := fmt.Sprintf(`psql -h %s -p %d -U %s -d %s -c "create database %s encoding '%s' template template0 locale 'C'"`,
		c.Host, c.Port, c.User, ShellWord(name), fresh, encoding)
	return Failed(ExitSchema, "encoding", next+"   # then name that one ("+where.From+"), and: bellhop migrate",
		"the database %s at %s:%d (named by %s) is encoded in %s, and bellhop needs %s: text would not arrive as it was sent",
		name, c.Host, c.Port, where.From, is, encoding)
}
