package doctor

import (
	"os"
	"strings"
	"testing"
)

// What doctor says of a system stands on the page: each system has its row, and what it lacks its own.
func TestSystems_AreThoseOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}
	for system, row := range map[string]string{"linux": "| Linux, amd64 |", "darwin": "| macOS, amd64 and arm64 |", "windows": "| Windows, amd64 |"} {
		if _, known := systems[system]; !known || !strings.Contains(string(page), "\n"+row) {
			t.Errorf("%s: doctor knows it: %v; docs/platforms.md is to have a row %q", system, known, row)
		}
	}
}
