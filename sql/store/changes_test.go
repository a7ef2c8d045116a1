package store

import (
	"regexp"
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

// recordedOrder is a call, and what is recorded of it: verb, thing, name, result; {} stands for what it returns.
// Empty: nothing.
type recordedOrder struct{ order, want string }

// recordedOrders are calls one after the other, at first of a job 1 that has failed.
var recordedOrders = []recordedOrder{
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
}

// moreOrders are those that need something first: statements of which nothing is expected begin with "!".
var moreOrders = []recordedOrder{
	{"bellhop.promise(1, '2999-01-01 06:00Z')", "promise | job | 1 | by 2999-01-01 06:00:00 UTC"},
	{"!insert into bellhop.loss (instance, name, was, server, gone, again) values (1, 'first', 'a', 'b', 1, 0)", ""},
	{"bellhop.loss_seen()", "loss_seen | loss | 1 losses read"},
	{"bellhop.loss_seen()", ""},
	{`!insert into bellhop.notice (run, workflow, project, state, ended_at, channel, target, needs, until, status)
		select 1, 'w', '', 'failed', now(), 'mail', 'a', 'mail', now(), s from unnest('{given_up,sent}'::text[]) s`, ""},
	{"bellhop.notice_again(1)", "again | message | 1 | given_up → waiting"},
	{"bellhop.notice_again(1)", "again | message | 1 | sent at once"},
	{"bellhop.notice_again(2)", ""},
	{"bellhop.notice_again(3)", ""},
	{"!select bellhop.notice_rule_add(mail => '{a@example.org}')", ""},
	{"bellhop.notice_rule_change(1, mail => '{b@example.org}')", "rule edit | rule | 1 | version 2"},
	{"bellhop.notice_rule_test(1)", "ruletest | rule | 1 | 1 messages"},
	{"bellhop.filter_add('RATE_LIMIT 2')", "filter add | filter | {} | RATE_LIMIT 2"},
	{`!select bellhop.operation_start(bellhop.operation_plan('hold', '{"id": [1]}'))`, ""},
	{"bellhop.operation_stop(1)", "stop | operation | 1 | stopped"},
	{"bellhop.operation_undo(1)", "undo | operation | 1 | 0 jobs as they were"},
	{"!update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now() where id = 1", ""},
	{"!insert into bellhop.saved_step (job, name, output, bytes) values (1, 'pay', '1', 1)", ""},
	{"bellhop.retry_from(1, 'pay')", "retry_from | job | 1 | failed → ready"},
	{"bellhop.retry_from(1, 'pay')", ""},
	{`!select bellhop.workflow_apply('{"workflow": "w", "steps": [{"name": "a", "type": "cat"}]}')`, ""},
	{"!select bellhop.workflow_run('w')", ""},
	{"!select bellhop.killjob(job) from bellhop.run_step", ""},
	{"bellhop.workflow_retry(1)", "rerun | run | 1 | 1 steps go on"},
	{"!create table archive (job bigint, \"row\" jsonb)", ""},
	{"!insert into bellhop.jobqueue (type) values ('a'), ('b'), ('c')", ""},
	{"!select bellhop.cancel(id) from bellhop.jobqueue where type in ('a', 'b', 'c')", ""},
	{
		"(select count(*) from bellhop.prune_jobs(null, null, '{cancelled}', 0, 1, false, false))",
		"prune | job | 1 jobs deleted",
	},
	{"bellhop.prune('-1 s', '{cancelled}', 0, 1)", "prune | job | 1 jobs deleted"},
	{"bellhop.prune_into('public.archive', null, null, '{cancelled}', 0, 1)", "prune | job | 1 jobs deleted"},
	{"bellhop.prune('-1 s', '{cancelled}', 0, 1)", ""},
	{"!create table rows_ (id int primary key, dispatch timestamptz)", ""},
	{"bellhop.attach('rows_', 'cat', pool => 2)", "attach | attachment | rows_ | pool 2"},
	{"bellhop.attach('rows_', 'cat', pool => 3)", "attach | attachment | rows_ | pool 2 → 3"},
	{"bellhop.attach('rows_', 'cat', pool => 3)", ""},
	{"bellhop.detach('rows_')", "detach | attachment | rows_ | detached"},
}

// unrecorded are the functions for operators that may write, and leave no row, and why.
var unrecorded = map[string]string{
	"submit":           "a submission",
	"batch":            "a submission",
	"batch_add":        "part of a submission",
	"rjm_setup":        "a submission",
	"workflow_event":   "a submission, by a sensor",
	"workflow_http":    "a submission, by a sensor",
	"emit":             "what a job tells others",
	"kick":             "it only has instances look again",
	"wait":             "it only waits",
	"sign_in":          "a link for the caller alone: what comes of it is recorded under the same login",
	"operation_step":   "an operation is one change, which operation_start has recorded",
	"attach_under":     "part of attach",
	"carry_out":        "part of attach",
	"detach_under":     "part of detach",
	"leave_attachment": "part of detach",
	"lock_attachment":  "part of detach",
	"turn_rows":        "the work of an attachment",
	"turn_under":       "the work of an attachment",
}

// records checks what is recorded of a call.
func (e *env) records(order, want string) {
	e.Helper()
	if statement, is := strings.CutPrefix(order, "!"); is {
		e.exec(statement)
		e.recorded()
		return
	}
	got := e.one(order + "::text")
	if said := e.recorded(); said != strings.ReplaceAll(want, "{}", got) {
		e.Errorf("%s is recorded as %q, not %q", order, said, want)
	}
}

// Law: each function that operators may call, and that may write, leaves a row, or is named among those that do not.
// A function that cannot write is stable or immutable.
func TestChanges_EachFunctionForOperatorsLeavesOne(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.insert("type", "'cat'")
	proven := map[string]bool{}
	for _, c := range slices.Concat(recordedOrders, moreOrders) {
		for _, called := range regexp.MustCompile(`bellhop\.(\w+)\(`).FindAllStringSubmatch(c.order, -1) {
			proven[called[1]] = proven[called[1]] || c.want != "" && called[1] != "submit"
		}
	}
	names := strings.Fields(e.one(`select string_agg(distinct p.proname, ' ') from pg_proc p
		where p.pronamespace = 'bellhop'::regnamespace and p.provolatile = 'v' and p.prorettype <> 'trigger'::regtype
		  and has_function_privilege('bellhop_operator', p.oid, 'execute')`))
	if len(names) < 40 {
		t.Fatalf("operators may call only %v", names)
	}
	for _, name := range names {
		if _, left := unrecorded[name]; left == proven[name] {
			t.Errorf("bellhop.%s: a row in bellhop.change %v, an exception %v: it is one of the two", name, proven[name], left)
		}
	}
	for name := range unrecorded {
		if !slices.Contains(names, name) {
			t.Errorf("%s is an exception, and no function for operators that may write", name)
		}
	}
	for _, c := range moreOrders {
		e.records(c.order, c.want)
	}
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
	for _, c := range recordedOrders {
		e.records(c.order, c.want)
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
