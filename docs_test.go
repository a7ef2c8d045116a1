package bellhop_test

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every test that the page names is there.
func TestDocs_NamedTestsExist(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "grep", "-h", "-o", "-E", "^func (Test[A-Za-z0-9_]+)").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	pages, err := os.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		if !strings.HasSuffix(page.Name(), ".md") {
			continue
		}
		text, err := os.ReadFile("docs/" + page.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+_[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text),
			-1) {
			named++
			if !strings.Contains(string(out), "func "+name[1]+"\n") {
				t.Errorf("docs/%s names %s, which is nowhere", page.Name(), name[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d tests are named", named)
	}
}

// Every defect of the dispatcher that attached tables come from has its row.
func TestDocs_EveryDefectOfTheOldDispatcher(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/dispatcher.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 49; n++ {
		if rows := regexp.MustCompile(`(?m)^\| `+strconv.Itoa(n)+` \| .+ \| .+ \|$`).FindAllString(string(text), -1); len(
			rows) != 1 {
			t.Errorf("docs/dispatcher.md has %d rows of defect %d", len(rows), n)
		}
	}
}

// The glossary is of words that the code uses: each is an identifier, or a part of one.
func TestDocs_GlossaryIsSpokenInTheCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, glossary, _ := strings.Cut(string(text), "\n## Glossary\n")
	glossary, _, _ = strings.Cut(glossary, "\n## ")
	words := regexp.MustCompile(`(?m)^\| ([A-Za-z]+) \|`).FindAllStringSubmatch(glossary, -1)
	if len(words) < 20 || len(words) > 40 {
		t.Errorf("the glossary has %d words", len(words))
	}
	for _, word := range words[1:] { // the first is the table's head
		out, err := exec.Command("git", "grep", "-i", "-h", "-m", "1", "-E", "(func|type|create).*"+word[1], "--", "*.go", "*.sql").Output()
		if err != nil || len(out) == 0 {
			t.Errorf("no identifier of the code is made of %q", word[1])
		}
	}
}

// Every file of the code that a page names is there.
func TestDocs_NamedFilesExist(t *testing.T) {
	t.Parallel()
	pages, err := os.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:actors|agents|bench|client|cmd|config|e2e|fossology|observability|pgdev|scheduler|sql|triggers|web)/[A-Za-z0-9_/.-]+\\.(?:go|sql|sh|yml))`")
	for _, page := range pages {
		if !strings.HasSuffix(page.Name(), ".md") {
			continue
		}
		text, err := os.ReadFile("docs/" + page.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(name[1]); err != nil {
				t.Errorf("docs/%s names %s, which is not there", page.Name(), name[1])
			}
		}
	}
}

// Every target of make that a page names is there.
func TestDocs_NamedTargetsExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := exec.Command("git", "ls-files", "*.md").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	typed := regexp.MustCompile("(?m)(?:`(?:[A-Z_]+=[^ `]+ )*make ([a-z-]+)[ `]|^make ([a-z-]+)(?:  | [A-Z]+=|$))")
	for page := range strings.Lines(string(pages)) {
		page = strings.TrimSpace(page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range typed.FindAllStringSubmatch(string(text), -1) {
			if target := found[1] + found[2]; !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s names make %s, which Makefile does not have", page, target)
			}
		}
	}
}

// Every page that another one names is there.
func TestDocs_LinksLead(t *testing.T) {
	t.Parallel()
	pages, err := exec.Command("git", "ls-files", "*.md").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	for page := range strings.Lines(string(pages)) {
		page = strings.TrimSpace(page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(path.Join(path.Dir(page), link[1])); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, link[1])
			}
		}
	}
}
