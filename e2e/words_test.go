package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestWords_ReadersSeeReasonsOperatorsTheWords: in nothing that a reader may look at stands what an agent wrote, or a
// query. The relations and functions are taken from the catalogs, so that what is added later is looked at too.
func TestWords_ReadersSeeReasonsOperatorsTheWords(t *testing.T) {
	t.Parallel()
	e := setup(t)
	const secret = "s3cret"
	e.serve("limits: {deaths: 2, window: 1h, kill_after: 1s}\n" + agents(
		"type: warm, command: ["+e.worker("warm", `echo "s3cret of $line" >&2; case $line in *4*) exit 7;; esac`)+"]",
		"type: sh, command: [sh, -c], mode: exec",
		"type: json, command: ["+e.script("json", `echo '{"bellhop":1}'; while read -r l; do echo '{"fail":"s3cret"}'; done`)+"]",
		"type: start, command: ["+e.script("start", `echo s3cret >&2; exit 3`)+"]",
		"type: foss, dialect: fossology, command: ["+e.foss("foss", `echo VERSION: 1; echo OK; read l; echo FATAL s3cret; echo BYE 3`)+"]"))
	waits := e.insert("type", "start")
	failed := map[int64]string{}
	var last int64
	for n := range 4 { // one child, one line after the other
		last = e.insert("type, args", "warm", fmt.Sprint(n+1))
		if n < 3 {
			e.waitState(last, "succeeded")
		}
	}
	failed[last] = "exit status 7"
	failed[e.insert("type, args", "sh", "echo s3cret >&2; exit 5")] = "exit status 5"
	failed[e.insert("type, args", "sh", "echo s3cret >&2; kill -9 $$")] = "killed by signal 9"
	failed[e.insert("type, args", "json", "1")] = "the agent said that it failed"
	failed[e.insert("type, args", "foss", "1")] = "the agent said BYE 3"
	failed[e.insert("type, msq", "warm", "select 's3cret' frm s3cret")] = "msq_error: SQLSTATE 42601"
	failed[e.insert("type, msq", "json", "select 4 as line")] = "items_failed"
	retried := e.insert("type, args, max_attempts", "sh", "echo s3cret >&2; exit 6", 9)
	for id := range failed {
		e.waitState(id, "failed")
	}
	e.eventually("it was tried", "select attempt > 0 and error is not null from bellhop.jobqueue where id = $1", retried)
	e.eventually("it fails", "select waiting_for like 'agent_fails%' from bellhop.jobqueue where id = $1", waits)

	// A row as a bellhop left it that did not part the two; and errors that SQL has written are whole.
	old := e.insert("type, held", "warm", true)
	e.sql("update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now(), error = 'exit status 9: s3cret' where id = $1", old)
	failed[old] = "exit status 9"
	needs := e.insert("type, held", "warm", true)
	e.sql("update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'needs_failed: job 7 failed', reason = 'exit status 1' where id = $1", needs)

	if j := e.job(last); j.Error != "exit status 7: s3cret of 4" {
		t.Errorf("the error holds more, or less, than was said of the line: %q", j.Error)
	}
	as := func(role string, do func(tx pgx.Tx)) {
		tx, err := e.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), "set local role "+role); err != nil {
			t.Fatal(err)
		}
		do(tx)
	}
	text := func(tx pgx.Tx, query string, args ...any) (s string) {
		t.Helper()
		if err := tx.QueryRow(t.Context(), query, args...).Scan(&s); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return s
	}
	looks := column[string](e, `
		select format('select coalesce(string_agg(x::text, e''\n''), '''') from (select %s from %s) x', string_agg(quote_ident(a.attname), ', '), c.oid::regclass)
		  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		 where c.relnamespace = 'bellhop'::regnamespace and c.relkind in ('r', 'v', 'm') and has_column_privilege('bellhop_reader', c.oid, a.attnum, 'select')
		 group by c.oid`)
	if len(looks) < 10 {
		t.Fatalf("a reader may look at %d relations", len(looks))
	}
	looks = append(looks, "select coalesce(bellhop.why_waiting('start'), '')")
	as("bellhop_reader", func(tx pgx.Tx) {
		for _, look := range looks {
			if s := text(tx, look); strings.Contains(s, secret) {
				at := strings.Index(s, secret)
				t.Errorf("%s\ngives %q", look, s[max(0, at-100):min(len(s), at+100)])
			}
		}
		for id, reason := range failed {
			if s := text(tx, "select error from bellhop.job where id = $1", id); !strings.HasPrefix(s, reason) {
				t.Errorf("job %d: a reader sees %q", id, s)
			}
		}
		if s := text(tx, "select error from bellhop.job where id = $1", needs); s != "needs_failed: job 7 failed" {
			t.Errorf("the reason of an earlier error is shown: %q", s)
		}
		for _, id := range column[int64](e, "select id from bellhop.jobqueue") {
			if s := text(tx, "select bellhop.explain($1)", id); strings.Contains(s, secret) {
				t.Errorf("explain tells a reader %s", s)
			}
		}
	})
	as("bellhop_operator", func(tx pgx.Tx) {
		for _, query := range []string{"select error from bellhop.job where id = $1", "select bellhop.explain($1)",
			"select string_agg(error, '') from bellhop.attempt where job = $1"} {
			if s := text(tx, query, last); !strings.Contains(s, "s3cret of 4") {
				t.Errorf("%s: an operator sees %s", query, s)
			}
		}
		if s := text(tx, "select error from bellhop.attempt where job = $1 limit 1", retried); s != "exit status 6: s3cret" {
			t.Errorf("an operator sees %q of an attempt", s)
		}
	})
	e.eventually("they are told of with the next beat", "select exists (select from bellhop.agent_words where words->>'local' = 's3cret')")
	has(t, e.ok("explain", fmt.Sprint(waits)), "agent_fails", "exit status 3")
	has(t, e.ok("agents"), "exit status 3", "s3cret")
	var shown struct{ Error string }
	if err := json.Unmarshal([]byte(e.ok("show", fmt.Sprint(last), "-o", "json")), &shown); err != nil || shown.Error != "exit status 7: s3cret of 4" {
		t.Errorf("show tells an operator %q (%v)", shown.Error, err)
	}
}
