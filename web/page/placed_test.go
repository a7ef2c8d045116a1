package page

import (
	"os"
	"strings"
	"testing"

	"bellhop/scheduler/grammar"
)

// A field of a submission that others leaves out stands in the page.
func TestJob_APlacedFieldHasItsPlace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("templates/job.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range placed {
		if in := grammar.Submission.Field(name).In(grammar.Go); !strings.Contains(string(text), "."+in) {
			t.Errorf("%s has no place: the template has no .%s", name, in)
		}
	}
}
