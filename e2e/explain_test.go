package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// reason is one that bellhop.explanation gives.
type reason struct{ Code, Sentence, Next string }

// because waits until a job is explained by a cause of bellhop.causes, with all
// of these words, and gives what is said.
func (e *env) because(id int64, cause string, words ...string) reason {
	e.t.Helper()
	return e.caused(fmt.Sprintf("job %d", id), cause, words, func() []reason { return e.reasons(id) })
}

// rowBecause does the same for a row of an attached table.
func (e *env) rowBecause(table, key, cause string, words ...string) reason {
	e.t.Helper()
	return e.caused("row "+key+" of "+table, cause, words, func() []reason {
		return e.explained("select code, sentence, next from bellhop.explain_row($1, $2)", table, key)
	})
}

// askedBecause is because for what has to be brought about anew for each question.
func (e *env) askedBecause(cause string, ask func() []reason) reason {
	e.t.Helper()
	return e.caused("what was just made", cause, nil, ask)
}

func (e *env) reasons(id int64) []reason {
	e.t.Helper()
	return e.explained("select code, sentence, next from bellhop.explanation($1)", id)
}

func (e *env) caused(what, cause string, words []string, ask func() []reason) (found reason) {
	e.t.Helper()
	template := value[string](e, "select coalesce(min(sentence), '') from bellhop.causes() where cause = $1", cause)
	if template == "" {
		e.t.Fatalf("there is no cause %s", cause)
	}
	parts := regexp.MustCompile(`\{[a-z_]+\}`).Split(template, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	sentence := regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`)
	code, _, _ := strings.Cut(cause, "/")
	var all []reason
	defer func() {
		if e.t.Failed() {
			e.t.Logf("%s was to say %s with %q, and says %q", what, cause, words, all)
		}
	}()
	pgtest.Eventually(e.t, patience, what+" says "+cause, func() bool {
		e.t.Helper()
		all = ask()
		i := slices.IndexFunc(all, func(r reason) bool {
			lacks := func(w string) bool { return !strings.Contains(r.Sentence, w) }
			return r.Code == code && sentence.MatchString(r.Sentence) && !slices.ContainsFunc(words, lacks)
		})
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

func (e *env) explained(query string, args ...any) []reason {
	e.t.Helper()
	rows, err := e.pool.Query(e.t.Context(), query, args...)
	if err != nil {
		e.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[reason])
	if err != nil {
		e.t.Fatal(err)
	}
	for _, r := range all {
		if r.Sentence == "" || r.Next == "" || strings.ContainsAny(r.Next, "{}") {
			e.t.Errorf("%q: %+v", args, r)
		}
	}
	return all
}

// typed types the advice, as it stands, into a shell.
func (e *env) typed(r reason) (output string) {
	e.t.Helper()
	bin := filepath.Join(e.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		e.t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(bin, "bellhop")); err != nil {
		if err := os.Symlink(binary, filepath.Join(bin, "bellhop")); err != nil {
			e.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", r.Next)
	cmd.Dir, cmd.Env = e.dir, append(environment(e.dir), "DATABASE_URL="+e.url)
	cmd.Env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.t.Errorf("%s advises %q, which says %v\n%s", r.Code, r.Next, err, out)
	}
	return string(out)
}

// saysNoMore waits until a job is not explained by a code any more.
func (e *env) saysNoMore(id int64, code string) {
	e.t.Helper()
	e.eventually(fmt.Sprintf("job %d does not say %s any more", id, code), "select not exists (select from bellhop.explanation($1) e where e.code = $2)", id, code)
}

// untriggered runs statements as one who replicates does: no trigger fires.
func (e *env) untriggered(statements ...string) {
	e.t.Helper()
	err := pgx.BeginFunc(e.t.Context(), e.pool, func(tx pgx.Tx) error {
		for _, s := range append([]string{"set local session_replication_role = replica"}, statements...) {
			if _, err := tx.Exec(e.t.Context(), s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

// pause makes an instance stand still until the test ends.
func (i *instance) pause(t *testing.T) {
	pgtest.Freeze(t, i.cmd.Process.Pid)
	t.Cleanup(func() { i.signal(syscall.SIGCONT) })
}

// TestExplain_EveryCauseHasATest: one that nothing here brings about may say
// what it likes.
func TestExplain_EveryCauseHasATest(t *testing.T) {
	t.Parallel()
	e := setup(t)
	var tests string
	files, err := filepath.Glob("*_test.go")
	for _, file := range files {
		text, failed := os.ReadFile(file)
		if failed != nil {
			err = failed
		}
		tests += string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, cause := range column[string](e, "select cause from bellhop.causes()") {
		if !regexp.MustCompile(`(?i:because)\(.*"` + cause + `"|cause: "` + cause + `"`).MatchString(tests) {
			t.Errorf("no test makes a job, or a row, say %s", cause)
		}
	}
}

// TestExplain_RowsThatSayItThemselves: what a row, or what it needs, says of
// itself, with triggers and without; nobody schedules yet.
func TestExplain_RowsThatSayItThemselves(t *testing.T) {
	t.Parallel()
	e := setup(t)
	waits := e.insert("type, args", "sh", "true")
	nobody := e.because(waits, "no_instance")

	held := e.insert("type, args, held", "sh", "true", true)
	hand := e.insert("type, args, held", "sh", "true", true)
	e.untriggered("insert into bellhop.jobqueue (type, args, key, held) values ('sh', 'true', 'bare', true)",
		"insert into bellhop.jobqueue (type, args, key, run_at) values ('sh', 'true', 'bare later', now() + interval '1 hour')")
	bare := value[int64](e, "select id from bellhop.jobqueue where key = 'bare'")
	for _, id := range []int64{held, bare} {
		if out := e.typed(e.because(id, "held")); strings.Contains(out, "is not held") {
			t.Errorf("release says %q", out)
		}
		e.saysNoMore(id, "held")
	}
	later := e.insert("type, args, run_at", "sh", "true", "2999-01-01")
	e.because(value[int64](e, "select id from bellhop.jobqueue where key = 'bare later'"), "scheduled", "in 59 min")
	e.typed(e.because(later, "scheduled", "2999-01-01"))
	if j := e.job(later); j.State != "ready" {
		t.Errorf("after its advice it is %+v", j)
	}

	after := func(needs int64, how string) int64 {
		return value[int64](e, "select bellhop.submit('sh', 'true', after => array[$1::bigint], on_failure => $2)", needs,
			how)
	}
	needing := after(hand, "fail")
	has(t,
		e.typed(e.because(needing, "blocked", fmt.Sprintf("It needs job %d (sh) to be succeeded; that one is held.", hand))),
		"bellhop release")
	e.ok("cancel", fmt.Sprint(later))
	blocked := after(later, "block")
	e.typed(e.because(blocked, "blocked/ended", "that one is cancelled"))
	e.because(blocked, "blocked", "that one is ready")
	gone := e.insert("type, args, held", "sh", "true", true)
	lonely, freed := after(gone, "block"), after(gone, "block")
	e.sql("delete from bellhop.jobqueue where id = $1", gone)
	r := e.because(lonely, "blocked/deleted", fmt.Sprintf("job %d, which was deleted", gone))
	e.typed(r)
	if j := e.job(lonely); j.State != "cancelled" {
		t.Errorf("after its advice it is %+v", j)
	}
	_, statement, _ := strings.Cut(e.because(freed, "blocked/deleted").Sentence, "can: ")
	e.sql(strings.TrimSuffix(statement, "."))
	e.saysNoMore(freed, "blocked")
	unseen := after(hand, "fail")
	e.sql("update bellhop.dependency set met = true, counted = false where job = $1", unseen)
	e.typed(e.because(unseen, "blocked/unseen"))

	lock := func() pgx.Tx {
		tx, err := e.pool.Begin(t.Context())
		if err == nil {
			_, err = tx.Exec(t.Context(), "select from bellhop.jobqueue where id = $1 for update", waits)
		}
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	e.typed(e.askedBecause("in_hand/brief", func() []reason {
		tx := lock()
		defer func() { _ = tx.Rollback(context.Background()) }()
		return e.reasons(waits)
	}))
	tx := lock()
	defer func() { _ = tx.Rollback(context.Background()) }()
	e.typed(e.because(waits, "in_hand", "application the test", "idle in transaction"))
	e.saysNoMore(waits, "in_hand")

	// The advice of the first: what is ready runs, what was released and freed among it.
	if nobody.Next != "bellhop serve" {
		t.Errorf("it advises %q", nobody.Next)
	}
	e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
	for _, id := range []int64{waits, held, bare, freed, unseen, later, blocked} {
		e.waitState(id, "succeeded")
	}
}

// TestExplain_PreparedTransaction: it holds a row as long as it likes, and has no process.
func TestExplain_PreparedTransaction(t *testing.T) {
	t.Parallel()
	c, err := pgdev.Start(t.Context(), pgdev.Config{Dir: pgtest.Dir(t), Settings: map[string]string{"max_prepared_transactions": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	e := on(t, c.URL())
	e.ok("migrate")
	id := e.insert("type", "a")
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tx.Exec(t.Context(), "update bellhop.jobqueue set priority = 3 where id = $1", id); err == nil {
		_, err = tx.Exec(t.Context(), "prepare transaction 'forgotten by an app'")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = tx.Rollback(t.Context())
	e.typed(e.because(id, "in_hand/prepared"))
	e.saysNoMore(id, "in_hand")
}

// ago is what moves on between two looks at one job.
var ago = regexp.MustCompile(`now|\d+ (s|min) ago`)

// TestExplain_OnTheCommandLine: text, JSON and SQL say the same; nothing of
// what agents said is told to those who may not read it.
func TestExplain_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("agent", `echo "no toner" >&2; exit 3`) + "]"))
	died := e.insert("type, args", "a", "die")
	e.waitState(died, "failed")
	e.because(died, "last_words", "no toner")
	has(t, value[string](e, "select bellhop.explain($1)", died), fmt.Sprintf("job %d (a) failed\n  agent_died: ", died),
		"\n    -> bellhop logs -e ", "no toner")
	has(t, e.ok("explain", fmt.Sprint(died)), fmt.Sprintf("job %d (a) failed\n  agent_died: ", died), "\n    -> ")
	var said struct{ Reasons []reason }
	if err := json.Unmarshal([]byte(e.ok("explain", fmt.Sprint(died), "-o", "json")), &said); err != nil ||
		ago.ReplaceAllString(fmt.Sprint(said.Reasons), "ago") !=
			ago.ReplaceAllString(fmt.Sprint(e.reasons(died)), "ago") {
		t.Errorf("%v: JSON says %q", err, said.Reasons)
	}
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	var text string
	if _, err := tx.Exec(t.Context(), "set local role bellhop_reader"); err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(t.Context(), "select bellhop.explain($1)", died).Scan(&text); err != nil ||
		!strings.Contains(text, "agent_died") ||
		strings.Contains(text, "last_words") {
		t.Errorf("a reader is told %s (%v)", text, err)
	}
	if got := value[*string](e, "select bellhop.explain(999999)"); got != nil {
		t.Errorf("a job that is not there: %s", *got)
	}
	if r := e.run("explain", "999999"); r.code != 3 {
		t.Errorf("explain of what is not there: %+v", r)
	}
}
