package layered

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// crossingsMost is how many times as many arrows may cross as in Graphviz's pictures of the same graphs.
const crossingsMost = 1.25

// Arrows cross hardly more often than where Graphviz draws the same graphs.
func TestDraw_CrossesHardlyMoreThanGraphviz(t *testing.T) {
	t.Parallel()
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("no dot is here: pictures are not compared with Graphviz's (apt-get install graphviz)")
	}
	ours, theirs := 0, 0
	for name, g := range drawn() {
		a, b := crossed(Draw(g.n, g.edges, size).Edges, g.edges), crossed(graphviz(t, dot, g), g.edges)
		t.Logf("%s: %d nodes, %d edges: %d crossings, Graphviz %d", name, g.n, len(g.edges), a, b)
		ours, theirs = ours+a, theirs+b
	}
	if theirs == 0 {
		t.Fatal("Graphviz's arrows never cross: nothing is compared")
	}
	if ratio := float64(ours) / float64(theirs); ratio > crossingsMost {
		t.Errorf("%d crossings, Graphviz %d: %.2f times as many", ours, theirs, ratio)
	}
}

type picture struct {
	n     int
	edges []Edge
}

// drawn are graphs such as people make of jobs, the same ones each time: chains that fan out and in, pipelines of
// stages, trees, and what grew by itself.
func drawn() map[string]picture {
	graphs := map[string]picture{}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 42))
		stages := picture{}
		before := []int{}
		for range 5 {
			var stage []int
			for range 2 + r.IntN(6) {
				for _, i := range r.Perm(len(before))[:min(len(before), 1+r.IntN(2))] {
					stages.edges = append(stages.edges, Edge{before[i], stages.n})
				}
				stage = append(stage, stages.n)
				stages.n++
			}
			before = stage
		}
		graphs[fmt.Sprint("stages ", seed)] = stages
		grown := picture{n: 15 + r.IntN(30)}
		for v := 1; v < grown.n; v++ {
			for _, i := range r.Perm(min(v, 8))[:min(v, 1+r.IntN(2))] {
				grown.edges = append(grown.edges, Edge{v - 1 - i, v})
			}
		}
		graphs[fmt.Sprint("grown ", seed)] = grown
		tree := picture{n: 30}
		for v := 1; v < tree.n; v++ {
			tree.edges = append(tree.edges, Edge{r.IntN(v), v})
		}
		graphs[fmt.Sprint("tree ", seed)] = tree
	}
	return graphs
}

// graphviz gives the ways of the edges in its picture, in their order.
func graphviz(t *testing.T, dot string, g picture) [][]Point {
	t.Helper()
	var text strings.Builder
	text.WriteString("digraph { rankdir=LR; node [shape=box, width=1.7, height=0.4, fixedsize=true];\n")
	for v := range g.n {
		fmt.Fprintf(&text, "%d;\n", v)
	}
	for i, e := range g.edges {
		fmt.Fprintf(&text, "%d -> %d [id=%d, color=%d];\n", e.From, e.To, i, i)
	}
	text.WriteString("}\n")
	run := exec.Command(dot, "-Tplain")
	run.Stdin = strings.NewReader(text.String())
	var said bytes.Buffer
	run.Stderr = &said
	out, err := run.Output()
	if err != nil {
		t.Fatalf("dot: %v: %s", err, said.String())
	}
	ways := make([][]Point, len(g.edges))
	for line := range strings.Lines(string(out)) {
		// edge FROM TO N X1 Y1 … STYLE COLOR: the colour is its number.
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "edge" {
			continue
		}
		number := func(s string) float64 {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatalf("dot says %q", line)
			}
			return n
		}
		n := int(number(f[3]))
		var control []Point
		for i := range n {
			control = append(control, Point{number(f[4+2*i]), number(f[5+2*i])})
		}
		ways[int(number(f[len(f)-1]))] = flat(control)
	}
	return ways
}

// flat is a curve of Bézier's pieces as straight ones.
func flat(c []Point) (way []Point) {
	for i := 0; i+3 < len(c); i += 3 {
		for s := range 8 {
			t := float64(s) / 8
			u := 1 - t
			at := func(a, b, c, d float64) float64 { return u*u*u*a + 3*u*u*t*b + 3*u*t*t*c + t*t*t*d }
			way = append(way, Point{at(c[i].X, c[i+1].X, c[i+2].X, c[i+3].X), at(c[i].Y, c[i+1].Y, c[i+2].Y, c[i+3].Y)})
		}
	}
	return append(way, c[len(c)-1])
}

// crossed counts the pairs of ways that cross, but for those that have a node in common.
func crossed(ways [][]Point, edges []Edge) (n int) {
	for i, a := range edges {
		for j, b := range edges[:i] {
			if a.From != b.From && a.To != b.To && a.From != b.To && a.To != b.From && cross(ways[i], ways[j]) {
				n++
			}
		}
	}
	return n
}

func cross(a, b []Point) bool {
	side := func(p, q, r Point) float64 { return (q.X-p.X)*(r.Y-p.Y) - (q.Y-p.Y)*(r.X-p.X) }
	for i := 1; i < len(a); i++ {
		for j := 1; j < len(b); j++ {
			if side(a[i-1], a[i], b[j-1])*side(a[i-1], a[i], b[j]) < 0 &&
				side(b[j-1], b[j], a[i-1])*side(b[j-1], b[j], a[i]) < 0 {
				return true
			}
		}
	}
	return false
}
