package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/cmd/bellhop/internal/change"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/locks"
	"bellhop/scheduler/grammar"
	"bellhop/scheduler/workflow"
	"bellhop/web/api"
)

// beside are what a face has that is not a field of the grammar.
var beside = map[string][]string{
	"client.Job":             {"JSON", "RunIn", "Plain"}, // other ways to write Args and RunAt; what keys leave plain
	"client.Edit":            {"RunIn", "NotAfterIn", "Forever"},
	"flags of submit":        {"wait", "help", "quiet", "by", "anyway", "seal-with", "plain"}, // a promise is a table of its own
	"flags of edit":          {"release", "help", "dry-run", "state", "type", "seal-with"},
	"bellhop.edit":           {"id"},
	"bellhop.filter_replace": {"id"},
}

// Each face has the fields that the grammar gives it, and no others.
func TestGrammar_EveryFaceHasEveryField(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	argumentsOf := func(function string) []string {
		return slices.Sorted(maps.Keys(arguments(t, s.conn, function)))
	}
	for _, c := range []struct {
		face string
		of   grammar.Object
		as   grammar.Face
		has  []string
	}{
		{"bellhop.submit", grammar.Submission, grammar.SQL, argumentsOf("submit")},
		{"REST's NewJob", grammar.Submission, grammar.REST, fieldNames(api.NewJob{}, "json")},
		{"flags of submit", grammar.Submission, grammar.Command, flagNames(change.SubmitCommand(&cli.App{}))},
		{"client.Job", grammar.Submission, grammar.Go, fieldNames(client.Job{}, "")},
		{"agent.Child", grammar.ChildJob, grammar.Child, fieldNames(agent.Child{}, "json")},
		{"bellhop.edit", grammar.Edit, grammar.SQL, argumentsOf("edit")},
		{"REST's JobChange", grammar.Edit, grammar.REST, fieldNames(api.JobChange{}, "json")},
		{"flags of edit", grammar.Edit, grammar.Command, flagNames(change.EditCommand(&cli.App{}))},
		{"client.Edit", grammar.Edit, grammar.Go, fieldNames(client.Edit{}, "")},
		{"bellhop.filter_add", grammar.Filter, grammar.SQL, argumentsOf("filter_add")},
		{"bellhop.filter_replace", grammar.Filter, grammar.SQL, argumentsOf("filter_replace")},
		{"REST's NewFilter", grammar.Filter, grammar.REST, fieldNames(api.NewFilter{}, "json")},
		{"flags of filter add", grammar.Filter, grammar.Command, flagNames(filterCommand(t, "add"))},
		{"flags of filter replace", grammar.Filter, grammar.Command, flagNames(filterCommand(t, "replace"))},
		{"workflow.Definition", grammar.Workflow, grammar.File, fieldNames(workflow.Definition{}, "json")},
		{"workflow.Step", grammar.Step, grammar.File, fieldNames(workflow.Step{}, "json")},
		{"workflow.Sensor", grammar.Sensor, grammar.File, fieldNames(workflow.Sensor{}, "json")},
		{"workflow.Notice", grammar.Notice, grammar.File, fieldNames(workflow.Notice{}, "json")},
	} {
		names := c.of.Names(c.as)
		for _, name := range names {
			if !slices.Contains(c.has, name) {
				t.Errorf("%s: %q is missing", c.face, name)
			}
		}
		for _, name := range c.has {
			if !slices.Contains(names, name) && !slices.Contains(beside[c.face], name) {
				t.Errorf("%s has %q, and the grammar does not", c.face, name)
			}
		}
	}
}

// The clients of the examples have the arguments of bellhop.submit.
func TestGrammar_ClientsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	sql := arguments(t, s.conn, "submit")
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

// apart are fields that a job of all the others cannot have, or whose value lies in time.
var apart = []string{"msq", "repeat", "key", "priority_name", "run_at", "not_after", "traceparent"}

// whole are the columns of a job with all fields, by the examples of the grammar, in the ways to write it: as JSON, as
// a client's Job, and as words of bellhop submit.
func whole(t *testing.T) (row map[string]any, job client.Job, words []string) {
	t.Helper()
	row = map[string]any{}
	for _, f := range grammar.Submission.Fields {
		if f.Call || slices.Contains(apart, f.Name) {
			continue
		}
		v := f.Sample()
		if list, is := v.([]string); is { // more than one
			v = append(list, map[string]string{"locks": "big", "reasons": "rate-limit:2:m"}[f.Name])
		}
		row[f.Name] = v
		to := reflect.ValueOf(&job).Elem().FieldByName(f.In(grammar.Go))
		given := []string{fmt.Sprint(v)}
		switch of := v.(type) {
		case []string:
			given = of
		case map[string]string:
			given = []string{f.Example}
		case string:
			if f.Kind == grammar.Long {
				d, err := time.ParseDuration(of)
				if err != nil {
					t.Fatal(err)
				}
				v = d
			}
		}
		to.Set(reflect.ValueOf(v).Convert(to.Type()))
		for _, word := range given {
			if f.Without[grammar.Command] == "" {
				word = "--" + f.In(grammar.Command) + "=" + word
			}
			words = append(words, word)
		}
	}
	return row, job, words
}

// What an app in Go submits is, by each of the three ways, the row that SQL makes of it.
func TestSubmission_GoAndFlagsMakeTheRowOfSQL(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	row, job, words := whole(t)
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var given []string
	for name := range row {
		given = append(given, name+" => r."+name)
	}
	s.sql("select bellhop.submit("+strings.Join(given, ", ")+") from jsonb_populate_record(null::bellhop.jobqueue, $1::text::jsonb) r", string(text))
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
	s.id(words...)
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

// fieldNames are a struct's, or those in a tag of its fields.
func fieldNames(of any, tag string) (list []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		name := f.Name
		if tag != "" {
			name, _, _ = strings.Cut(f.Tag.Get(tag), ",")
		}
		if !f.Anonymous && name != "-" {
			list = append(list, name)
		}
	}
	return list
}

func flagNames(c *cobra.Command) (list []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) { list = append(list, f.Name) })
	return list
}

func filterCommand(t *testing.T, verb string) *cobra.Command {
	t.Helper()
	c, _, err := locks.FilterCommand(&cli.App{}).Find([]string{verb})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
