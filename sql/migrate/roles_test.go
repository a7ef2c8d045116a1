package migrate_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// denied says that PostgreSQL must not let a login do something.
func denied(t *testing.T, conn *pgx.Conn, text string, args ...any) {
	t.Helper()
	if code, _ := refusal(t, conn, text, args...); code != "42501" { // insufficient_privilege
		t.Errorf("%s: SQLSTATE %q, want it denied", text, code)
	}
}

func TestRoles_SubmitterSubmitsAndSeesNothing(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	conn := login(t, admin, url, "bellhop_submitter")
	first := one[int64](t, conn,
		"select bellhop.submit('cat', 'secret', key => 'k', priority_name => 'b', vars => '{\"A\":\"1\"}')")
	second := one[int64](t, conn,
		`insert into bellhop.jobqueue (type, msq, run_on, priority, run_at, held, vars, locks, reasons, max_attempts, timeout, on_failure)
		values ('cat', 'select 1', 'big1', -3, now() + interval '1 hour', true, '{}', '{}', '{r}', 3, '1 min', 'run') returning id`)
	if first == 0 || second <= first {
		t.Errorf("ids %d and %d", first, second)
	}
	if again := one[int64](t, conn, "select bellhop.submit('cat', 'secret', key => 'k', priority_name => 'b', vars => '{\"A\":\"1\"}')"); again != first {
		t.Errorf("the same key with the same content: %d, want %d", again, first)
	}
	exec(t, conn, "select bellhop.kick()")
	// The triggers do what the submitter itself may not.
	if state := one[string](t, admin, "select state from bellhop.jobqueue where id = $1", second); state != "held" {
		t.Errorf("a held one is %s", state)
	}
	if p := one[int](t, admin, "select priority from bellhop.jobqueue where id = $1", first); p != -12 {
		t.Errorf("priority of b is %d", p)
	}

	for _, column := range []string{"state", "attempt", "fence", "host", "instance", "created_at", "started_at",
		"ended_at", "exit_code",
		"error", "items_total", "waiting_for", "cancel_requested", "deaths", "child"} {
		denied(t, conn, "insert into bellhop.jobqueue (type, "+column+") values ('cat', null)")
		denied(t, conn, "select "+column+" from bellhop.jobqueue")
	}
	denied(t, conn, "insert into bellhop.jobqueue (type, args) values ('cat', 'x') returning args")
	denied(t, conn, "select args from bellhop.jobqueue")
	denied(t, conn, "select * from bellhop.every_job")
	denied(t, conn, "update bellhop.jobqueue set priority = -20")
	denied(t, conn, "delete from bellhop.jobqueue")
	denied(t, conn, "truncate bellhop.jobqueue")
	denied(t, conn, "select bellhop.killjob(1)")
	denied(t, conn, "select bellhop.pause('cat')")
	denied(t, conn, "select * from bellhop.log")
	denied(t, conn, "insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag) values ('x', 'x', 'x', 1, 'x', 'x', '1 s')")
	denied(t, conn, "create table bellhop.mine (id int)")
}

func TestRoles_ReaderSeesNoPayload(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	conn := login(t, admin, url, "bellhop_reader")
	exec(t, admin, "insert into bellhop.jobqueue (type, args, vars) values ('cat', 'secret', '{\"PASSWORD\":\"secret\"}'), ('cat', 'secret too', null)")
	if n := one[int](t, conn, "select count(*) from bellhop.job where type = 'cat' and state = 'ready'"); n != 2 {
		t.Errorf("it sees %d jobs", n)
	}
	if text := one[string](t, conn, "select string_agg(j::text, ' ') from bellhop.job j"); len(text) == 0 ||
		strings.Contains(text, "secret") {
		t.Errorf("it sees %s", text)
	}
	for _, ok := range []string{"attempt", "instance", "host", "agent", "child", "schema_version"} {
		exec(t, conn, "select * from bellhop."+ok)
	}
	for _, no := range []string{"jobqueue", "log", "item", "attempt_past"} {
		denied(t, conn, "select * from bellhop."+no)
	}
	denied(t, conn, "insert into bellhop.jobqueue (type) values ('cat')")
	denied(t, conn, "select bellhop.submit('cat')")
	denied(t, conn, "update bellhop.job set state = 'succeeded'")
}

func TestRoles_OperatorChangesJobsByFunctionOnly(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	conn := login(t, admin, url, "bellhop_operator")
	id := one[int64](t, conn, "select bellhop.submit('cat', 'x', held => true)")
	for _, step := range []struct{ call, state string }{
		{"release", "ready"}, {"cancel", "cancelled"}, {"cancel", "cancelled"}, {"retry", "ready"}, {"retry", "ready"}, {"release", "ready"},
	} {
		if got := one[string](t, conn, "select bellhop."+step.call+"($1)", id); got != step.state {
			t.Errorf("after %s the job is %s, want %s", step.call, got, step.state)
		}
	}
	if got := one[*string](t, conn, "select bellhop.cancel(999999)"); got != nil {
		t.Errorf("cancelling what is not there: %s", *got)
	}
	if args := one[string](t, conn, "select args from bellhop.jobqueue where id = $1", id); args != "x" {
		t.Errorf("args %s", args)
	}
	denied(t, conn, "update bellhop.jobqueue set state = 'succeeded'")
	denied(t, conn, "delete from bellhop.log")
}

func TestRoles_SchedulerHasAllThatItsStatementsNeed(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	conn := login(t, admin, url, "bellhop_scheduler")
	for _, text := range []string{
		"insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag) values ('x', 'x', 'x', 1, 'x', 'x', '1 s') returning id",
		"insert into bellhop.jobqueue (type) values ('cat')",
		"update bellhop.jobqueue set state = 'running', fence = 1, attempt = 1",
		"insert into bellhop.log (job, level, line) values (1, 'info', 'x')",
		"insert into bellhop.item (job, fence, item, line, tries) values (1, 1, 1, 'x', 3)",
		"delete from bellhop.jobqueue",
		"select bellhop.kick()",
		"listen bellhop",
	} {
		exec(t, conn, text)
	}
}
