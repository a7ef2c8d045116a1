package page

import (
	"net/http"
	"strings"
	"testing"
)

// With thousands of types waiting the overview names some of each reason, and says how many more there are.
func TestOverview_OfThousandsOfTypes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) select 'type' || n from generate_series(1, 3000) n`)
	page := s.get(http.StatusOK, "/")
	if len(page) > 200_000 || !strings.Contains(page, "24 types") || !strings.Contains(page, "2,976 types") ||
		!strings.Contains(page, "and 2,964 more") {
		t.Errorf("it has %d bytes", len(page))
	}
}
