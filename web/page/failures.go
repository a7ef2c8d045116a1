package page

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// failuresMost is how many failed jobs of each kind are grouped.
const failuresMost = 5000

// failureGroup is jobs of a type that failed with the same words, numbers aside.
type failureGroup struct {
	Type   scheduler.TypeName
	Error  string // masked
	Sample string // one of them, as it is
	N      int
	Hosts  []string
	First  *time.Time
	Last   *time.Time
	Newest scheduler.JobID
	Jobs   []scheduler.JobID
	Behind int64 // jobs that needed one of these, and so never ran
}

// groupFailures puts those together that say the same, the most first.
func groupFailures(rows []view.FailedRow) []failureGroup {
	type key struct {
		typ   scheduler.TypeName
		error string
	}
	groups := map[key]*failureGroup{}
	hosts := map[key]map[string]bool{}
	for i := range rows {
		r := &rows[i]
		k := key{r.Type, r.Masked}
		g := groups[k]
		if g == nil {
			g = &failureGroup{Type: r.Type, Error: k.error}
			groups[k], hosts[k] = g, map[string]bool{}
		}
		g.N += len(r.Jobs)
		g.Behind += r.Behind
		g.Jobs = append(g.Jobs, r.Jobs...)
		if newest := r.Jobs[0]; newest > g.Newest {
			g.Newest, g.Sample = newest, r.Error
		}
		if r.Host != nil {
			hosts[k][*r.Host] = true
		}
		if r.LastAt != nil && (g.Last == nil || r.LastAt.After(*g.Last)) {
			g.Last = r.LastAt
		}
		if r.FirstAt != nil && (g.First == nil || r.FirstAt.Before(*g.First)) {
			g.First = r.FirstAt
		}
	}
	var list []failureGroup
	for k, g := range groups {
		g.Hosts = slices.Sorted(maps.Keys(hosts[k]))
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b failureGroup) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.Newest, a.Newest))
	})
	return list
}

// failedJobs is how many jobs some rows tell of.
func failedJobs(rows []view.FailedRow) (n int) {
	for i := range rows {
		n += len(rows[i].Jobs)
	}
	return n
}

type failuresData struct {
	Groups []failureGroup
	Times  timeFilter
	N      int
	Most   bool // there are more than were looked at
	Spans  []string
	Says   string
}

// lookBacks are the times that a page of failures offers to look back.
var lookBacks = []string{"1h", "24h", "7d", ""}

// groupsMost is how many groups a page shows.
const groupsMost = 100

func failures(r *request) (content, error) {
	d := failuresData{Times: timesOf(r.query), Spans: lookBacks}
	ask := func() ([]view.FailedRow, error) {
		return r.Look.LatestFailed(r, failuresMost, d.Times.span(r.now))
	}
	kept := recentKey{r.who.Role, "failures " + d.Times.Since}
	var rows []view.FailedRow
	var err error
	if slices.Contains(lookBacks, d.Times.Since) && d.Times.Until == "" { // these few are kept; typed times are not
		rows, err = unchanged(r.pages, kept, time.Second, ask)
	} else {
		rows, err = ask()
	}
	if err != nil {
		return content{}, err
	}
	d.N = failedJobs(rows)
	d.Most = d.N >= failuresMost
	d.Groups = groupFailures(rows)
	d.Groups = d.Groups[:min(len(d.Groups), groupsMost)]
	more := ""
	if d.Most {
		more = " at least"
	}
	d.Says = words.Count(d.N, "job") + more + " failed, in " + words.Count(len(d.Groups), "group") +
		": of the same type, and with the same words except for numbers"
	return content{Title: "Failures", Template: "failures", Data: d}, nil
}
