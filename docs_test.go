package bellhop_test

import (
	"os"
	"os/exec"
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
		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+_[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1) {
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
	text, err := os.ReadFile("docs/attach.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 49; n++ {
		if rows := regexp.MustCompile(`(?m)^\| `+strconv.Itoa(n)+` \| .+ \| .+ \|$`).FindAllString(string(text), -1); len(rows) != 1 {
			t.Errorf("docs/attach.md has %d rows of defect %d", len(rows), n)
		}
	}
}
