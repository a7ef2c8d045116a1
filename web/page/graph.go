package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/scheduler/layered"
	"bellhop/sql/view"
)

// graphMost is how many jobs a picture has room for.
const graphMost = 500

// The small text of a graph in pixels, and how far it may shrink.
const (
	smallText = 11
	leastText = 10
)

var graphSize = layered.Size{Width: 170, Height: 40, Across: 50, Down: 14}

type graphData struct {
	ID     string
	Jobs   []graphJob
	Others int // jobs that the list leaves out
	Shapes shapes
	Most   bool
	N      int
	Path   []view.Node // the way of those that are not over that is longest
}

// graphJob is a job of the list beside the picture.
type graphJob struct {
	near
	Needs []scheduler.JobID
}

// graphListed is how many jobs of a graph are listed.
const graphListed = 100

// shapes is a graph as it is drawn.
type shapes struct {
	Width, Height float64
	Least         float64 // so narrow that the small text is as large as can be read
	Wide          bool    // wider than most windows: its size can be chosen
	Nodes         []shape
	Arrows        []arrow
}

type shape struct {
	X, Y, W, H float64
	Href       string
	State      string
	Name, Says string
	This       bool
}

type arrow struct {
	Path          string
	Met, Critical bool
	Says          string
}

func graph(r *request) (content, error) {
	n, err := strconv.ParseInt(r.arg, 10, 64)
	if err != nil || n <= 0 {
		return content{}, errNotFound
	}
	g, err := r.Look.Graph(r, scheduler.JobID(n), graphMost)
	if err != nil {
		return content{}, err
	}
	if len(g.Nodes) == 0 {
		return content{}, errNotFound
	}
	if r.query.Get("format") == "dot" {
		return content{Type: "text/vnd.graphviz; charset=utf-8", Raw: []byte(report.Dot(g))}, nil
	}
	d := graphData{ID: r.arg, N: len(g.Nodes), Most: len(g.Nodes) == graphMost}
	d.Path = longestOpen(g)
	d.Shapes = draw(g, scheduler.JobID(n), d.Path)
	d.list(g)
	return content{Title: "Graph of #" + r.arg, Template: "graph", Data: d}, nil
}

// list lists the jobs of a graph, each behind those that it needs.
func (d *graphData) list(g view.Graph) {
	victims, needs := notRun(g), map[scheduler.JobID][]scheduler.JobID{}
	for _, e := range g.Edges {
		needs[e.Job] = append(needs[e.Job], e.Needs)
	}
	for _, n := range g.Nodes[:min(len(g.Nodes), graphListed)] {
		d.Jobs = append(d.Jobs, graphJob{near{n, victims[n.ID]}, needs[n.ID]})
	}
	d.Others = len(g.Nodes) - len(d.Jobs)
}

// notRun are the jobs that failed since one that they need did: what failed first is another.
func notRun(g view.Graph) map[scheduler.JobID]bool {
	failed, over := map[scheduler.JobID]bool{}, map[scheduler.JobID]bool{}
	for _, n := range g.Nodes {
		failed[n.ID], over[n.ID] = n.State == scheduler.Failed && n.ExitCode == nil, n.State.Final()
	}
	victims := map[scheduler.JobID]bool{}
	for _, e := range g.Edges {
		if failed[e.Job] && over[e.Needs] && !e.Met {
			victims[e.Job] = true
		}
	}
	return victims
}

// draw makes shapes of jobs.
func draw(g view.Graph, this scheduler.JobID, path []view.Node) shapes {
	at := map[scheduler.JobID]int{}
	for i, n := range g.Nodes {
		at[n.ID] = i
	}
	var list []layered.Edge
	var kept []view.Dependency
	for _, e := range g.Edges {
		from, ok := at[e.Needs]
		to, both := at[e.Job]
		if ok && both {
			list = append(list, layered.Edge{From: from, To: to})
			kept = append(kept, e)
		}
	}
	p := layered.Draw(len(g.Nodes), list, graphSize)
	const margin = 8
	s := shapes{Width: p.Width + 2*margin, Height: p.Height + 2*margin, Wide: p.Width > 340}
	s.Least = math.Round(s.Width * leastText / smallText)
	victims := notRun(g)
	for i, n := range g.Nodes {
		q := p.Nodes[i]
		state := string(n.State)
		if victims[n.ID] {
			state = "not run"
		}
		s.Nodes = append(s.Nodes, shape{X: q.X + margin, Y: q.Y + margin, W: graphSize.Width, H: graphSize.Height,
			Href: fmt.Sprintf("/jobs/%d", n.ID), State: strings.ReplaceAll(state, " ", "-"), Name: short(report.NodeName(n), 22),
			Says: fmt.Sprintf("#%d %s", n.ID, state), This: n.ID == this})
	}
	on := map[[2]scheduler.JobID]bool{}
	for i := 1; i < len(path); i++ {
		on[[2]scheduler.JobID{path[i-1].ID, path[i].ID}] = true
	}
	for i, points := range p.Edges {
		e := kept[i]
		a := arrow{Met: e.Met, Critical: on[[2]scheduler.JobID{e.Needs, e.Job}], Path: curve(points, margin)}
		if !slices.Equal(e.Wanted, []string{string(scheduler.Succeeded)}) {
			a.Says = "if " + strings.Join(e.Wanted, " or ")
		}
		s.Arrows = append(s.Arrows, a)
	}
	return s
}

// curve is a way through points as SVG writes it.
func curve(points []layered.Point, margin float64) string {
	var b strings.Builder
	for i, q := range points {
		x, y := q.X+margin, q.Y+margin
		if i == 0 {
			fmt.Fprintf(&b, "M%.0f %.0f", x, y)
			continue
		}
		before := points[i-1]
		mid := (before.X+q.X)/2 + margin
		fmt.Fprintf(&b, "C%.0f %.0f %.0f %.0f %.0f %.0f", mid, before.Y+margin, mid, y, x, y)
	}
	return b.String()
}

// short is the beginning of a name, so many characters.
func short(s string, most int) string {
	s = clean(s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// longestOpen is the longest way through jobs that are not over: what keeps the
// end of the graph back.
func longestOpen(g view.Graph) []view.Node {
	at := map[scheduler.JobID]int{}
	for i, n := range g.Nodes {
		if !n.State.Final() {
			at[n.ID] = i
		}
	}
	needs := map[scheduler.JobID][]scheduler.JobID{}
	for _, e := range g.Edges {
		if _, ok := at[e.Needs]; ok {
			needs[e.Job] = append(needs[e.Job], e.Needs)
		}
	}
	length, before := map[scheduler.JobID]int{}, map[scheduler.JobID]scheduler.JobID{}
	for range g.Nodes { // at most so often, and mostly twice: ids grow along the way
		changed := false
		for _, n := range g.Nodes {
			if _, ok := at[n.ID]; !ok {
				continue
			}
			for _, need := range needs[n.ID] {
				if l := length[need] + 1; l > length[n.ID] && l <= len(g.Nodes) {
					length[n.ID], before[n.ID], changed = l, need, true
				}
			}
		}
		if !changed {
			break
		}
	}
	var last scheduler.JobID
	for id, l := range length {
		if l > length[last] || l == length[last] && id < last {
			last = id
		}
	}
	if length[last] == 0 {
		return nil
	}
	var path []view.Node
	for id, ok := last, true; ok && len(path) <= len(g.Nodes); id, ok = before[id] {
		path = append(path, g.Nodes[at[id]])
	}
	slices.Reverse(path)
	return path
}
