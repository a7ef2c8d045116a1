package report

import (
	"fmt"
	"slices"
	"strings"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// NodeName is a job's key, or its type where it has none.
func NodeName(n view.Node) string {
	if n.Key != nil {
		return *n.Key
	}
	return string(n.Type)
}

// dotColours are X11 colours, which Graphviz knows.
var dotColours = map[scheduler.JobState]string{
	scheduler.Running: "lightblue", scheduler.Assigned: "lightblue", scheduler.Succeeded: "palegreen",
	scheduler.Failed: "salmon", scheduler.Quarantined: "salmon", scheduler.Cancelled: "lightgrey",
	scheduler.Held: "lightyellow", scheduler.Blocked: "lightyellow", scheduler.Scheduled: "lightyellow", scheduler.Ready: "white",
}

// Dot is a graph for Graphviz.
func Dot(g view.Graph) string {
	var b strings.Builder
	b.WriteString("digraph jobs {\n  rankdir=LR;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "  %d [label=%s, fillcolor=%s];\n", n.ID,
			dotQuote(fmt.Sprintf("%s\n%d %s", words.Clean(NodeName(n)), n.ID, n.State)), dotColours[n.State])
	}
	for _, e := range g.Edges {
		var attributes []string
		if !slices.Equal(e.Wanted, []string{string(scheduler.Succeeded)}) {
			attributes = append(attributes, "label="+dotQuote(strings.Join(e.Wanted, " or ")))
		}
		if e.Met {
			attributes = append(attributes, "color=darkgreen")
		}
		line := fmt.Sprintf("  %d -> %d", e.Needs, e.Job)
		if attributes != nil {
			line += " [" + strings.Join(attributes, ", ") + "]"
		}
		b.WriteString(line + ";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// dotQuote is a string of the DOT language.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
