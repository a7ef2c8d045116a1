package store

import (
	"context"
	"testing"

	"bellhop/sql"

	"github.com/jackc/pgx/v5"
)

// A search of runs reads so many as one statement may, whatever it filters by and however many runs there are.
func TestPlans_SearchOfRunsReadsItsPart(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.workflow (name, project, active, version, definition, changed_by) values ('w-1', 'demo', true, 1, '{}', 'me')")
	e.exec("analyze bellhop.run")
	e.exec(`insert into bellhop.run (workflow, version, triggered_by, state, created_at, ended_at)
	        select 'w-' || g % 50, 1, 'sensor cron', case when g % 100 = 0 then 'failed' else 'succeeded' end, now(), now() from generate_series(1, 400000) g`)
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	const part = 100000 // runsAtOnce
	any := []string{"null", "null", "null", "null", "null", "null", "null"}
	with := func(i int, value string) []string {
		list := append([]string{"400000", "300000", "20"}, any...)
		list[2+i] = value
		return list
	}
	for _, statistics := range []string{"of an empty table", "fresh"} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			if _, err := conn.Exec(t.Context(), "set plan_cache_mode = "+mode); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				what  string
				args  []string
				pages int
			}{
				{"all", append([]string{"400000", "300000", "20"}, any...), 30},
				{"a pattern", with(1, "array['W-7']"), 100},
				{"a pattern that nothing is like", with(1, "array['x-%']"), part / 25},
				{"a project", with(2, "'demo'"), part / 25},
				{"states that none has", with(3, "array['queued']"), part / 25},
				{"who triggered them", with(4, "array['anna%']"), part / 25},
				{"a time", with(5, "now() + interval '1 d'"), part / 25},
				{"a workflow", with(7, "'none'"), part / 25},
			} {
				plan, pages := planned(t, conn, sql.Query("look_runs_search"), c.args...)
				if statistics != "fresh" { // then it may sort its part, and not walk the index backwards until it has enough
					c.pages = max(c.pages, part/25)
				}
				if pages > c.pages { // all runs are 6,000 pages, and more
					t.Errorf("%s, %s, with statistics %s: it reads %d pages:\n%s", c.what, mode, statistics, pages, plan)
				}
			}
		}
		e.exec("analyze bellhop.run")
	}
}
