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

// failureGroup is jobs that failed with the same words, numbers aside.
type failureGroup struct {
	Error  string // masked
	Sample string // one of them, as it is
	N      int
	Types  []failedType // the most first
	Hosts  []string
	First  *time.Time
	Last   *time.Time
	Newest scheduler.JobID
	Behind int64 // jobs that needed one of these, and so never ran
	New    bool  // the first of them failed within the hour
}

// failedType is a type, and how many jobs of it failed with these words.
type failedType struct {
	Type scheduler.TypeName
	N    int
}

// Type is the only one, or the one with the most.
func (g failureGroup) Type() scheduler.TypeName { return g.Types[0].Type }

// More is how many other types there are.
func (g failureGroup) More() int { return len(g.Types) - 1 }

// groupFailures puts those together that say the same, the most first.
func groupFailures(rows []view.FailedRow) []failureGroup {
	groups := map[string]*failureGroup{}
	counts, hosts := map[string]map[scheduler.TypeName]int{}, map[string]map[string]bool{}
	for i := range rows {
		r := &rows[i]
		k := r.Masked
		g := groups[k]
		if g == nil {
			g = &failureGroup{Error: k}
			groups[k], counts[k], hosts[k] = g, map[scheduler.TypeName]int{}, map[string]bool{}
		}
		g.add(r)
		counts[k][r.Type] += len(r.Jobs)
		if r.Host != nil {
			hosts[k][*r.Host] = true
		}
	}
	var list []failureGroup
	for k, g := range groups {
		g.Hosts = slices.Sorted(maps.Keys(hosts[k]))
		for name, n := range counts[k] {
			g.Types = append(g.Types, failedType{name, n})
		}
		slices.SortFunc(g.Types, func(a, b failedType) int {
			return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Type, b.Type))
		})
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b failureGroup) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.Newest, a.Newest))
	})
	return list
}

// add counts jobs of one type and host to the group.
func (g *failureGroup) add(r *view.FailedRow) {
	g.N += len(r.Jobs)
	g.Behind += r.Behind
	if newest := r.Jobs[0]; newest > g.Newest {
		g.Newest, g.Sample = newest, r.Error
	}
	if r.LastAt != nil && (g.Last == nil || r.LastAt.After(*g.Last)) {
		g.Last = r.LastAt
	}
	if r.FirstAt != nil && (g.First == nil || r.FirstAt.Before(*g.First)) {
		g.First = r.FirstAt
	}
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

// lookBack is how far a page of failures looks back that is not told.
const lookBack = "24h"

// groupsMost is how many groups a page shows.
const groupsMost = 100

// failedSince are the failures of a time of lookBacks. All pages that show these ask once.
func (r *request) failedSince(since string, span view.Span, age time.Duration) ([]view.FailedRow, error) {
	return unchanged(r.pages, recentKey{r.who.Role, "failures " + since}, age, func() ([]view.FailedRow, error) {
		return r.Look.LatestFailed(r, failuresMost, span)
	})
}

// failedLately are the failures of the last hour.
func (r *request) failedLately() ([]view.FailedRow, error) {
	return remembered(r.pages, r.who.Role, "failures lately", 5*time.Second, func() ([]view.FailedRow, error) {
		return r.failedSince("1h", view.Span{Since: time.Hour}, time.Second)
	})
}

func failures(r *request) (content, error) {
	if !r.query.Has("since") && !r.query.Has("within") && !r.query.Has("until") {
		r.query.Set("since", lookBack)
	}
	d := failuresData{Times: timesOf(r.query), Spans: lookBacks}
	var rows []view.FailedRow
	var err error
	if slices.Contains(lookBacks, d.Times.Since) && d.Times.Until == "" { // these few are kept; typed times are not
		rows, err = r.failedSince(d.Times.Since, d.Times.span(r.now), time.Second)
	} else {
		rows, err = r.Look.LatestFailed(r, failuresMost, d.Times.span(r.now))
	}
	if err != nil {
		return content{}, err
	}
	d.N = failedJobs(rows)
	d.Most = d.N >= failuresMost
	d.Groups = groupFailures(rows)
	d.Groups = d.Groups[:min(len(d.Groups), groupsMost)]
	hourAgo := r.now.Add(-time.Hour)
	for i := range d.Groups {
		g := &d.Groups[i]
		g.New = d.Times.Since != "1h" && g.First != nil && g.First.After(hourAgo)
	}
	more := ""
	if d.Most {
		more = " at least"
	}
	d.Says = words.Counted(int64(d.N), "job") + more + " failed, in " + words.Count(len(d.Groups), "group") +
		": with the same words except for numbers"
	return content{Title: "Failures", Template: "failures", Data: d}, nil
}
