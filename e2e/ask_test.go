package e2e

import (
	"fmt"
	"testing"
)

// What agents ask of the database reaches them, under a login of their own; a
// statement that sleeps, and an agent that reads no row, stop nobody.
func TestDB_AgentsAskAndNobodyElseWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sql("create table pfile (id int, path text)")
	b.sql("insert into pfile select g, '/srv/' || g from generate_series(1, 3) g")
	asks := func(sql, read string) string { return `echo "DB: ` + sql + `;"; ` + read }
	// Told to go, it says no OK: that would be a success.
	until := `while :; do IFS= read -r row || exit 1; [ "$row" = OK ] && break; echo "LOG $row"; done`
	b.serve(fmt.Sprintf("database: {url: %q, db_url: %q}\n", b.url, b.url) + "limits: {kill_after: 200ms, min_ready: 10ms, db_rows: 100}\n" + agents(
		"type: asks, db: true, command: ["+b.worker("asks", asks("select * from pfile order by id", until))+"]",
		"type: many, db: true, command: ["+b.worker("many", asks("select * from generate_series(1, 1000) g", until))+"]",
		"type: slow, db: true, command: ["+b.worker("slow", asks("select pg_sleep(1000)", until))+"]",
		"type: deaf, db: true, command: ["+b.worker("deaf", asks("select repeat('x', 100000) from generate_series(1, 90)", "sleep 1000"))+"]",
		"type: not, command: ["+b.worker("not", `echo "DB: drop table pfile;"`)+"]",
	))
	slow, deaf := b.insert("type", "slow"), b.insert("type", "deaf")
	b.waitState(slow, "running")
	b.waitState(deaf, "running")
	b.eventually("both are at it", "select count(*) = 2 from pg_stat_activity where application_name = 'bellhop agent' and datname = current_database()")
	asked := b.insert("type", "asks")
	b.waitState(asked, "succeeded")
	has(t, b.logged(asked), `info: id="1" path="/srv/1"`, `info: id="3" path="/srv/3"`)
	many := b.insert("type", "many")
	b.waitState(many, "succeeded")
	has(t, b.logged(many), `info: g="100"`, "error: DB: db_limit: more than 100 rows")
	not := b.insert("type", "not")
	b.waitState(not, "succeeded")
	has(t, b.logged(not), "error: DB: is switched off")
	for _, id := range []int64{slow, deaf} {
		b.cancel(id)
		b.waitState(id, "cancelled")
	}
	b.eventually("their statements have ended too", "select count(*) = 0 from pg_stat_activity where application_name = 'bellhop agent' and datname = current_database() and state = 'active'")
}
