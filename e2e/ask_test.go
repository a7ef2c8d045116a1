package e2e

import (
	"fmt"
	"testing"
)

// What agents ask of the database reaches them, under a login of their own; a
// statement that sleeps, and an agent that reads no row, stop nobody.
func TestDB_AgentsAskAndNobodyElseWaits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table pfile (id int, path text)")
	e.sql("insert into pfile select g, '/srv/' || g from generate_series(1, 3) g")
	asks := func(sql, read string) string { return `echo "DB: ` + sql + `;"; ` + read }
	// Told to go, it says no OK: that would be a success.
	until := `while :; do IFS= read -r row || exit 1; [ "$row" = OK ] && break; echo "LOG $row"; done`
	e.serve(fmt.Sprintf("database: {url: %q, db_url: %q}\n", e.url, e.url) + "limits: {kill_after: 200ms, min_ready: 10ms, db_rows: 100}\n" + agents(
		"type: asks, db: true, command: ["+e.worker("asks", asks("select * from pfile order by id", until))+"]",
		"type: many, db: true, command: ["+e.worker("many", asks("select * from generate_series(1, 1000) g", until))+"]",
		"type: slow, db: true, command: ["+e.worker("slow", asks("select pg_sleep(1000)", until))+"]",
		"type: deaf, db: true, command: ["+e.worker("deaf", asks("select repeat('x', 100000) from generate_series(1, 90)", "sleep 1000"))+"]",
		"type: not, command: ["+e.worker("not", `echo "DB: drop table pfile;"`)+"]",
	))
	slow, deaf := e.insert("type", "slow"), e.insert("type", "deaf")
	e.waitState(slow, "running")
	e.waitState(deaf, "running")
	e.eventually("both are at it", "select count(*) = 2 from pg_stat_activity where application_name = 'bellhop agent' and datname = current_database()")
	asked := e.insert("type", "asks")
	e.waitState(asked, "succeeded")
	has(t, e.logged(asked), `info: id="1" path="/srv/1"`, `info: id="3" path="/srv/3"`)
	many := e.insert("type", "many")
	e.waitState(many, "succeeded")
	has(t, e.logged(many), `info: g="100"`, "error: DB: db_limit: more than 100 rows")
	not := e.insert("type", "not")
	e.waitState(not, "succeeded")
	has(t, e.logged(not), "error: DB: is switched off")
	for _, id := range []int64{slow, deaf} {
		e.cancel(id)
		e.waitState(id, "cancelled")
	}
	e.eventually("their statements have ended too", "select count(*) = 0 from pg_stat_activity where application_name = 'bellhop agent' and datname = current_database() and state = 'active'")
}
