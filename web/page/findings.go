package page

import (
	"time"

	"bellhop/report"
)

// Findings are kept for all viewers of a role, since a look at them takes thirteen statements: for the System page a
// short while, and for the overview a minute. The menu counts what was found last, and asks nothing.
const (
	foundKey     = "system"
	foundFresh   = 15 * time.Second
	foundGlance  = time.Minute
	foundCounted = 5 * time.Minute
)

// mendMost is how many findings the overview lists.
const mendMost = 5

// mending is a finding that needs mending, and the page that has more of it.
type mending struct {
	report.Finding
	Page, Name string
}

// placesOf are the pages of what was looked at; of all else the System page tells.
var placesOf = map[string][2]string{
	"hosts": {"/hosts", "Hosts"}, "types": {"/types", "Types"}, "attachments": {"/attachments", "Attachments"},
	"messages": {"/notifications", "Notifications"},
}

// mendings leaves of findings those that need mending.
func mendings(found []report.Finding) (list []mending) {
	for _, f := range found {
		if f.Verdict != report.Mend {
			continue
		}
		at, ok := placesOf[f.Check]
		if !ok {
			at = [2]string{"/system", "System"}
		}
		list = append(list, mending{f, at[0], at[1]})
	}
	return list
}

// toMend counts what was found to need mending at the last look of the role; nothing is asked for it.
func (p *Pages) toMend(role string) int {
	p.recent.mu.Lock()
	had, ok := p.recent.kept[recentKey{role, foundKey}]
	p.recent.mu.Unlock()
	if d, is := had.value.(systemData); ok && is && time.Since(had.at) < foundCounted {
		return len(mendings(d.Findings))
	}
	return 0
}
