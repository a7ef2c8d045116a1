package bellhop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A fragment is one line about one change: changelog/unreleased/added-what-it-is.md. Names of pages need no link.
var fragment = struct {
	name, line, page *regexp.Regexp
	longest          int
}{
	name:    regexp.MustCompile(`^(added|changed|fixed|security)-[a-z0-9-]+\.md$`),
	line:    regexp.MustCompile("^[A-Z`][^\n]*[.d]\n$"), // it ends with a full stop, or with the name of a page
	page:    regexp.MustCompile(`docs/[A-Za-z0-9_/-]+\.md`),
	longest: 300,
}

// wrong says what is wrong with a fragment; empty: nothing.
func wrong(name, text string) string {
	switch {
	case !fragment.name.MatchString(name):
		return "its name does not begin with added-, changed-, fixed- or security-, or is not of small letters"
	case !fragment.line.MatchString(text) || !strings.HasSuffix(text, ".\n") && !strings.HasSuffix(text, ".md\n"):
		return "it is not one line that begins with a capital letter and ends with a full stop or a page"
	case utf8.RuneCountInString(text) > fragment.longest:
		return "it is longer than 300 characters"
	case strings.Contains(text, "]("):
		return "it has a link: write docs/page.md alone"
	case persons.MatchString(text):
		return "it does not name the job, the instance or the caller: " + persons.FindString(text)
	}
	for _, page := range fragment.page.FindAllString(text, -1) {
		if _, err := os.Stat(page); err != nil {
			return "it names " + page + ", which is not there"
		}
	}
	return ""
}

func TestChangelog_EachFragmentIsOneLineInAGroup(t *testing.T) {
	t.Parallel()
	for _, name := range tracked(t, "changelog/*") {
		if why := wrong(filepath.Base(name), read(t, name)); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	for _, c := range []struct{ name, text, why string }{
		{"added-a.md", "Jobs have a colour. docs/README.md\n", ""},
		{"fixed-a-b2.md", "`ls` lists all jobs.\n", ""},
		{"new-a.md", "Jobs have a colour.\n", "its name"},
		{"added.md", "Jobs have a colour.\n", "its name"},
		{"added-a.md", "- Jobs have a colour.\n", "not one line"},
		{"added-a.md", "Jobs have\na colour.\n", "not one line"},
		{"added-a.md", "Jobs have a colour.", "not one line"},
		{"added-a.md", "Jobs have a colour and\n", "not one line"},
		{"added-a.md", "Jobs " + strings.Repeat("of a colour ", 30) + ".\n", "longer"},
		{"added-a.md", "Jobs have [a colour](docs/README.md).\n", "has a link"},
		{"added-a.md", "Whoever submits a job gives it a colour.\n", "Whoever"},
		{"added-a.md", "Jobs have a colour. docs/colours.md\n", "docs/colours.md, which is not there"},
	} {
		if why := wrong(c.name, c.text); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s %q: %q, want %q", c.name, c.text, why, c.why)
		}
	}
}

func TestChangelog_ChangesThatAreNotReleasedAreFragments(t *testing.T) {
	t.Parallel()
	text := read(t, "CHANGELOG.md")
	if regexp.MustCompile(`(?mi)^## *unreleased`).MatchString(text) {
		t.Error("CHANGELOG.md has a section of its own for what is not released: move its lines into changelog/unreleased")
	}
	_, first, _ := strings.Cut(text, "\n## 0.1.0\n")
	if first, _, _ = strings.Cut(first, "\n## "); strings.Count(first, "\n") < 50 || strings.Count(first, "\n") > 150 {
		t.Errorf("the notes of 0.1.0 have %d lines", strings.Count(first, "\n"))
	}
}

// make changelog, in a tree of its own.
func TestChangelog_FragmentsBecomeNotes(t *testing.T) {
	t.Parallel()
	const head = "# Changelog\n\nWhat a user notices.\n\n"
	const (
		added = "### Added\n\n- Jobs have a colour. [docs/a_b/c.md](docs/a_b/c.md)\n- Jobs have a size.\n"
		fixed = "### Fixed\n\n- `ls` ends.\n"
	)
	fragments := map[string]string{
		"fixed-ls.md":     "`ls` ends.\n",
		"added-colour.md": "Jobs have a colour. docs/a_b/c.md\n",
		"added-size.md":   "Jobs have a size.\n",
	}
	for name, c := range map[string]struct {
		fragments       map[string]string
		version, before string
		after, says     string // after: empty if the file stays as it is
	}{
		"printed":                {fragments, "", head + "## 1.0\n\nOld.\n", "", added + "\n" + fixed},
		"the first release":      {fragments, "1.0", head, head + "\n## 1.0\n\n" + added + "\n" + fixed, ""},
		"before older ones":      {fragments, "1.1", head + "## 1.0\n\nOld.\n", head + "## 1.1\n\n" + added + "\n" + fixed + "\n## 1.0\n\nOld.\n", ""},
		"into a section":         {fragments, "1.1", head + "## 1.1\n\nNew.\n\n## 1.0\n\nOld.\n", head + "## 1.1\n\nNew.\n\n" + added + "\n" + fixed + "\n## 1.0\n\nOld.\n", ""},
		"into the last section":  {fragments, "1.0", head + "## 1.0\n\nOld.\n", head + "## 1.0\n\nOld.\n\n" + added + "\n" + fixed, ""},
		"nothing has changed":    {nil, "1.0", head, "", "there is nothing in changelog/unreleased for 1.0"},
		"nothing to print":       {nil, "", head, "", ""},
		"not a version":          {fragments, "next", head, "", `"next" is not a version; next: make changelog VERSION=0.2.0`},
		"a group that is none":   {map[string]string{"new-a.md": "A.\n"}, "1.0", head, "", "changelog/unreleased/new-a.md is in no group"},
		"a file that is no page": {map[string]string{"added-a.txt": "A.\n"}, "", head, "", "is in no group"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string, mode os.FileMode) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Join(dir, "changelog/unreleased"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o755); err != nil {
				t.Fatal(err)
			}
			write("scripts/changelog", read(t, "scripts/changelog"), 0o755)
			write("CHANGELOG.md", c.before, 0o644)
			for name, text := range c.fragments {
				write("changelog/unreleased/"+name, text, 0o644)
			}
			said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts/changelog"), c.version).CombinedOutput()
			now := read(t, filepath.Join(dir, "CHANGELOG.md"))
			left, _ := filepath.Glob(filepath.Join(dir, "changelog/unreleased/*"))
			if !strings.Contains(string(said), c.says) {
				t.Errorf("%s (%v), want %q", said, err, c.says)
			}
			if c.after == "" && (now != c.before || len(left) != len(c.fragments)) {
				t.Errorf("changed: %d of %d fragments are left, and\n%s", len(left), len(c.fragments), now)
			} else if c.after != "" && (now != c.after || len(left) > 0 || err != nil) {
				t.Errorf("%v, %q is left, and\n%s, want\n%s", err, left, now, c.after)
			}
		})
	}
}
