package migrate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// cause is a row of bellhop.causes.
type cause struct {
	Cause, Code, Of       string
	Stuck                 bool
	Means, Sentence, Next string
}

func causes(t *testing.T) []cause {
	t.Helper()
	conn, _ := setup(t)
	rows, err := conn.Query(t.Context(), "select * from bellhop.causes()")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[cause])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// typed matches a next that is a command; the others say what to write into bellhop.yaml.
var typed = regexp.MustCompile(`^(bellhop|psql|echo) `)

// causeSections are the tables of docs/explain.md: one for each question that a reader comes with.
var causeSections = []struct{ of, title string }{
	{"waiting", "Why a job waits"}, {"running", "What a started job does"}, {"ended", "Why a job ended"},
	{"row", "Why a row of an attached table does not run"}, {"workflow", "Why a workflow does not start"},
	{"beside", "Facts beside a cause"},
}

// The tables of codes in docs/explain.md are made of bellhop.causes.
func TestCauses_TheDocsHaveThemAll(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../docs/explain.md", "<!-- made of bellhop.causes by `make generate` -->\n", "<!-- end -->"
	tables := map[string]*strings.Builder{}
	for _, s := range causeSections {
		tables[s.of] = &strings.Builder{}
	}
	seen := map[string]bool{}
	for _, c := range causes(t) {
		if seen[c.Cause] || (c.Means == "") != strings.Contains(c.Cause, "/") {
			t.Errorf("%s is there twice; or is a code and means nothing; or is a form and has a meaning of its own", c.Cause)
		}
		if seen[c.Cause] = true; !seen[c.Code] {
			t.Errorf("the form %s comes before its code", c.Cause)
		}
		if tables[c.Of] == nil {
			t.Fatalf("%s is of %q, which has no section", c.Cause, c.Of)
		}
		if c.Means != "" {
			next := regexp.MustCompile(
				`\{[a-z_]+\}`).ReplaceAllStringFunc(c.Next, func(s string) string { return strings.ToUpper(s[1 : len(s)-1]) })
			if typed.MatchString(next) { // a bar would end the cell
				next = "`" + strings.ReplaceAll(next, "|", `\|`) + "`"
			}
			fmt.Fprintf(tables[c.Of], "| `%s` | %s | %s |\n", c.Code, c.Means, next)
		}
	}
	var table strings.Builder
	for _, s := range causeSections {
		fmt.Fprintf(&table, "\n### %s\n\n| code | when | what to type |\n|---|---|---|\n%s", s.title, tables[s.of])
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", file)
	}
	want := head + begin + table.String() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is not what bellhop.causes says: look at the difference after `make generate`", file)
	}
}

// Whatever is filled into a sentence, nothing is looked at twice and nothing is lost.
func TestCauses_Fill(t *testing.T) {
	t.Parallel()
	conn, _ := setup(t)
	for _, c := range []struct{ template, args, want string }{
		{"job {id} waits{since}.", `{"id": 7}`, "job 7 waits."},
		{"{a}{b}", `{"a": "{b}", "b": "100%"}`, "{b}100%"},
		{"nothing", `{}`, "nothing"},
		{"a \\ {x}", `{"x": "\\1 & \n"}`, "a \\ \\1 & \n"},
	} {
		if got := one[string](t, conn, "select bellhop.fill($1, $2::jsonb)", c.template, c.args); got != c.want {
			t.Errorf("%q with %s is %q, want %q", c.template, c.args, got, c.want)
		}
	}
}

// notOfJobs are words before a colon that no job ends or waits by.
var notOfJobs = map[string]string{
	"db_error": "an answer to an agent's DB:", "db_limit": "an answer to an agent's DB:", "db_timeout": "an answer to an agent's DB:",
	"no_guard": "why a host is down, behind host_down", "given_up": "why a host is down, behind host_down",
	"failed_dependency": "a job is blocked, which its dependencies tell better", "bellhop_attached": "a schema", "search_path": "a setting",
}

// Every code that Go or SQL writes into error or waiting_for is a cause.
func TestCauses_HaveEveryCodeThatIsWritten(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range causes(t) {
		known[c.Code] = true
	}
	code := map[string]*regexp.Regexp{
		".go":  regexp.MustCompile("[\"`]([a-z]+(?:_[a-z]+)+|timeout|killed|exclusive): "),
		".sql": regexp.MustCompile(`'([a-z]+(?:_[a-z]+)+|timeout|killed|exclusive): `),
	}
	n := 0
	for _, room := range []string{"agents", "actors", "scheduler", "sql", "triggers"} {
		err := filepath.WalkDir("../../"+room, func(path string, d os.DirEntry, err error) error {
			pattern := code[filepath.Ext(path)]
			if err != nil || pattern == nil || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/examples/") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				if n++; !known[m[1]] && notOfJobs[m[1]] == "" {
					t.Errorf("%s writes %s, which bellhop.causes does not have", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 20 {
		t.Errorf("only %d codes were found: the pattern is not how they are written any more", n)
	}
}
