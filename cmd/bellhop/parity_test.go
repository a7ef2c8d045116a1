package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"bellhop/client"
	"bellhop/cmd/bellhop/internal/change"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/locks"
	"bellhop/scheduler/workflow"
	"bellhop/web/api"
)

// submissionField is an argument of bellhop.submit, and what it is called in each face. A name that begins with "no: "
// says why the face leaves it out.
type submissionField struct{ sql, goName, rest, flag, step string }

const (
	ownRun      = "no: a run names its jobs by run and step"
	ownTime     = "no: a run's sensor says when; a step waits for others by after"
	ownNext     = "no: a step is told from others by its run, so that no key is ever taken"
	ownParts    = "no: a step's needs are the names in after"
	ownTrace    = "no: a run has one trace, which its event brings"
	ownPriority = "no: RJM's letters are for RJM's jobs; a step has a number"
	ownTags     = "no: filters know a step's job by type, run and vars"
)

var submissionFields = []submissionField{
	{"type", "Type", "type", "no: the first word", "type"},
	{"args", "Args", "args", "no: the second word", "args"},
	{"msq", "MSQ", "msq", "msq", "msq"},
	{"repeat", "Repeat", "repeat", "repeat", "no: a query with a LIMIT runs until it is empty, one without runs once"},
	{"run_on", "RunOn", "run_on", "run-on", "run_on"},
	{"key", "Key", "key", "key", ownRun},
	{"priority", "Priority", "priority", "priority", "priority"},
	{"priority_name", "PriorityName", "priority_name", "priority-name", ownPriority},
	{"run_at", "RunAt", "run_at", "at", ownTime},
	{"held", "Held", "held", "hold", ownTime},
	{"vars", "Vars", "vars", "var", "vars"},
	{"locks", "Locks", "locks", "lock", "locks"},
	{"reasons", "Reasons", "reasons", "reason", ownTags},
	{"max_attempts", "MaxAttempts", "max_attempts", "max-attempts", "max_attempts"},
	{"timeout", "Timeout", "timeout", "timeout", "timeout"},
	{"on_failure", "OnFailure", "on_failure", "on-failure", "on_failure"},
	{"traceparent", "Traceparent", "traceparent", "no: the environment has it, as TRACEPARENT", ownTrace},
	{"after", "After", "after", "after", "after"},
	{"after_keys", "AfterKeys", "after_keys", "no: --after takes ids and keys", ownParts},
	{"wanted", "Wanted", "wanted", "wanted", "no: on_failure says whether a step runs after one that failed"},
	{"once", "Once", "once", "once", ownNext},
	{"per", "Per", "per", "per", ownNext},
	{"replace", "Replace", "replace", "replace", ownNext},
	{"not_after", "NotAfter", "not_after", "not-after", ownTime},
	{"batch", "Batch", "batch", "batch", "no: a run is what its jobs have in common"},
}

// besides are what a face has that is not an argument of bellhop.submit.
var besides = map[string][]string{
	"client.Job":        {"JSON", "RunIn"}, // other ways to write Args and RunAt
	"flags of submit":   {"wait", "help", "quiet"},
	"a step's keys":     {"name"},
	"REST's NewJob":     {},
	"definition_keys()": {"name"},
}

// A field of a submission is in every face, or the table says why it is not.
func TestSubmission_EveryFaceHasEveryField(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	sql := arguments(t, s.conn, "submit")
	table := named(func(f submissionField) string { return f.sql })
	if !slices.Equal(slices.Sorted(maps.Keys(sql)), table) {
		t.Fatalf("bellhop.submit takes %q, the table has %q", slices.Sorted(maps.Keys(sql)), table)
	}
	keys, err := collectText(t, s.conn, "select key from bellhop.definition_keys() where part = 'step'")
	if err != nil {
		t.Fatal(err)
	}
	step := func(f submissionField) string { return f.step }
	for face, c := range map[string]struct {
		has  []string
		name func(submissionField) string
	}{
		"client.Job":        {fieldNames(client.Job{}, ""), func(f submissionField) string { return f.goName }},
		"REST's NewJob":     {fieldNames(api.NewJob{}, "json"), func(f submissionField) string { return f.rest }},
		"flags of submit":   {submitFlagNames(), func(f submissionField) string { return f.flag }},
		"a step's keys":     {fieldNames(workflow.Step{}, "json"), step},
		"definition_keys()": {keys, step},
	} {
		for _, name := range named(c.name) {
			if !slices.Contains(c.has, name) {
				t.Errorf("%s: %q is missing", face, name)
			}
		}
		for _, name := range c.has {
			if !slices.Contains(named(c.name), name) && !slices.Contains(besides[face], name) {
				t.Errorf("%s has %q, and the table does not", face, name)
			}
		}
	}
	for file, argv := range map[string][]string{
		"bellhop.py": {"python3", "-c", "import json, bellhop; print(json.dumps(bellhop.COLUMNS))"},
		"bellhop.js": {"node", "-e", "console.log(JSON.stringify(require('./bellhop').COLUMNS))"},
	} {
		t.Run(file, func(t *testing.T) {
			if _, err := exec.LookPath(argv[0]); err != nil {
				t.Skipf("NOT TESTED: the columns of %s; type `apt-get install python3 nodejs`: %v", file, err)
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = filepath.Join("..", "..", "examples", "everyday"), append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			text, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var columns map[string]string
			if err := json.Unmarshal(text, &columns); err != nil || !maps.Equal(columns, sql) {
				t.Errorf("it has %s (%v), bellhop.submit takes %v", text, err, sql)
			}
		})
	}
}

// A filter is written with the same words by SQL, by REST and by the commands; of predicates a flag takes one.
func TestFilter_EveryFaceHasEveryField(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	add := slices.Sorted(maps.Keys(arguments(t, s.conn, "filter_add")))
	replace := slices.Sorted(maps.Keys(arguments(t, s.conn, "filter_replace")))
	rest := slices.Sorted(slices.Values(fieldNames(api.NewFilter{}, "json")))
	if !slices.Equal(add, rest) || !slices.Equal(replace, slices.Sorted(slices.Values(append(rest, "id")))) {
		t.Errorf("bellhop.filter_add takes %q, filter_replace %q, REST %q", add, replace, rest)
	}
	for _, verb := range []string{"add", "replace"} {
		c, _, err := locks.FilterCommand(&cli.App{}).Find([]string{verb})
		if err != nil {
			t.Fatal(err)
		}
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags = append(flags, strings.Replace(f.Name, "predicate", "predicates", 1))
		})
		if slices.Sort(flags); !slices.Equal(flags, add) {
			t.Errorf("bellhop filter %s has the flags %q, and bellhop.filter_add takes %q", verb, flags, add)
		}
	}
}

// What an app in Go submits is, by each of the three ways, the row that SQL makes of it.
func TestSubmission_GoAndFlagsMakeTheRowOfSQL(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	var want int64
	if err := s.conn.QueryRow(t.Context(), `select bellhop.submit('t', 'x', run_on => 'h', priority_name => 'b7', locks => '{db:a=shared,big}',
		reasons => '{import:1,rate-limit:2:m}', vars => '{"A": "1"}', max_attempts => 2, timeout => '90 s', on_failure => 'run')`).Scan(&want); err != nil {
		t.Fatal(err)
	}
	job := client.Job{Type: "t", Args: "x", RunOn: "h", PriorityName: "b7", Locks: []string{"db:a=shared", "big"},
		Reasons: []string{"import:1", "rate-limit:2:m"}, Vars: map[string]string{"A": "1"},
		MaxAttempts: 2, Timeout: 90e9, OnFailure: "run"}
	c := client.New(s.conn)
	if _, err := c.Submit(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SubmitMany(t.Context(), slices.Values([]client.Job{job})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SubmitManyIDs(t.Context(), slices.Values([]client.Job{job})); err != nil {
		t.Fatal(err)
	}
	s.id("t", "x", "--run-on", "h", "--priority-name", "b7", "--lock", "db:a=shared", "--lock", "big", "--reason", "import:1",
		"--reason", "rate-limit:2:m", "--var", "A=1", "--max-attempts", "2", "--timeout", "90s", "--on-failure", "run")
	rows, err := collectText(t, s.conn, `select (to_jsonb(j) - '{id,txid,created_at,traceparent}'::text[])::text from bellhop.jobqueue j order by id`)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for n, way := range []string{"SQL", "Submit", "SubmitMany", "SubmitManyIDs", "bellhop submit"} {
		if rows[n] != rows[0] {
			t.Errorf("%s makes\n%s, SQL makes\n%s", way, rows[n], rows[0])
		}
	}
}

// arguments are those of a function of bellhop, and their types.
func arguments(t *testing.T, conn *pgx.Conn, function string) map[string]string {
	t.Helper()
	list, err := collectText(t, conn, `select a.name || ' ' || a.type from pg_proc p
		cross join lateral (select unnest(p.proargnames) as name, format_type(unnest(p.proargtypes), null) as type) a
		where p.oid = (select max(oid) from pg_proc where proname = $1 and pronamespace = 'bellhop'::regnamespace)`, function)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer("timestamp with time zone", "timestamptz")
	all := map[string]string{}
	for _, line := range list {
		name, kind, _ := strings.Cut(line, " ")
		all[name] = short.Replace(kind)
	}
	return all
}

func collectText(t *testing.T, conn *pgx.Conn, query string, args ...any) ([]string, error) {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// named are the names in one face, sorted, without those that are left out on purpose.
func named(name func(submissionField) string) (list []string) {
	for _, f := range submissionFields {
		if is := name(f); !strings.HasPrefix(is, "no: ") {
			list = append(list, is)
		}
	}
	slices.Sort(list)
	return list
}

// fieldNames are a struct's, or those in a tag of its fields.
func fieldNames(of any, tag string) (list []string) {
	kind := reflect.TypeOf(of)
	for n := range kind.NumField() {
		name := kind.Field(n).Name
		if tag != "" {
			name, _, _ = strings.Cut(kind.Field(n).Tag.Get(tag), ",")
		}
		list = append(list, name)
	}
	return list
}

func submitFlagNames() (list []string) {
	change.SubmitCommand(&cli.App{}).Flags().VisitAll(func(f *pflag.Flag) { list = append(list, f.Name) })
	return list
}
