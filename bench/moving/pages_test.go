package moving_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellhop/config"
)

var (
	block  = regexp.MustCompile("(?ms)^( *)```(yaml|sql|sh)\n(.*?)^ *```")
	indent = regexp.MustCompile(`(?m)^ {3}`)
)

// What the pages of docs/moving show is read, or run, as it stands there.
func TestPages_WhatTheyShowWorks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/moving/from_*.md")
	if err != nil || len(pages) != 5 {
		t.Fatalf("pages are %q, %v", pages, err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			var q *queues
			switch filepath.Base(page) {
			case "from_river.md":
				q = riverAt(t, 0)
			case "from_pgboss.md":
				q = boss(t, bosses["as in version 12"](t))
			default:
				q = setup(t, "river.sql")
			}
			shown := block.FindAllStringSubmatch(string(text), -1)
			for _, b := range shown {
				code := b[3]
				if b[1] != "" {
					code = indent.ReplaceAllString(code, "")
				}
				q.shown(b[2], code)
			}
			for _, heading := range []string{"Words", "What is different", "Both side by side", "Go back"} {
				if !strings.Contains(string(text), "\n## "+heading+"\n") {
					t.Errorf("there is no section %q", heading)
				}
			}
			if len(shown) == 0 {
				t.Error("it shows nothing")
			}
		})
	}
}

// shown reads a configuration or a workflow, and runs SQL and calls of psql. Commands of bellhop have tests of their
// own.
func (q *queues) shown(language, code string) {
	q.t.Helper()
	switch {
	case language == "sql":
		q.sql(code)
	case language == "sh" && strings.Contains(code, "psql"):
		cmd := exec.CommandContext(q.t.Context(), "bash", "-ec", code)
		cmd.Dir = "../.."
		cmd.Env = append(cmd.Environ(), "DATABASE_URL="+q.url)
		if out, err := cmd.CombinedOutput(); err != nil {
			q.t.Errorf("%s: %v\n%s", code, err, out)
		}
	case language == "yaml" && strings.HasPrefix(code, "workflow:"):
		if _, err := config.Workflows(config.File{Name: "shown.yaml", Text: []byte(code)}); err != nil {
			q.t.Errorf("%s: %v", code, err)
		}
	case language == "yaml":
		if _, err := config.Parse("shown.yaml", []byte(code)); err != nil {
			q.t.Errorf("%s: %v", code, err)
		}
	}
}
