package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

// filter adds a rule.
func (e *env) filter(action, predicates string) string {
	e.Helper()
	return e.one("select bellhop.filter_add($1, $2::jsonb)", action, predicates)
}

// explains checks that a job is explained in these words.
func (e *env) explains(id scheduler.JobID, words ...string) {
	e.Helper()
	text := e.one("select string_agg(concat_ws(' ', code, sentence, next), ' ') from bellhop.explanation($1)", int64(id))
	for _, w := range words {
		if !strings.Contains(text, w) {
			e.Errorf("job %d: %q is not in what explains it: %s", id, w, text)
		}
	}
}

const opcodeCat = `[["opcode",["=","type","cat"]]]`

func TestFilters_ARejectedJobIsRefusedByNameAndWhatWaitsIsCancelled(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	waits, runs := e.insert("type, priority", "'cat', 5"), e.running()
	held := e.insert("type, held", "'cat', true")
	id := e.one(`select bellhop.filter_add('REJECT', $1::jsonb, 0, 'closed for repair')`, opcodeCat)
	for _, j := range []scheduler.JobID{waits, held} {
		e.want(j, "state", "cancelled")
		e.want(j, "error", "filter_rejected: filter "+id+": closed for repair")
	}
	e.want(runs.Claim.Job, "state", "running")
	e.explains(waits, "filter_rejected", "closed for repair", "bellhop filter info "+id)
	_, err := e.conn.Exec(t.Context(), "insert into bellhop.jobqueue (type) values ('cat')")
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.ConstraintName != "jobqueue_filter_rejected" || refused.Code != "23514" ||
		!strings.Contains(refused.Message, id) || !strings.Contains(refused.Message, "closed for repair") {
		t.Errorf("refused by %v", err)
	}
	e.insert("type", "'dog'")
	e.insert("type, args", "'command', 'pause dog'")
	e.exec("select bellhop.filter_delete($1)", id)
	e.insert("type", "'cat'")
}

func TestFilters_TheTriggerIsThereWhileThereAreRules(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	there := func() string {
		return e.one("select count(*) from pg_trigger where tgname = '_030_filter'")
	}
	before := there()
	one, two := e.filter("PAUSE", "[]"), e.filter("CONTINUE", "[]")
	with := there()
	e.exec("select bellhop.filter_delete($1)", one)
	last := there()
	e.exec("select bellhop.filter_delete($1)", two)
	if got := before + with + last + there(); got != "0110" {
		t.Errorf("there before, with two rules, with one, and after: %s, want 0110", got)
	}
	if gone := e.one("select bellhop.filter_delete($1)", two); gone != "false" {
		t.Errorf("deleted twice: %s", gone)
	}
}

func TestFilters_WhatIsPausedWaitsUntilTheRuleIsGone(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	before := e.insert("type", "'cat'")
	id := e.one(`select bellhop.filter_add('PAUSE', $1::jsonb, 0, 'until noon')`, opcodeCat)
	after := e.insert("type", "'cat'")
	if got := append(ids(e.claim(demand(5))), e.pass(5)...); len(got) > 0 {
		t.Fatalf("%v run, and are paused", got)
	}
	for _, j := range []scheduler.JobID{before, after} {
		e.want(j, "waiting_for", "filter_paused: filter "+id+" pauses it")
	}
	e.explains(before, "filter_paused", "until noon", "bellhop filter info "+id)
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil { // the safety scan's round
		t.Fatal(err)
	}
	if n := e.one("select count(*) from bellhop.lock_grant"); n != "0" {
		t.Errorf("the safety scan hands on %s locks, and nobody can have them", n)
	}
	e.exec("select bellhop.filter_delete($1)", id)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{before, after}) {
		t.Errorf("%v run, want %v and %v", got, before, after)
	}
}

func TestFilters_ALimitCountsWhatRunsAlready(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	old := e.running()
	var jobs []scheduler.JobID
	for range 4 {
		jobs = append(jobs, e.insert("type", "'cat'"))
	}
	id := e.filter("RATE_LIMIT 2", opcodeCat)
	if got := ids(e.claim(demand(9))); len(got) > 0 {
		t.Fatalf("an ordinary claim took %v", got)
	}
	got := e.passed(9)
	if !slices.Equal(ids(got), jobs[:1]) {
		t.Fatalf("%v start beside %d, want %d", ids(got), old.Claim.Job, jobs[0])
	}
	e.want(jobs[1], "behind", "filter:"+id)
	e.explains(jobs[1], "rate_limited", "RATE_LIMIT 2", "bellhop filter info "+id)
	e.ends(old)
	if next := e.passed(9); !slices.Equal(ids(next), jobs[1:2]) {
		t.Errorf("after the old one: %v, want %v", ids(next), jobs[1])
	}
	e.ends(got...)
	if next := e.pass(9); !slices.Equal(next, jobs[2:3]) {
		t.Errorf("after another: %v, want %v", next, jobs[2])
	}
}

func TestFilters_TwoClaimersNeverExceedALimit(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	const all = 40
	e.filter("RATE_LIMIT 2", opcodeCat)
	e.exec("insert into bellhop.jobqueue (type) select 'cat' from generate_series(1, $1)", all)
	second := desk(e, NewClaimer)
	e.assert(second, e.me)
	var done atomic.Int64
	var group sync.WaitGroup
	for _, c := range []*Claimer{e.claimer, second} {
		recorder := desk(e, NewRecorder)
		sampler, err := pgx.Connect(t.Context(), e.url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sampler.Close(context.Background()) }()
		group.Go(func() {
			for done.Load() < all {
				n, err := e.endAfterASample(c, recorder, sampler)
				if err != nil {
					t.Error(err)
					return
				}
				done.Add(int64(n))
			}
		})
	}
	group.Wait()
}

// endAfterASample claims jobs, looks how many run now, and ends those that it claimed.
func (e *env) endAfterASample(c *Claimer, r *Recorder, sampler *pgx.Conn) (ended int, err error) {
	d := demand(3)
	d.Locked = true
	jobs, err := c.Claim(e.Context(), e.me, d)
	if err != nil {
		return 0, err
	}
	var running int
	sample := "select count(*) from bellhop.jobqueue where state = 'running'"
	if err := sampler.QueryRow(e.Context(), sample).Scan(&running); err != nil {
		return 0, err
	}
	if running > 2 {
		return 0, fmt.Errorf("%d run at once", running)
	}
	for _, j := range jobs {
		batch := scheduler.Batch{Records: []scheduler.Record{succeeded(j)}}
		if _, _, err := r.Write(e.Context(), e.me, batch, time.Now()); err != nil {
			return 0, err
		}
	}
	return len(jobs), nil
}

func TestFilters_ALimitPerTimeGoesOnWhenItsTimeHasPassed(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.filter("RATE_LIMIT 2 per 1h", opcodeCat)
	var jobs []scheduler.JobID
	for range 5 {
		jobs = append(jobs, e.insert("type", "'cat'"))
	}
	got := e.passed(9)
	if !slices.Equal(ids(got), jobs[:2]) {
		t.Fatalf("%v start, want %v", ids(got), jobs[:2])
	}
	e.ends(got...)
	if more := e.pass(9); len(more) > 0 {
		t.Fatalf("%v start within the hour: that the first have ended counts for nothing", more)
	}
	e.want(jobs[2], "behind", "filter:"+id)
	e.exec("update bellhop.lock_grant set since = since - interval '1 hour', until = until - interval '1 hour' where level = 'filter' and mode = 'slot'")
	if more := e.pass(9); !slices.Equal(more, jobs[2:4]) {
		t.Errorf("after the hour: %v start, want %v", more, jobs[2:4])
	}
}

// A limit by a var is one for each of its values: what is used up for one keeps no other back.
func TestFilters_ALimitForEachValueOfAVar(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.filter("RATE_LIMIT 1 per 1h by vars.CUSTOMER", opcodeCat)
	ofA, ofB := `'{"CUSTOMER":"a"}'`, `'{"CUSTOMER":"b"}'`
	vars := []string{ofA, ofA, ofB, "null", ofB, "'{}'"}
	var jobs []scheduler.JobID
	for _, v := range vars {
		jobs = append(jobs, e.insert("type, vars", "'cat', "+v))
	}
	got := e.passed(9)
	if want := []scheduler.JobID{jobs[0], jobs[2], jobs[3]}; !slices.Equal(ids(got), want) {
		t.Fatalf("%v start, want the first of each: %v", ids(got), want)
	}
	e.ends(got...)
	if more := e.pass(9); len(more) > 0 {
		t.Fatalf("%v start within the hour", more)
	}
	e.explains(jobs[1], "rate_limited", "with the same vars.CUSTOMER until", "bellhop filter info "+id)
	e.exec(`update bellhop.lock_grant set since = since - interval '1 hour', until = until - interval '1 hour'
	         where level = 'filter' and job = $1`, jobs[0])
	if more := e.pass(9); !slices.Equal(more, jobs[1:2]) {
		t.Errorf("after the hour of one: %v start, want %v", more, jobs[1:2])
	}
}

// A limit by a var counts what runs already when the rule comes, and hands a place on to a job of the same value.
func TestFilters_ALimitByAVarCountsWhatRuns(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a := e.insert("type, vars", `'cat', '{"CUSTOMER":"a"}'`)
	runs := e.claim(demand(5))
	if !slices.Equal(ids(runs), []scheduler.JobID{a}) {
		t.Fatal(runs)
	}
	e.filter("RATE_LIMIT 1 by vars.CUSTOMER", opcodeCat)
	second := e.insert("type, vars", `'cat', '{"CUSTOMER":"a"}'`)
	other := e.insert("type, vars", `'cat', '{"CUSTOMER":"b"}'`)
	if got := e.pass(9); !slices.Equal(got, []scheduler.JobID{other}) {
		t.Fatalf("%v start, want %v", got, other)
	}
	e.ends(runs...)
	if got := e.pass(9); !slices.Equal(got, []scheduler.JobID{second}) {
		t.Errorf("%v start, want %v", got, second)
	}
}

func TestFilters_AnotherRuleIsObeyedByWhatWaits(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.insert("type", "'cat'")
	e.exec(`select bellhop.filter_replace('new-ones', 'PAUSE', '[["jobid",[">","id","watermark"]]]')`)
	second := e.insert("type", "'cat'")
	if got := append(ids(e.claim(demand(5))), e.pass(5)...); !slices.Equal(got, []scheduler.JobID{first}) {
		t.Fatalf("%v run, want %v", got, first)
	}
	e.exec(`select bellhop.filter_replace('new-ones', 'PAUSE', '[["jobid",[">","id","watermark"]]]')`)
	if mark := e.one("select watermark from bellhop.filter"); mark != fmt.Sprint(second) {
		t.Errorf("the watermark is %s, want %d", mark, second)
	}
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{second}) {
		t.Errorf("%v run, want %v, which is below the watermark now", got, second)
	}
	e.exec(`select bellhop.filter_replace('new-ones', 'REJECT', '[["reason",["=~","reason","^nightly"]]]')`)
	nightly := "insert into bellhop.jobqueue (type, reasons) values ('cat', '{nightly run}')"
	if _, err := e.conn.Exec(t.Context(), nightly); err == nil {
		t.Error("the rule as it was replaced does not reject")
	}
}

// What comes back, by a retry, after a rule was added, meets the rule in a pass.
func TestFilters_ARetryMeetsTheRules(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	e.ends(j)
	id := e.filter("REJECT", opcodeCat)
	e.exec("select bellhop.retry($1)", int64(j.Claim.Job))
	if got := append(ids(e.claim(demand(5))), e.pass(5)...); len(got) > 0 {
		t.Errorf("%v run", got)
	}
	e.want(j.Claim.Job, "error", "filter_rejected: filter "+id)
}

func TestFilters_OperatorsOnlyChangeThem(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for _, role := range []string{"bellhop_submitter", "bellhop_reader"} {
		e.exec("set role " + role)
		for _, text := range []string{"filter_add('PAUSE')", "filter_replace('a', 'PAUSE')", "filter_delete('a')"} {
			_, err := e.conn.Exec(t.Context(), "select bellhop."+text)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "42501" {
				t.Errorf("%s as %s: %v", text, role, err)
			}
		}
		e.exec("reset role")
	}
	e.exec("set role bellhop_operator")
	e.filter("PAUSE", "[]")
}

func TestFilters_WhatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for _, c := range [][2]string{
		{"STOP", "[]"}, {"RATE_LIMIT", "[]"}, {"RATE_LIMIT 2 by CUSTOMER", "[]"}, {"RATE_LIMIT 2 by vars.A B", "[]"}, {"RATE_LIMIT 0", "[]"}, {"RATE_LIMIT 2 per day", "[]"},
		{"PAUSE", "{}"}, {"PAUSE", `[["type",["=","type","a"]]]`}, {"PAUSE", `[["opcode"]]`},
		{"PAUSE", `[["opcode",["~","type","a"]]]`}, {"PAUSE", `[["opcode",["=","type"]]]`},
		{"PAUSE", `[["opcode",["!"]]]`}, {"PAUSE", `[["opcode",["=~","type","(a"]]]`},
		{"PAUSE", `[["opcode",["=","type",null]]]`}, {"PAUSE", `[["opcode",["&",["=","type",["a"]]]]]`},
		{"PAUSE", `[["opcode","a"]]`}, {"PAUSE", `[["opcode",["<","priority",1e400]]]`},
		{"RATE_LIMIT 10 per 0s", "[]"}, {"RATE_LIMIT 10 per 0.0h0m", "[]"}, {"RATE_LIMIT 10 per 9999999h", "[]"},
		{"RATE_LIMIT 10 per 100us", "[]"}, {"RATE_LIMIT 10 per 999999ns", "[]"},
	} {
		if _, err := e.conn.Exec(t.Context(), "select bellhop.filter_add($1, $2::jsonb)", c[0], c[1]); err == nil {
			t.Errorf("%s %s is taken", c[0], c[1])
		}
	}
}

// Two answers to the same question: the trigger's, and that of passes.
func TestFilters_SQLAndPolicyAgreeOnWhatMatches(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	random := rand.New(rand.NewPCG(3, 4))
	for _, values := range []string{
		`'cat', null, null, null, 0, null, null, null, null`,
		`'mail', 'Ärger', 'k', 'big1', 5, '{"X":"1","Y":""}', '{nightly,"rate-limit:2:m",Z}', '{db:a=shared,big}', 'anna'`,
		`'cat', '{"a":{"b":1,"c":[1,"x",true],"d":null,"":7},"n":2.5,"t":false}', '', '1', -3, '{}', '{}', '{}', ''`,
		`'Mail', '[1]', 'Z', 'srv', 1, '{"a":"b"}', '{"",a}', null, 'bob'`,
	} {
		e.exec(`insert into bellhop.jobqueue (type, args, key, run_on, priority, vars, reasons, locks, submitted_by)
		        select ` + strings.ReplaceAll(values, ", ''", ", null"))
	}
	rows, err := e.conn.Query(t.Context(), `select id, type, priority, created_at, locks, reasons, args, key, vars, run_on,
		submitted_by, share, '' from bellhop.jobqueue order by id`)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []lock.Waiting
	if err := scanJobs(rows, &jobs, nil, false); err != nil {
		t.Fatal(err)
	}
	answers := map[string]int{}
	for range 1500 {
		w := randomWord{random}
		text, err := json.Marshal([]any{w.predicate(), w.predicate()}[:1+random.IntN(2)])
		if err != nil {
			t.Fatal(err)
		}
		row := view.FilterRow{ID: "r", Watermark: int64(random.IntN(5)), Action: "PAUSE", Predicates: text}
		rule, err := row.Rule()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		e.exec("select bellhop.filter_check('PAUSE', $1::jsonb)", string(text))
		var want []string
		for _, j := range jobs {
			want = append(want, fmt.Sprint(rule.Matches(lock.Policy{}.Subject(j))))
			answers[want[len(want)-1]]++
		}
		got := e.one(`select string_agg(bellhop.filter_matches(f, j)::text, ' ' order by j.id)
		                from bellhop.jobqueue j, lateral (select 'r' as id, 0 as priority, $1::bigint as watermark, $2::jsonb as predicates,
		                     'PAUSE' as action, '' as reason, now() as created_at, '' as created_by) x,
		             lateral (select row(x.*)::bellhop.filter as f) y`, row.Watermark, string(text))
		if got != strings.Join(want, " ") {
			t.Fatalf("%s: SQL says %s, the policy %v", text, got, want)
		}
	}
	if answers["true"] < 500 || answers["false"] < 500 {
		t.Errorf("the answers are %v: that compares little", answers)
	}
}

// randomWord makes predicates.
type randomWord struct{ *rand.Rand }

func (r randomWord) of(list ...any) any { return list[r.IntN(len(list))] }

func (r randomWord) predicate() []any {
	subject := r.of("jobid", "opcode", "opcode", "opcode", "reason").(string)
	return []any{subject, r.expr(subject, 3)}
}

func (r randomWord) expr(subject string, depth int) any {
	field := map[string][]any{
		"jobid":  {"id", "id", "type"},
		"reason": {"reason", "source", "timestamp", "type"},
		"opcode": {"type", "OP_ID", "args", "args.a", "args.a.b", "args.a.c", "args.a.d", "args.a.", "args.", "args.n",
			"args.t", "key", "run_on", "priority", "vars.X", "vars.Y", "vars.", "vars", ":vars", "locks", "reasons",
			"submitted_by", "nothing"},
	}[subject]
	value := func() any {
		return r.of("cat", "mail", "Mail", "Ärger", "", "1", "watermark", "nightly", "big", "db:a=shared", "x", "Z", "a",
			0, 1, 2, 2.5, -3, 5, true, false)
	}
	switch kind := r.IntN(10); {
	case depth == 0 || kind < 4:
		return []any{r.of("=", "=", "<", "<=", ">", ">=", "=[]"), r.of(field...), value()}
	case kind == 4:
		return []any{"?", r.of(field...)}
	case kind == 5:
		return []any{"=~", r.of(field...), r.of("^m", "a", "[0-9]$", "^(cat|dog)$", "", "(?i)MAIL", `\d`)}
	case kind == 6:
		return []any{"!", r.expr(subject, depth-1)}
	case kind == 7 && r.IntN(4) == 0:
		return nil
	}
	list := []any{r.of("&", "|")}
	for range r.IntN(4) {
		list = append(list, r.expr(subject, depth-1))
	}
	return list
}

// A pass that waited for its turn while the first rule was written obeys it.
func TestFilters_TheFirstIsSeenByAPassThatWaitedForItsTurn(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	job := e.locked("db:a=exclusive")
	other := e.connect()
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select bellhop.filter_add('PAUSE')"); err != nil {
		t.Fatal(err)
	}
	got := make(chan []scheduler.JobID)
	go func() {
		d := demand(5)
		d.Locked = true
		jobs, err := e.claimer.Claim(t.Context(), e.me, d)
		if err != nil {
			t.Error(err)
		}
		got <- ids(jobs)
	}()
	e.eventually("the pass waits for its turn", `select exists (select from pg_locks l where l.locktype = 'advisory' and not l.granted
  and l.database = (select d.oid from pg_database d where d.datname = current_database()))`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if started := <-got; len(started) > 0 {
		t.Errorf("%v start, and are paused", started)
	}
	e.want(job, "state", "ready")
}

// What a rule has parked goes on without it, whatever was done to the job meanwhile.
func TestFilters_WhatIsParkedGoesOnWhateverWasDoneToIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"held":      {"select bellhop.edit($1, hold => true)", "select bellhop.release($1)"},
		"its time":  {"select bellhop.edit($1, run_at => clock_timestamp() + interval '1 h')", "select bellhop.edit($1, run_at => '-infinity')"},
		"by hand":   {"update bellhop.jobqueue set held = true, state = 'held' where id = $1", "update bellhop.jobqueue set held = false, state = 'ready' where id = $1"},
		"due":       {"update bellhop.jobqueue set run_at = now() + interval '1 h', state = 'scheduled' where id = $1", "update bellhop.jobqueue set run_at = now() where id = $1"},
		"cancelled": {"select bellhop.cancel($1)", "select bellhop.retry($1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			job := e.insert("type", "'cat'")
			id := e.filter("PAUSE", opcodeCat)
			e.pass(5)
			e.want(job, "behind", "paused:"+id)
			e.exec(c.before, int64(job))
			e.exec(`select bellhop.filter_replace($1, 'PAUSE', '[["opcode",["=","type","dog"]]]')`, id)
			e.exec(c.after, int64(job))
			e.due()
			if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{job}) {
				t.Errorf("%v start, want %v, which waits for %s", got, job, e.column(job, "behind"))
			}
		})
	}
}

// Should all else fail, the safety scan finds what waits behind a rule that is gone.
func TestFilters_TheSafetyScanFindsWhatWaitsBehindARuleThatIsGone(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	one, two := e.locked("db:a=exclusive"), e.locked("db:b=exclusive")
	e.exec("update bellhop.jobqueue set behind = 'paused:gone'")
	e.scan()
	got := append(e.pass(5), e.pass(5)...)
	if slices.Sort(got); !slices.Equal(got, []scheduler.JobID{one, two}) {
		t.Errorf("%v start, want %v and %v", got, one, two)
	}
}

// A change of a job is a change of what its agent's locks, and filters, mean for it.
func TestLocks_AnEditedJobWaitsForWhatItNeedsNow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"args":    "select bellhop.edit($1, args => 'b')",
		"replace": "select bellhop.submit('cat', 'b', key => 'k', replace => true, once => 'waiting') where $1 > 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.claimer.Templates = lock.Templates{"cat": must(lock.ParseTemplates([]string{"customer:${args}=exclusive"}, nil))}
			e.insert("type, args", "'cat', 'a'")
			job := e.insert("type, args, key", "'cat', 'a', 'k'")
			if got := e.pass(5); len(got) != 1 {
				t.Fatalf("%v start", got)
			}
			e.want(job, "behind", "customer:a")
			e.exec(change, int64(job))
			if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{job}) {
				t.Errorf("%v start, want %v, which waits behind %s", got, job, e.column(job, "behind"))
			}
		})
	}
}
