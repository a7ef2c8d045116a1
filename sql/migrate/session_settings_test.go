package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/sql"
	"bellhop/triggers"
)

// sessionSettings are what a session may have set, or its role or its database for it, with a value of each that
// changes how PostgreSQL reads or writes. docs/production.md has the same list.
var sessionSettings = []string{
	"standard_conforming_strings = off", "backslash_quote = off", "escape_string_warning = off", "quote_all_identifiers = on",
	"transform_null_equals = on", "array_nulls = off", "search_path = ''", "datestyle = 'German, DMY'", "intervalstyle = iso_8601",
	"timezone = 'Pacific/Kiritimati'", "extra_float_digits = -15", "bytea_output = escape", "client_encoding = latin1", "row_security = off",
	"search_path = public, pg_temp, pg_catalog", "datestyle = 'SQL, MDY'", "intervalstyle = sql_standard", "xmloption = document",
	"check_function_bodies = off", "jit = on", "jit_above_cost = 0", "plan_cache_mode = force_generic_plan",
	"default_transaction_isolation = 'repeatable read'", "default_transaction_deferrable = on", "synchronous_commit = off",
	"idle_session_timeout = '1h'", "idle_in_transaction_session_timeout = '1h'",
	"default_transaction_isolation = serializable", "statement_timeout = '1h'", "lock_timeout = '1h'", "lc_monetary = 'C.UTF-8'",
	"lc_numeric = 'C.UTF-8'", "lc_time = 'C.UTF-8'", "default_toast_compression = pglz", "constraint_exclusion = on",
	"plpgsql.extra_errors = 'all'", "plpgsql.extra_warnings = 'all'", "client_min_messages = error", "enable_nestloop = off",
	"enable_seqscan = off", "work_mem = '64kB'",
}

// submitterDoes is what apps do, and operatorDoes what operators do: both right and wrong. $1, $2: two jobs of the
// session's own.
var submitterDoes = []string{
	`insert into bellhop.jobqueue (type, args) values ('a', e'C:\\dir "x" ''y''')`,
	`insert into bellhop.jobqueue (type, msq, repeat) values ('a', 'select 1 limit 1', 'once')`,
	`insert into bellhop.jobqueue (type, msq) values ('a', e' \n')`,
	`insert into bellhop.jobqueue (type, args) values ('a', e'x\ny')`,
	`insert into bellhop.jobqueue (type, args, msq) values ('a', 'x', 'select 1')`,
	`insert into bellhop.jobqueue (type, run_on) values ('a', 'big1'), ('a', e'*_\\')`,
	`insert into bellhop.jobqueue (type, priority_name, held) values ('a', 'n', true), ('a', 'urgent', false)`,
	`insert into bellhop.jobqueue (type, priority_name) values ('a', '!')`,
	`insert into bellhop.jobqueue (type, run_at, not_after) values ('a', now() + interval '1 h', now() + interval '2 h')`,
	`insert into bellhop.jobqueue (type, timeout, max_attempts) values ('a', '90 s', 3)`,
	`insert into bellhop.jobqueue (type, timeout) values ('a', '-1 s')`,
	`insert into bellhop.jobqueue (type, vars) values ('a', '{"A": "1", "B": null}')`,
	`insert into bellhop.jobqueue (type, vars) values ('a', e'{"A": "\\\\ \\" x"}')`,
	`insert into bellhop.jobqueue (type, locks, reasons) values ('a', '{disk:7=shared,node:*=exclusive}', '{"rate-limit:2:x"}')`,
	`insert into bellhop.jobqueue (type, locks) values ('a', e'{disk:\\\\=shared}'), ('a', '{disk}')`,
	`insert into bellhop.jobqueue (type, args) values ('command', 'pause a')`,
	`insert into bellhop.dependency (job, needs) values ($1, $2)`,
	`insert into bellhop.dependency (job, needs) values ($2, $1)`,
	`select bellhop.submit('a', e'\\', key => e'k\\1', locks => '{disk:7=shared}', vars => '{"A": "1"}', timeout => '1 h', after => array[$2::bigint], run_at => now() + '1 d') is not null`,
	`select bellhop.submit('a', 'other', key => e'k\\1', timeout => '2 h')`,
	`select bellhop.submit('a', key => repeat('k', 2000))`,
	`select bellhop.rjm_setup('t.1', e'A=1\nB=\\', 'n') is not null, bellhop.rjm_setup('t.2', '', 'a', '{t.1}') is not null`,
	`select bellhop.rjm_setup('t.1', 'A=2')`, `select bellhop.rjm_setup('no id', '')`,
	`select bellhop.explain($1)`, `select * from bellhop.explanation($2)`, `select bellhop.explain(0)`,
	`select * from bellhop.below(array[$1::bigint], 10)`, `select bellhop.dependents(array[$1::bigint], true)`,
	`select * from bellhop.edges(array[$1::bigint])`, `select bellhop.edit($1, priority => 3)`,
	`select bellhop.cancel($1)`, `select bellhop.retry($1)`,
	`select bellhop.release($2)`, `select bellhop.kick()`,
	`select bellhop.workflow_event('w', e'order \\ 1', e'{"V": "\\\\"}')`, `select bellhop.workflow_event('w', '2026-11-25T01:00:00Z')`, `select bellhop.workflow_event('w', 'run=5')`,
	`select bellhop.workflow_http('h', 'x', '{"V": 1.50}')`,
	`create temp table rows (id int, v text, b bool, t timestamptz, i interval, f float8, y bytea, n numeric[])`,
	`create trigger e after insert on rows for each row execute function bellhop.row_event('w', 'id', 'v', 'b', 't', 'f', 'n')`,
	`insert into rows values (1, e'\\ "x"', true, '2026-11-25 02:00:00+00', '1 d', 1e-7, e'\\x00', array[1.50, null])`,
}

var operatorDoes = []string{
	`select bellhop.workflow_apply(e'{"workflow":"x-y","sensor":{"cron":"*/5 * * * MON-FRI","zone":"Europe/Prague"},"parameters":{"DAY":"${x}"},"notify":[{"mail":["a@b.cz"]}],
		"steps":[{"name":"a","type":"sh","args":"${DAY} \\\\","locks":["disk:${DAY}=shared"],"timeout":"90m"},{"name":"b","type":"sh","after":["a"]}]}')`,
	`select bellhop.workflow_apply(e'{"workflow":"x","sensor":{"cron":"61 * * *"},"steps":[{"name":" ","type":"a","args":"a\\nb","locks":["disk"],"vars":{"A":"1"}}]}')`,
	`select bellhop.workflow_run('w', '{"V": "1"}') is not null`, `select bellhop.workflow_change('w', 'deactivated')`,
	`select bellhop.filter_add('RATE_LIMIT 2 per 1m', e'[["opcode", ["=~", "type", "^a.\\\\d$"]]]', 3, 'why') is not null`, `select bellhop.filter_add('NONE', '[["opcode", ["=", "type", "a"]]]', 3, null)`,
	`select bellhop.filter_add('PAUSE', e'[["opcode", ["=~", "type", "(?=x)\\\\y"]]]', 3, 'why')`,
	`select bellhop.pause('a')`, `select bellhop.resume('a')`, `select bellhop.manager('stop', '')`,
	`select bellhop.operation_plan('cancel', '{"type": ["a"], "created_before": "2026-11-25T01:00:00Z"}') is not null`,
	`select * from bellhop.prune('1 d', '{failed}', 0, 10, true)`, `insert into bellhop.jobqueue (type, args) values ('command', 'pause a')`, `select bellhop.explain_workflow('w')`,
	`select bellhop.reason_of('agent_failed', e'msq_error: x (SQLSTATE 42P01)')`,
	`create temp table none (id int primary key, dispatch date)`, `select bellhop.attach('none', 'x', pool => 1)`,
	`select bellhop.detach('no such')`, `select * from bellhop.attachment_named(' ')`,
}

var numbers = regexp.MustCompile(`[-+]?\d+`)

// outcome is what a session is told and what it leaves, without numbers of jobs and times.
func outcome(t *testing.T, config *pgx.ConnConfig, settings, does []string) string {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, setting := range settings {
		exec(t, conn, "set "+setting)
	}
	exec(t, conn, "begin")
	one := []int64{0, 0}
	for i := range one {
		if err := conn.QueryRow(t.Context(), "insert into bellhop.jobqueue (type) values ('a') returning id").Scan(&one[i]); err != nil {
			return err.Error()
		}
	}
	var said strings.Builder
	for _, text := range does {
		text = strings.NewReplacer("$1", fmt.Sprint(one[0]), "$2", fmt.Sprint(one[1])).Replace(text)
		exec(t, conn, "savepoint s")
		rows, err := conn.Query(t.Context(), text, pgx.QueryExecModeExec)
		if err == nil {
			for rows.Next() {
				for _, v := range rows.RawValues() {
					fmt.Fprintf(&said, "%s;", v)
				}
			}
			rows.Close()
			err = rows.Err()
		}
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			fmt.Fprintf(&said, "%s %s: %s %s %s", text, refused.Code, refused.Message, refused.Hint, refused.ConstraintName)
			exec(t, conn, "rollback to s")
		} else if err != nil {
			t.Fatal(err)
		}
		said.WriteString("\n")
	}
	for _, setting := range settings {
		name, _, _ := strings.Cut(setting, "=")
		exec(t, conn, "reset "+name) // what follows is the test's
	}
	exec(t, conn, "reset role")
	return strings.ReplaceAll(numbers.ReplaceAllString(said.String(), "N"), `"bellhop_test_login_N_N"`, "bellhop_test_login_N_N") + left(t, conn)
}

// left is what stands in the queue for the session's own transaction.
func left(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	text := one[string](t, conn, `select coalesce(string_agg(concat_ws('|', j.type, j.key, j.run_on, j.state, j.priority, j.priority_name, j.held, j.locks, j.reasons, j.max_attempts,
		extract(epoch from j.timeout), extract(epoch from j.run_at - now())::int / 60, j.unmet, j.run is not null, j.step), e'\n' order by j.id), '')
		from bellhop.jobqueue j where j.created_at >= now()`)
	return text
}

// Whatever a session has set, the queue reads what it is given alike, refuses in the same words, and writes the
// same.
func TestSettings_OfASessionChangeNothing(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	for _, name := range []string{"w", "h"} {
		sensor := map[string]string{"w": "null", "h": `{"http":true}`}[name]
		exec(t, admin, fmt.Sprintf(`select bellhop.workflow_apply('{"workflow":"%s","sensor":%s,"parameters":{"V":"","B":"","T":"","F":"","N":""},"steps":[{"name":"a","type":"a"}]}')`, name, sensor))
	}
	for role, does := range map[string][]string{"bellhop_submitter": submitterDoes, "bellhop_operator": operatorDoes} {
		config := login(t, admin, url, role).Config()
		exec(t, admin, "grant select on bellhop.jobqueue to "+config.User)
		t.Cleanup(func() {
			if conn, err := pgx.Connect(context.Background(), url); err == nil {
				_, _ = conn.Exec(context.Background(), "drop owned by "+config.User)
				_ = conn.Close(context.Background())
			}
		})
		want := outcome(t, config, nil, does)
		if strings.Count(want, "syntax error")+strings.Count(want, "does not exist")+strings.Count(want, "42883") > 0 {
			t.Fatalf("%s: %s", role, want)
		}
		// Where they come from makes no difference: the role's, and the database's.
		var database string
		if err := admin.QueryRow(t.Context(), "select current_database()").Scan(&database); err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{"role " + config.User, "database " + pgx.Identifier{database}.Sanitize()} {
			for group := range slices.Chunk(sessionSettings, len(sessionSettings)/3) {
				for _, setting := range group {
					exec(t, admin, "alter "+of+" set "+setting)
				}
				if diff := changed(want, outcome(t, config, nil, does)); diff != "" {
					t.Errorf("with %q of the %s a %s is told:\n%s", group, of, role, diff)
				}
				exec(t, admin, "alter "+of+" reset all")
			}
		}
		// As many at once as go together; where that changes anything, one by one.
		for group := range slices.Chunk(sessionSettings, len(sessionSettings)/3) {
			if changed(want, outcome(t, config, group, does)) == "" {
				continue
			}
			for _, setting := range group {
				if diff := changed(want, outcome(t, config, []string{setting}, does)); diff != "" {
					t.Errorf("with %s a %s is told:\n%s", setting, role, diff)
				}
			}
		}
	}
}

// Where a session's settings refuse a statement, they do so in their own name; and what cannot work under one says
// why.
func TestSettings_ThatRefuseDoSoInTheirOwnName(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	for setting, want := range map[string]string{
		"default_transaction_read_only = on": "25006",
		"statement_timeout = '1ms'":          "57014",
		"role = bellhop_reader":              "42501",
	} {
		conn := login(t, admin, url, "bellhop_submitter, bellhop_reader")
		exec(t, conn, "set "+setting)
		code, _ := refusal(t, conn, "insert into bellhop.jobqueue (type, args) select 'a', 'x' from generate_series(1, 100000)")
		if code != want {
			t.Errorf("with %s: %q, not %q", setting, code, want)
		}
	}
	conn := login(t, admin, url, "bellhop_submitter")
	exec(t, conn, "set default_transaction_isolation = 'repeatable read'")
	id := one[int64](t, conn, "select bellhop.submit('a')")
	_, err := conn.Exec(t.Context(), "select bellhop.wait($1, '0 s')", id)
	if err == nil || !strings.Contains(err.Error(), "in a transaction that is repeatable read") {
		t.Errorf("wait: %v", err)
	}
}

// A literal of a function is read when the function first runs in a session: with standard_conforming_strings off
// its backslashes escape. So each literal with one says e'…', which is read alike.
func TestSettings_NoPlainLiteralHasABackslash(t *testing.T) {
	t.Parallel()
	files := 0
	check := func(name, text string) {
		files++
		for _, l := range backslashed(text) {
			t.Errorf("%s: %s has a backslash, and is read by the session's standard_conforming_strings: write e'…'", name, l)
		}
	}
	for pattern, from := range map[string]fs.FS{"functions/*.sql": sql.Migrations, "*.sql": triggers.Scripts} {
		names, err := fs.Glob(from, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(from, name)
			if err != nil {
				t.Fatal(err)
			}
			check(name, string(text))
		}
	}
	text, _ := sql.Compat("fossology")
	check("fossology", text)
	if files < 60 {
		t.Errorf("only %d files", files)
	}
	script := `select '\S', e'\\S''\'', "\a", 'x' -- '\'` + "\n/* '\\' */ , E'\\n', '''\\'''"
	if got := fmt.Sprint(backslashed(script)); got != `['\S' '''\''']` {
		t.Errorf("found %s", got)
	}
}

// backslashed gives the plain literals of a script in which a backslash is.
func backslashed(text string) (found []string) {
	for i := 0; i < len(text); i++ {
		skip := func(end string) {
			if n := strings.Index(text[i+1:], end); n >= 0 {
				i += n + len(end)
			} else {
				i = len(text)
			}
		}
		switch {
		case strings.HasPrefix(text[i:], "--"):
			skip("\n")
		case strings.HasPrefix(text[i:], "/*"):
			skip("*/")
		case text[i] == '"':
			skip(`"`)
		case text[i] == '\'':
			escapes := i > 0 && strings.ContainsRune("eE", rune(text[i-1]))
			start := i
			for i++; i < len(text); i++ {
				if escapes && text[i] == '\\' {
					i++
				} else if text[i] == '\'' && strings.HasPrefix(text[i:], "''") {
					i++
				} else if text[i] == '\'' {
					break
				}
			}
			if lit := text[start:min(i+1, len(text))]; !escapes && strings.Contains(lit, `\`) {
				found = append(found, lit)
			}
		}
	}
	return found
}

// A plan that a session keeps was made when the table had another size: it must not read the whole table later.
func TestSettings_KeptPlansUseIndexes(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(sql.Migrations, "functions/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, name := range names {
		text, err := fs.ReadFile(sql.Migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, function := range strings.Split(string(text), "create or replace function ")[1:] {
			head, _, _ := strings.Cut(function, "as $")
			if !strings.Contains(head, "plan_cache_mode = force_generic_plan") {
				continue
			}
			kept++
			for _, off := range []string{"enable_seqscan = off", "enable_bitmapscan = off"} {
				if !strings.Contains(head, off) {
					t.Errorf("%s: %s keeps its plans, and does not set %s", name, strings.Fields(function)[0], off)
				}
			}
		}
	}
	if kept < 3 {
		t.Errorf("%d functions keep their plans: has their text another form now?", kept)
	}
}
