package page

import (
	"net/http"
	"strings"
	"testing"
)

// With thousands of types waiting the overview lists those that wait longest, and says how many more there are.
func TestOverview_OfThousandsOfTypes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) select 'type' || n from generate_series(1, 3000) n`)
	page := s.get(http.StatusOK, "/")
	if len(page) > 200_000 || !strings.Contains(page, "2950 more types wait.") {
		t.Errorf("it has %d bytes", len(page))
	}
}
