package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
	"bellhop/sql/view"
)

// planned runs a statement of a session under that session's settings, on the
// generic plan that it is run with, and gives the plan and the pages it read.
func planned(t *testing.T, conn *pgx.Conn, text string, args ...string) (plan string, pages int) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "deallocate all"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "prepare p as "+text); err != nil {
		t.Fatal(err)
	}
	list := ""
	if len(args) > 0 {
		list = "(" + strings.Join(args, ", ") + ")"
	}
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(t.Context(), "explain (analyze, buffers, costs off, timing off, summary off, format json) execute p"+list, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		if plan, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		return errUndo
	})
	if err != errUndo {
		t.Fatalf("%v in %s", err, text)
	}
	var top []struct{ Plan map[string]any }
	if err := json.Unmarshal([]byte(plan), &top); err != nil {
		t.Fatal(err)
	}
	return plan, int(top[0].Plan["Shared Hit Blocks"].(float64) + top[0].Plan["Shared Read Blocks"].(float64))
}

// readsAll reports whether a plan reads a table from end to end.
func readsAll(t *testing.T, plan, table string) bool {
	t.Helper()
	var top any
	if err := json.Unmarshal([]byte(plan), &top); err != nil {
		t.Fatal(err)
	}
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			kind, _ := v["Node Type"].(string)
			return kind == "Seq Scan" && v["Relation Name"] == table || slices.ContainsFunc(slices.Collect(maps.Values(v)), in)
		}
		return false
	}
	return in(top)
}

var errUndo = fmt.Errorf("undo what the explained statement did")

// What /metrics reads does not grow with the finished rows, failed ones among them.
func TestPlans_GaugesDoNotReadWhatIsFinished(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'cat', case when g % 2 = 0 then 'succeeded' else 'failed' end, 1, 1, clock_timestamp(), clock_timestamp(), 0 from generate_series(1, 100000) g`)
	e.exec("insert into bellhop.jobqueue (type, run_on) select 'type_' || g % 10, nullif('disk:' || g % 2, 'disk:0') from generate_series(1, 100) g")
	e.exec("insert into bellhop.jobqueue (type, held) select 'cat', true from generate_series(1, 10)")
	e.exec("update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, instance = $1 where id in (select id from bellhop.jobqueue where type = 'type_1' and state = 'ready' limit 5)", int64(e.me))
	observer := desk(e, NewMetrics)
	conn, err := observer.conn.way.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, statistics := range []string{"of an empty table", "fresh"} {
		if plan, pages := planned(t, conn, gaugesSQL); pages > 2000 || strings.Contains(plan, `"Seq Scan"`) {
			t.Errorf("with statistics %s it reads %d pages:\n%s", statistics, pages, plan)
		}
		e.exec("analyze bellhop.jobqueue")
	}
	list, usage, err := observer.Gauges(t.Context())
	if err != nil || usage < 0 || usage > 1 {
		t.Fatalf("%v, %v", usage, err)
	}
	var ready, held, running int64
	for _, g := range list {
		switch g.State {
		case "ready":
			ready += g.N
		case "held":
			held += g.N
		case "running":
			running += g.N
		default:
			t.Errorf("%+v", g)
		}
	}
	if ready != 95 || held != 10 || running != 5 {
		t.Errorf("%d ready, %d held, %d running", ready, held, running)
	}
}

// Rows that nobody sees yet are not walked to find out whether anybody has locks, where somebody has.
func TestPlans_UpkeepOfLocksBesideALargeInsert(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	holder := e.insert("type, locks", "'cat', '{c:1=exclusive}'")
	e.exec("insert into bellhop.lock_grant (level, name, job, fence, mode) values ('c', '1', $1, 0, 'exclusive')", int64(holder))
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `insert into bellhop.jobqueue (type, priority, locks)
		select 'cat', -1, '{c:1=exclusive}' from generate_series(1, 100000)`); err != nil {
		t.Fatal(err)
	}
	planned(t, e.conn, "select bellhop.locks_upkeep(0)") // reads the catalogs
	plan, pages := planned(t, e.conn, "select bellhop.locks_upkeep(0)")
	if t.Logf("it reads %d pages", pages); pages > 200 { // the rows are on thousands
		t.Errorf("it reads %d pages:\n%s", pages, plan)
	}
}

// The hot statements walk their indexes however long the queue is, whatever the
// statistics say: those of an empty table, right after a bulk insert, or fresh.
func TestPlans_HotStatementsKeepToTheirIndexes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("analyze bellhop.jobqueue")
	e.exec("insert into bellhop.jobqueue (type, priority) select 'cat', g % 40 - 20 from generate_series(1, 100000) g")
	e.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'cat', 'succeeded', 1, 1, clock_timestamp(), clock_timestamp(), 0 from generate_series(1, 100000)`)
	e.exec("update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, instance = $1 where id <= 10",
		int64(e.me))
	connect := func(c *connection) *pgx.Conn {
		conn, err := c.way.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	claimer, recorder := connect(e.claimer.conn), connect(e.recorder.conn)
	me := fmt.Sprint(int64(e.me))
	list := func(n int, value, of string) string {
		return "array[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]::" + of + "[]"
	}
	tenIDs, tenFences := "array[1,2,3,4,5,6,7,8,9,10]::bigint[]", list(10, "1", "bigint")
	byID := []string{"jobqueue_pkey"}
	statements := []struct {
		conn    *pgx.Conn
		name    string
		text    string
		indexes []string
		pages   int // at the most
		args    []string
	}{
		{claimer, "claim", claimSQL, []string{"jobqueue_ready"}, 600, []string{me, "'local'", "'cat'", "10", "19", "true", "-32768", "0", "7"}},
		{claimer, "claim, behind a mark", claimSQL, []string{"jobqueue_ready"}, 600, []string{me, "'local'", "'cat'", "10", "19", "true", "0", "100", "7"}},
		{claimer, "claim_many", claimManySQL, []string{"jobqueue_ready"}, 600, []string{me, "'local'", "array['cat']", "array[10]", "array['local']", "array[19]", "true", "10", "true", "array['bird']", "array[false]", "7", "array[0]"}},
		{claimer, "claim_many, of a place", claimManySQL, []string{"jobqueue_pinned"}, 600, []string{me, "'local'", "array['cat']", "array[10]", "array['local', 'disk:7']", "array[19]", "true", "10", "true", "array['bird']", "array[false]", "7", "array[0]"}},
		{claimer, "claim_above", claimAboveSQL, []string{"jobqueue_floor"}, 600, []string{me, "'local'", "array['cat']", "array[10]", "10", "pg_snapshot_xmax(pg_current_snapshot())::text", "array['90', '95']", "7", "32767", "9223372036854775807"}},
		{claimer, "below", belowSQL, []string{"jobqueue_ready"}, 3000, []string{"array['cat']", "pg_snapshot_xmax(pg_current_snapshot())::text", "array['90', '95']", "200"}},
		{claimer, "claim_only", claimOnlySQL, []string{"jobqueue_ready"}, 900, []string{me, "'local'", "array['cat', 'rjm']", "array[10, 10]", "array['local']", "array[19, 19]", "true", "10", "true", "'a'", "null", "array[-20]", "array[false, false]", "7", "array[0, 0]"}},
		{claimer, "backlog", backlogSQL, []string{"jobqueue_ready", "jobqueue_pinned"}, 60, []string{"array['cat', 'bird']", "array['local', 'disk:7']", "10"}},
		{recorder, "settle_succeeded", succeededSQL, byID, 500, []string{me, tenIDs, tenFences, list(10, "'c'", "text"), list(10, "0", "int"), list(10, "0", "int")}},
		{recorder, "settle", settleSQL, byID, 400, []string{me, tenIDs, tenFences, list(10, "'failed'", "text"), list(10, "1", "int"), list(10, "'e'", "text"), list(10, "'c'", "text"),
			list(10, "0", "int"), list(10, "0", "bigint"), list(10, "false", "bool"), list(10, "0", "int"), list(10, "-1", "bigint"), list(10, "-1", "bigint"), list(10, "-1", "bigint"),
			list(10, "null", "text"), list(10, "null", "text"), list(10, "null", "text")}},
		{recorder, "settle_result", resultSQL, byID, 500, []string{me, tenIDs, tenFences, list(10, "'c'", "text"), list(10, "0", "int"), list(10, "0", "int"), list(10, "'{}'", "text"), list(10, "'no_data'", "text"), list(10, "0", "int")}},
		{recorder, "how_far", howFarSQL, byID, 400, []string{me, tenIDs, tenFences, list(10, "0.5", "real"), list(10, "'page'", "text")}},
		{recorder, "requeue", requeueSQL, byID, 400, []string{me, tenIDs, tenFences, list(10, "''", "text"), list(10, "''", "text"), list(10, "'h'", "text"), list(10, "'c'", "text"),
			list(10, "null", "bigint"), list(10, "null", "bigint"), list(10, "0", "bigint")}},
		{recorder, "start", startSQL, byID, 400, []string{me, tenIDs, tenFences, list(10, "1000", "bigint"), list(10, "null", "bigint")}},
		{claimer, "claims_of", claimsOfSQL, byID, 60, []string{me, tenIDs}},
		{claimer, "claims", claimsSQL, []string{"jobqueue_taken"}, 60, []string{me}},
		{recorder, "reassert", reassertSQL, byID, 400, []string{me, tenIDs, tenFences, list(10, "1", "int"), list(10, "'local'", "text"), list(10, "now()", "timestamptz")}},
		{recorder, "settled_already", alreadySQL, byID, 400, []string{me, tenIDs, tenFences, "true"}},
	}
	for _, statistics := range []string{"of an empty table", "fresh"} {
		for _, s := range statements {
			planned(t, s.conn, s.text, s.args...) // what a session reads of the catalog at its first call does not count
			plan, pages := planned(t, s.conn, s.text, s.args...)
			walks := slices.ContainsFunc(s.indexes, func(index string) bool { return strings.Contains(plan, `"`+index+`"`) })
			if !walks || strings.Contains(plan, `"Seq Scan"`) || strings.Contains(plan, `"Bitmap Heap Scan"`) {
				t.Errorf("%s with statistics %s does not walk %v:\n%s", s.name, statistics, s.indexes, plan)
			}
			// Two lists of 2000 joined row by row take seconds.
			if s.conn == recorder && strings.Contains(plan, `"Nested Loop"`) && !strings.Contains(s.text, "bellhop.instance") {
				t.Errorf("%s with statistics %s joins row by row:\n%s", s.name, statistics, plan)
			}
			if pages > s.pages {
				t.Errorf("%s with statistics %s reads %d pages, allowed are %d:\n%s", s.name, statistics, pages, s.pages, plan)
			}
			t.Logf("%s, statistics %s: %d pages", s.name, statistics, pages)
		}
		e.exec("analyze bellhop.jobqueue")
	}
}

// One job among many is explained by what its indexes say, whatever holds it
// back; and so are the marks of all.
func TestPlans_ExplainReadsNoQueue(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type, priority) select 'cat', g % 40 - 20 from generate_series(1, 100000) g")
	e.exec("insert into bellhop.jobqueue (type, run_on) select 'dog', 'disk:' || g % 50 from generate_series(1, 20000) g")
	e.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'cat', 'succeeded', 1, 1, clock_timestamp(), clock_timestamp(), 0 from generate_series(1, 100000)`)
	e.exec("update bellhop.host set only_priorities = '{0}'")
	id := func(which string) string { return e.one("select id from bellhop.jobqueue where " + which) }
	first := id("type = 'cat' and state = 'ready' order by priority, id limit 1")
	last := id("type = 'cat' and state = 'ready' order by priority desc, id desc limit 1")
	placed := id("type = 'dog' order by id desc limit 1")
	over := id("state = 'succeeded' limit 1")
	observer, maintenance := desk(e, NewMetrics), e.maintenance
	connect := func(c *connection) *pgx.Conn {
		conn, err := c.way.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	looks, marks := connect(observer.conn), connect(maintenance.conn)
	// A session reads from the catalog, once, each function that an explanation
	// calls: that costs 1,400 pages and more, and is not the queue.
	for _, job := range []string{first, last, placed, over} {
		if _, err := looks.Exec(t.Context(), sql.Query("look_explain"), job); err != nil {
			t.Fatal(err)
		}
	}
	for _, statistics := range []string{"of an empty table", "fresh"} {
		for _, s := range []struct {
			conn  *pgx.Conn
			name  string
			text  string
			pages int // at the most
			args  []string
		}{
			{looks, "explain the first", sql.Query("look_explain"), 1500, []string{first}},
			{looks, "explain the last", sql.Query("look_explain"), 1500, []string{last}}, // counts no more than 10,000 that come first
			{looks, "explain one of a place", sql.Query("look_explain"), 1500, []string{placed}},
			{looks, "explain what is over", sql.Query("look_explain"), 300, []string{over}},
			{marks, "waiting", waitingSQL, 12000, []string{"1000", "200", "''", "500"}},
			{marks, "marked", explainedSQL, 1500, []string{"'cat'", "null", "'no_room'", "1000", "null", "null"}},
			{marks, "marked, of a priority", explainedSQL, 1500, []string{"'cat'", "null", "null", "1000", "7", "null"}},
			{marks, "unexplained", unexplainedSQL, 3000, []string{"array['cat', 'dog']", "array[null, 'disk:7']"}},
		} {
			plan, pages := planned(t, s.conn, s.text, s.args...)
			t.Logf("%s, statistics %s: %d pages", s.name, statistics, pages)
			if pages > s.pages {
				t.Errorf("%s with statistics %s reads %d pages, allowed are %d:\n%s", s.name, statistics, pages, s.pages, plan)
			}
		}
		e.exec("analyze bellhop.jobqueue")
	}
}

// listing is a query of a list of jobs as it is sent, with these columns.
func listing(name, columns string) string {
	return strings.ReplaceAll(sql.Query(name), "{columns}", columns)
}

// A page reads a page's worth of rows, however many are finished, and whatever the statistics say.
func TestPlans_PagesProbeForTheirRows(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, key, state, attempt, fence, started_at, ended_at, exit_code)
	        select 'cat', 'k' || g, case when g % 50 = 0 then 'failed' else 'succeeded' end, 1, 1, clock_timestamp(), clock_timestamp(), 0
	          from generate_series(1, 100000) g`)
	e.exec("insert into bellhop.jobqueue (type) select 'type_' || g % 5 from generate_series(1, 5000) g")
	visitors, err := view.NewVisitors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(visitors.Close)
	conn, err := pgx.ConnectConfig(t.Context(), visitors.Pool().Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	open := "'{held,blocked,scheduled,ready,assigned,running,failed,quarantined}'"
	all, _ := planned(t, e.conn, "select id from bellhop.jobqueue where exit_code = 77")
	if !readsAll(t, all, "jobqueue") {
		t.Fatalf("what reads all rows is not seen to:\n%s", all)
	}
	for _, statistics := range []string{"of an empty table", "fresh"} {
		for _, s := range []struct {
			name, text string
			most       int // pages of the database, each 8 kB: all of the queue are some 2,500, and as many of indexes
			args       []string
		}{
			{"graph", sql.Query("look_graph"), 300, []string{"500", "40"}},
			{"needs", sql.Query("look_needs"), 300, []string{"500", "20"}},
			{"locks", sql.Query("look_locks"), 600, []string{"20"}},
			{"jobs of few", listing("page_jobs", "j.*"), 800, []string{"'{failed}'", "null", "null", "null", "null", "2000", "51", "null", "null", "null"}},
			{"arrivals", sql.Query("page_arrivals"), 600, []string{"'cat'"}},
			{"how long steps take", sql.Query("page_usual"), 300, []string{"'nightly'", "9"}},
			{"the last runs", sql.Query("page_grid"), 300, []string{"'nightly'"}},
			{"the last runs of each", sql.Query("page_last_runs"), 300, nil},
			{"what comes", sql.Query("page_coming"), 300, nil},
			{"failures", sql.Query("page_failed"), 300, []string{"50", "null", "null"}},
			{"failures of an hour", sql.Query("page_failed"), 300, []string{"50", "3600", "60"}},
			{"jobs of many", listing("page_jobs", "j.*"), 600, []string{open, "null", "null", "null", "null", "2000", "51", "null", "null", "null"}},
			{"the newest jobs", listing("web_jobs", "j.*"), 600, []string{"null", open, "null", "null", "null", "null", "null", "null", "null", "50"}},
		} {
			planned(t, conn, s.text, s.args...) // a function plans at its first call, and reads the catalog
			if plan, pages := planned(t, conn, s.text, s.args...); pages > s.most || readsAll(t, plan, "jobqueue") {
				t.Errorf("%s, with statistics %s, reads %d pages:\n%s", s.name, statistics, pages, plan)
			}
		}
		e.exec("analyze bellhop.jobqueue")
	}
}
