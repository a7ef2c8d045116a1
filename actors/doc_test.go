package actors

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The tree drawn in doc.go, and the one in docs/architecture.md, have every actor
// that the supervisor starts, and no other.
func TestDoc_DrawsTheTreeThatIsStarted(t *testing.T) {
	t.Parallel()
	read := func(file, pattern string) (names []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	var started []string
	roles := map[string]string{}
	text, err := os.ReadFile("message/roles.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(Role\w+)\s+= "(\w+)"$`).FindAllStringSubmatch(string(text), -1) {
		roles[m[1]] = m[2]
	}
	for _, role := range read("supervisor.go", `s\.Start\(c, message\.(Role\w+),`) {
		if roles[role] == "" {
			t.Fatalf("message/roles.go gives %s no name", role)
		}
		started = append(started, roles[role])
	}
	slices.Sort(started)
	if len(started) == 0 {
		t.Fatal("supervisor.go starts no actor that this test can read")
	}
	for file, pattern := range map[string]string{"doc.go": `(?m)^//\t[├└]─ (\w+)`, "../docs/architecture.md": `(?m)^[├└]─ (\w+)`} {
		if drawn := read(file, pattern); !slices.Equal(drawn, started) {
			t.Errorf("%s draws %v; the supervisor starts %v", file, drawn, started)
		}
	}
}
