package bellhop_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// persons are the marks of sentences whose subject is not a thing of the program: "whoever has the lock" is an
// instance, a caller or a job, and a reader has to guess which.
var persons = regexp.MustCompile(`(?i)\b(who|whoever|whom|nobody|somebody|anybody|everybody)\b`)

// How many such marks there may be. Lower these when you have rewritten some; they never rise.
const (
	mostInComments = 0 // of Go that is no test
	mostInSQL      = 0 // comments of the baseline, functions, queries and triggers
	mostInTexts    = 0 // what people read of the program: help, errors, findings, logs, pages, the API
	mostInPages    = 0 // README, docs, the example of a configuration
)

// Comments and pages name the thing that they speak of.
func TestProse_NamesThings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, allowed string
		files         []string
		most          int
		count         func(t *testing.T, name string) int
	}{
		{"comments", "mostInComments", tracked(t, "*.go"), mostInComments, inComments},
		{"SQL", "mostInSQL", tracked(t, "sql/baseline/*.sql", "sql/functions/*.sql", "sql/queries/*.sql", "triggers/*.sql"), mostInSQL, inSQL},
		{"texts", "mostInTexts", tracked(t, "*.go", "sql/functions/*.sql", "web/page/templates/*.html",
			"cmd/bellhop/internal/agentkit/templates/*"), mostInTexts, inTexts},
		{"pages", "mostInPages", tracked(t, "README.md", "docs/*.md", "bellhop.example.yaml"), mostInPages, inPage},
	} {
		all, worst, in := 0, 0, ""
		for _, name := range c.files {
			n := c.count(t, name)
			if all += n; n > worst {
				worst, in = n, name
			}
		}
		t.Logf("%s: %d of %d", c.what, all, c.most)
		if all > c.most {
			t.Errorf("%d words like who and nobody stand in %s, %d are allowed (%s), and most in %s (%d): name the job, the instance, the caller",
				all, c.what, c.most, c.allowed, in, worst)
		}
	}
}

func tracked(t *testing.T, patterns ...string) (names []string) {
	t.Helper()
	out, err := exec.Command("git", append([]string{"ls-files", "--"}, patterns...)...).Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	return strings.Fields(string(out))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func inComments(t *testing.T, name string) (n int) {
	if strings.HasSuffix(name, "_test.go") {
		return 0
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			n += marks(c)
		}
	}
	return n
}

func marks(c *ast.Comment) int { return len(persons.FindAllString(c.Text, -1)) }

func inSQL(t *testing.T, name string) (n int) {
	for line := range strings.Lines(read(t, name)) {
		if _, comment, is := strings.Cut(line, "--"); is {
			n += len(persons.FindAllString(comment, -1))
		}
	}
	return n
}

// Words of code that stand in texts.
var (
	variable = regexp.MustCompile(`\{who\}|'who'`)             // a value of causes: the session that has locked a row
	inner    = regexp.MustCompile(`\{\{.*?\}\}|class="who"`)   // fields of templates, and a class of style.css
	account  = map[string]string{"pgdev/account.go": "nobody"} // the system's user under which PostgreSQL may run
)

// inTexts counts the marks in string literals of Go, in those of SQL, and in templates.
func inTexts(t *testing.T, name string) (n int) {
	switch {
	case strings.HasSuffix(name, "_test.go"):
	case strings.HasSuffix(name, ".go"):
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if text, is := node.(*ast.BasicLit); is && text.Kind == token.STRING {
				for _, mark := range persons.FindAllString(text.Value, -1) {
					if mark != account[name] {
						n++
					}
				}
			}
			return true
		})
	case strings.HasSuffix(name, ".sql"):
		for line := range strings.Lines(read(t, name)) {
			code, _, _ := strings.Cut(line, "--")
			for _, text := range literal.FindAllString(variable.ReplaceAllString(code, ""), -1) {
				n += len(persons.FindAllString(text, -1))
			}
		}
	default:
		n = len(persons.FindAllString(inner.ReplaceAllString(read(t, name), ""), -1))
	}
	return n
}

var literal = regexp.MustCompile(`'[^']*'`)

func inPage(t *testing.T, name string) int { return len(persons.FindAllString(read(t, name), -1)) }
