package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/sql/view"
)

// recorded are the changes since the last call, one a line: verb, thing, name, result.
func (e *env) recorded() string {
	e.Helper()
	said := e.one(`(select coalesce(string_agg(concat_ws(' | ', verb, thing, name, result), E'\n' order by id), '')
		from bellhop.change)`)
	e.exec("delete from bellhop.change")
	return said
}

// Each change leaves one row, whatever it takes along; what changes nothing, or is refused, leaves none.
func TestChanges_OneForEachVerb(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.insert("type, args", "'cat', 'secret'")
	e.needs(first)
	e.exec(`update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now()
		where id = $1`, int64(first))
	e.exec("select bellhop.pause('other')")
	e.recorded()
	for _, c := range []struct{ order, want string }{
		{"bellhop.retry(1)", "retry | job | 1 | failed → ready"},
		{"bellhop.retry(1)", ""},
		{"bellhop.edit(1, priority => 3)", "priority | job | 1 | priority 3"},
		{"bellhop.edit(1, args => 'another secret', vars => '{}')", "edit | job | 1 | args, vars"},
		{"bellhop.edit(1)", ""},
		{"bellhop.edit(1, hold => true)", "hold | job | 1 | ready → held; held"},
		{"bellhop.release(1)", "release | job | 1 | held → ready"},
		{"bellhop.release(1)", ""},
		{"bellhop.cancel(1)", "cancel | job | 1 | ready → cancelled"},
		{"bellhop.cancel(1)", ""},
		{"bellhop.cancel(99)", ""},
		{"bellhop.retry_behind(1)", "behind | job | 1 | 2 jobs to be tried again"},
		{"bellhop.killjob(1)", "killjob | job | 1 | ready → failed"},
		{"bellhop.pause('cat')", "pause | type | cat | paused"},
		{"bellhop.resume('cat')", "resume | type | cat | resumed"},
		{"bellhop.resume('cat')", ""},
		{"bellhop.share_set('cat', 'acme', 2)", "share set | type | cat | weight 2 of acme"},
		{"bellhop.manager('stop')", "manager stop | instance"},
		{
			`bellhop.workflow_apply('{"workflow": "w", "steps": [{"name": "a", "type": "cat"}]}')`,
			"apply | workflow | w | version 1, created",
		},
		{"bellhop.workflow_run('w')", "run | workflow | w | run 1"},
		{"bellhop.workflow_change('w', 'deactivated')", "deactivate | workflow | w | version 2, deactivated"},
		{"bellhop.filter_replace('f', 'RATE_LIMIT 2')", "filter replace | filter | f | RATE_LIMIT 2"},
		{"bellhop.filter_delete('f')", "filter delete | filter | f | deleted"},
		{"bellhop.filter_delete('f')", ""},
		{"bellhop.notice_rule_add(mail => '{a@example.org}')", "rule | rule | 1 | failed"},
		{"bellhop.notice_rule_delete(1)", "unrule | rule | 1 | deleted"},
		{"bellhop.notice_rule_delete(1)", ""},
		{`bellhop.operation_plan('retry', '{"id": [1]}')`, "plan | operation | 1 | retry of 1 jobs"},
		{"bellhop.operation_start(1)", "start | operation | 1 | running"},
		{"bellhop.operation_step(1)", ""},
		{"bellhop.submit('cat')", ""},
		{"bellhop.submit('command', 'pause dog')", "command | job | {} | pause dog"},
	} {
		got := e.one(c.order + "::text")
		if said := e.recorded(); said != strings.ReplaceAll(c.want, "{}", got) {
			t.Errorf("%s is recorded as %q, not %q", c.order, said, c.want)
		}
	}
	e.exec("select bellhop.obey($1)", int64(e.me))
	e.exec("insert into bellhop.worker_type values ('app', 'cat')")
	e.exec("delete from bellhop.worker_type")
	const want = "worker_type | login | app | may take cat\nworker_type | login | app | may not take cat any more"
	if said := e.recorded(); said != want {
		t.Errorf("it is recorded as %q, not %q", said, want)
	}
	e.mustWrite(succeeded(e.running()))
	if said := e.recorded(); said != "" {
		t.Errorf("what an instance does is recorded as %q", said)
	}
}

// A change has the name of the login, whatever that says of itself. Only a login that schedules may name its caller.
func TestChanges_By(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	app := e.submitter("app")
	for _, c := range []struct {
		conn *pgx.Conn
		want string
	}{{app, "app login app"}, {e.conn, "ann@example.org oidc"}} {
		e.by(c.conn, "select set_config('bellhop.actor', 'ann@example.org', false)")
		e.by(c.conn, "select set_config('bellhop.via', 'oidc', false)")
		id := e.by(c.conn, "select bellhop.submit('cat')::text")
		e.by(c.conn, "select bellhop.cancel($1::bigint)", id)
		got := e.one("(select concat_ws(' ', by, via, role) from bellhop.change order by id desc limit 1)")
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("it is by %q, not %q", got, c.want)
		}
	}
	for _, text := range []string{
		"select * from bellhop.change",
		"insert into bellhop.change (by, via, role, verb, thing) values ('x', 'x', 'x', 'x', 'x')",
		"delete from bellhop.change",
		"select bellhop.changed('x', 'x', 'x', 'x')", "select bellhop.changed_job('x', 1, 'a', 'b')",
	} {
		if _, err := app.Exec(t.Context(), text); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// They are listed by pages, and kept for 90 days.
func TestChanges_PagesAndRetention(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.change (at, by, via, role, verb, thing, name)
		select now() - g * interval '30 d', case when g % 2 = 0 then 'ann' else 'ben' end, 'login', 'r', 'cancel', 'job', (g % 3)::text
		from generate_series(5, 0, -1) g`)
	ids := func(f view.ChangeFilter, most int) (list []int64) {
		t.Helper()
		rows, err := view.NewLook(e.conn).Changes(t.Context(), f, most)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			list = append(list, r.ID)
		}
		return list
	}
	for _, c := range []struct {
		filter view.ChangeFilter
		most   int
		want   []int64
	}{
		{view.ChangeFilter{}, 3, []int64{6, 5, 4}},
		{view.ChangeFilter{Before: 4}, 9, []int64{3, 2, 1}},
		{view.ChangeFilter{By: "ann"}, 9, []int64{6, 4, 2}},
		{view.ChangeFilter{By: "ann", Before: 6}, 1, []int64{4}},
		{view.ChangeFilter{Thing: "job", Name: "2"}, 9, []int64{4, 1}},
		{view.ChangeFilter{By: "eve"}, 9, nil},
	} {
		if got := ids(c.filter, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, not %v", c.filter, got, c.want)
		}
	}
	e.keeps(e.retention(KeepAll{Every: time.Hour}))
	if got := ids(view.ChangeFilter{}, 9); !slices.Equal(got, []int64{6, 5, 4}) {
		t.Errorf("after 90 days there are %v", got)
	}
	if e.exec("select bellhop.retain_changes(7776000000, 2)"); !slices.Equal(ids(view.ChangeFilter{}, 9), []int64{6, 5}) {
		t.Errorf("of the newest two there are %v", ids(view.ChangeFilter{}, 9))
	}
}
