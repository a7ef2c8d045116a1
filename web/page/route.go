package page

import (
	"net/url"
	"slices"
	"strings"

	"bellhop/sql/view"
)

// route is a page: its name in the list of pages, where it is, and what asks for it.
type route struct {
	Name, Path string // Name empty: it is reached from another
	Key        string // by which the list of keys names it
	// Cost is how many statements a look takes, at most: the pulse reckons with it.
	Cost int
	view func(*request) (content, error)
}

// routes are the pages. {} is one element of a path.
var routes []route

func init() { // the views name routes too
	routes = []route{
		{"Overview", "/", "o", 5, overview},
		{"Jobs", "/jobs", "j", 4, jobs},
		{"", "/jobs/{}", "", 7, job},
		{"", "/jobs/{}/graph", "", 3, graph},
		{"", "/jobs/{}/items", "", 0, items}, // not live: it is read page by page
		{"Failures", "/failures", "f", 2, failures},
		{"Types", "/types", "t", 2, types},
		{"", "/types/{}", "", 5, ofType},
		{"Locks", "/locks", "l", 2, locks},
		{"Hosts", "/hosts", "h", 5, hosts},
		{"Workflows", "/workflows", "w", 3, workflows},
		{"", "/workflows/{}", "", 5, workflow},
		{"", "/runs/{}", "", 5, run},
		{"", "/notifications", "", 0, notifications}, // not live: its form would be written in while it changes
		{"Attachments", "/attachments", "a", 2, attachments},
		{"Operations", "/operations", "p", 1, operations},
		{"", "/operations/{}", "", 1, oneOperation},
		{"", "/changes", "", 1, changes},
		{"", "/prune", "", 0, prune}, // not live: what was counted is what its button deletes
		{"System", "/system", "s", 5, system},
	}
}

// own are the pages of a caller that sees only its own jobs: the first of them is their list, too.
var own = []string{"/", "/jobs"}

// offered are the pages that stand above one: all but those known to be closed to the caller.
func offered(may view.May, err error) []route {
	if err != nil || may.Reads {
		return routes
	}
	return slices.DeleteFunc(slices.Clone(routes), func(r route) bool { return !slices.Contains(own, r.Path) })
}

// find gives the page at a path, and what stands where its {} is.
func find(path string) (route, string, bool) {
	for _, r := range routes {
		if r.Path == path {
			return r, "", true
		}
		before, after, any := strings.Cut(r.Path, "{}")
		if !any {
			continue
		}
		rest, ok := strings.CutPrefix(path, before)
		if !ok {
			continue
		}
		arg, ok := strings.CutSuffix(rest, after)
		if !ok || arg == "" || strings.Contains(arg, "/") {
			continue
		}
		if arg, err := url.PathUnescape(arg); err == nil {
			return r, arg, true
		}
	}
	return route{}, "", false
}
