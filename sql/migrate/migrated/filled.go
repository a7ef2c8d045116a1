package migrated

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// rows is one row of each table of the baseline that people are shown something of, and what hangs together does; $T is
// the text, $S and $W its beginning, $L all of it on one line.
var rows = []string{
	`instance (name, hostname, machine, pid, process_start, version, lag, heartbeat_at, reload_failed, reload_said)
	 values ($T, $T, 'm', 1, '1', $T, '1h', now(), true, $T)`,
	`host (instance, name, slots, serves, state, trouble) values (1, $S, 4, array[$T], 'down', $T)`,
	`agent (instance, type, mode, dialect, command, max, max_per_host, trouble, locks)
	 values (1, left($S, 120), 'warm', 'classic', $T, 2, 2, jsonb_build_object($S, $T), array[$S])`,
	`agent_words values (1, left($S, 120), jsonb_build_object($S, $T))`,
	`child (instance, host, name, type, state, pid, job, since) values (1, $S, $S, left($S, 120), 'RUNNING', 1, 1, now())`,
	`jobqueue (type, args, key, vars, priority_name, run_on, reasons, waiting_for, submitted_by)
	 values (left($S, 120), $L, left($T, 1000), jsonb_build_object($T, $T), 'urgent', left($S, 250), array[$T], $T, $T)`,
	`jobqueue (type, args, state, attempt, fence, started_at, ended_at, exit_code, error, reason, host, child, result, progress_text, killed_by)
	 values (left($S, 120), $L, 'failed', 2, 1, now(), now(), 3, $T, $T, $S, $S, to_jsonb($T), $T, $T)`,
	`jobqueue (type, args, run, step) values (left($S, 120), $L, 1, $T)`,
	`jobqueue (type, msq, repeat, state, attempt, fence, started_at, instance, host, child, progress, progress_text)
	 values (left($S, 120), $T, 'once', 'running', 1, 1, now(), 1, $S, $S, 0.5, $T)`,
	`jobqueue (type, locks, behind, state) values (left($S, 120), '{db:orders=exclusive}', $S, 'ready')`,
	`attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, reason) values (2, 1, 1, $T, $T, now(), now(), 1, $T, $T)`,
	`lost_run (job, n, attempt, fence, host, child, started_at, reason) values (2, 1, 1, 1, $T, $T, now(), $T)`,
	`item (job, fence, item, line, tries, exit_code, error) values (4, 1, 1, $T, 3, 1, $T)`,
	`dependency (job, needs) values (1, 2)`,
	`log (job, attempt, child, host, level, line) values (2, 1, $T, $T, 'err', $T)`,
	`located (instance, key, hosts, error) values (1, $S, array[$T], $T)`,
	`lock_grant (level, name, job, fence, mode, instance) values ('job', $S, 4, 1, 'exclusive', 1)`,
	`lock_wait (level, name, job, fence, mode, instance) values ('job', $S, 5, 0, 'exclusive', 1)`,
	`engine_job (tag, job, fence, attempt, type, engine, instance, state, engine_id, stage, how, reason, said)
	 values ($S, 4, 1, 1, left($S, 120), $T, 1, 'running', $T, $T, $T, $T, $T)`,
	`history (minute, type, instance, taken, succeeded, failed, cancelled, retried, items_done, items_failed, wait, run)
	 values (date_trunc('minute', now()) - interval '1 min', left($S, 120), 1, 5, 4, 1, 0, 0, 0, 0, '{200,5}', '{300,5}')`,
	`workflow (name, project, active, version, definition, changed_by)
	 values ('nightly', $T, true, 1, jsonb_build_object('workflow', 'nightly', 'x', $T), $T)`,
	`workflow_past (workflow, version, what, active, definition, changed_by) values ('nightly', 1, 'created', true, jsonb_build_object('x', $T), $T)`,
	`sensor (workflow, kind, next_fire, problem, since) values ('nightly', 'cron', now() + interval '1 h', $T, now())`,
	`run (workflow, version, event, triggered_by, state, parameters, reason) values ('nightly', 1, $W, $T, 'failed', jsonb_build_object($T, $T), $T)`,
	`event (workflow, event, run, parameters) values ('nightly', $W, 1, jsonb_build_object($T, $T))`,
	`notice_rule (project, prefix, mail, webhook, command, changed_by) values ($T, $T, array[$T], $T, array[$T], $T)`,
	`notice (run, workflow, project, state, reason, ended_at, channel, target, needs, until, error)
	 values (1, 'nightly', $T, 'failed', $T, now(), 'mail', $T, $T, now() + interval '1 h', $T)`,
	`paused (type, paused_by) values (left($S, 120), $T)`,
	`filter (id, watermark, predicates, action, reason, created_by) values ('f1', 1, jsonb_build_array(jsonb_build_array('=', 'type', $T)), 'REJECT', $T, $T)`,
	`attachment (name, rel, cmd, pool, workdir, log_dir, key_columns, dispatch_column, attached_by, state, trouble)
	 values ($S, 'bellhop.paused', array[$T], 1, '/' || $T, '/' || $T, '{1}', 2, current_user, 'broken', $T)`,
	`attached (attachment, digest, key, job, live, row_text) values (1, '\x00', $T, 1, true, $T)`,
	`set_aside (attachment, digest, key, reason, outcome, again_at) values (1, '\x01', $T, $T, false, now())`,
	`manager_stop (name, by) values ($S, $T)`,
	`rjm (job, files, state, trouble) values (1, array[$T], 'old', $T)`,
	`operation (verb, filter, state, plan, planned, by_state, skipped, samples, planned_by, error, done, refused)
	 values ('hold', jsonb_build_object('type', jsonb_build_array($T), 'key', $T, 'error', $T, 'host', $T), 'planned', pg_current_snapshot(), 5000, '{"ready": 5000}', '{}',
	         jsonb_build_array(jsonb_build_object('id', 1, 'key', $T, 'type', $T, 'state', 'ready')), $T, $T, 0, 0)`,
	`operation (verb, filter, state, plan, planned, by_state, skipped, samples, planned_by, error, done, refused, started_at, ended_at)
	 values ('retry', jsonb_build_object('failure', $T), 'done', pg_current_snapshot(), 5000, '{"failed": 5000}', '{}', '[]', $T, $T, 4990, 3, now(), now())`,
}

// later is the same of what migrations after the baseline have made.
var later = []string{
	`agent (instance, type, mode, dialect, command, max, max_per_host, vars, refused, resources)
	 values (1, left($S, 120), 'warm', 'classic', $T, 2, 2, array[$T], jsonb_build_object($S, $T), jsonb_build_object($S, 1))
	 on conflict (instance, type) do update set vars = excluded.vars, refused = excluded.refused, resources = excluded.resources`,
	`host (instance, name, slots, bounds, resources) values (1, $S, 4, jsonb_build_object('', $T), jsonb_build_object($S, 1))
	 on conflict (instance, name) do update set bounds = excluded.bounds, resources = excluded.resources`,
	`loss (instance, name, was, server, gone, again) values (1, $T, $T, $T, 1, 1)`,
	`sensor_place values ('nightly', jsonb_build_object('x', $T), $T, now())`,
	`notice_gone values ($T, now())`,
	`promise (job, by, why) select j, now() + interval '1 hour', $T from generate_series(1, 3) j`,
	`worker_type (login, type) values ('app', left($S, 120))`,
	`share (type, name) values (left($S, 120), left($S, 200))`,
	`share_template (type, template, parts) values (left($S, 120), left($S, 200), array['=' || left($S, 200)])`,
	`item_done (job, item) values (4, $W)`,
	`saved_step (job, name, output, bytes) values (2, left($S, 200), to_jsonb($T), 1)`,
	`emitted (event, payload, by) values (left($S, 190), to_jsonb($T), $S)`,
	`change (by, via, role, verb, thing, name, result) values (left($S, 200), 'token', $S, 'cancel', 'job', left($S, 500), left($T, 500))`,
	`awaits (job, event, until) values (2, left($S, 190), 'infinity')`,
}

// ours are tables that hold nothing that other roles write, or that are never shown.
var ours = []string{
	"asserted", "deadline", "dependency_turn", "era_now", "housekeeping", "lock_reserved", "lock_scan", "operation_job", "operation_part",
	"run_end", "schema_script", "schema_version", "server_seen", "share_arrival", "share_clock", "share_line", "sign_in", "sketch",
}

// Fill writes a text into every field that people are shown: jobs 1 to 5, their attempts, log and items, hosts,
// agents, locks, the workflow nightly, its run 1, operations 1 and 2 … What stands in an index gets its first
// 30,000 letters, the name of an event 150, and a type 120.
func Fill(t testing.TB, conn *pgx.Conn, text string) {
	t.Helper()
	filled := fill(t, conn, text, slices.Concat(rows, later))
	tables, err := conn.Query(t.Context(), `select relname from pg_class where relnamespace = 'bellhop'::regnamespace and relkind = 'r'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !filled[name] && !slices.Contains(ours, name) {
			t.Errorf("table %s gets no text: it wants a row in sql/migrate/migrated/filled.go", name)
		}
	}
}

// FillBaseline does the same in a database whose schema is that of the baseline.
func FillBaseline(t testing.TB, conn *pgx.Conn, text string) {
	t.Helper()
	fill(t, conn, text, rows)
}

// fill writes rows, and gives the names of their tables.
func fill(t testing.TB, conn *pgx.Conn, text string, rows []string) map[string]bool {
	t.Helper()
	letters := []rune(text)
	words := func(most int) string {
		return "'" + strings.ReplaceAll(string(letters[:min(most, len(letters))]), "'", "''") + "'::text"
	}
	all := words(len(letters))
	with := strings.NewReplacer("$L", "translate("+all+", e'\r\n', '')", "$T", all, "$S", words(30_000), "$W", words(150))
	filled := map[string]bool{}
	for _, row := range rows {
		table, _, _ := strings.Cut(row, " ")
		filled[table] = true
		_, err := conn.Exec(t.Context(), "set session_replication_role = replica; insert into bellhop."+with.Replace(row)+
			"; set session_replication_role = origin", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatalf("fill %s: %v", row, err)
		}
	}
	return filled
}
