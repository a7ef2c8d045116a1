// Package layered draws graphs whose arrows lead one way: a node that is needed stands left of those that need it.
// It is a pure function of the graph alone, so that a picture that is drawn again while jobs go on stays where it
// was.
package layered

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Edge leads from one node to another, both by their numbers from 0 on.
type Edge struct{ From, To int }

// Point is a place in the picture.
type Point struct{ X, Y float64 }

// Size is how large nodes are, and how far apart.
type Size struct{ Width, Height, Across, Down float64 }

// Picture says where nodes stand (their upper left corners), and by which points edges go.
type Picture struct {
	Nodes         []Point
	Edges         [][]Point // from the right side of a node to the left side of the next, by way of the layers between
	Width, Height float64
}

// sweeps is how often the order within layers is mended; the best of all counts.
const sweeps = 12

// Draw places n nodes. Edges on a circle, and to a node itself, are drawn as
// they are, and do not count for the layers.
func Draw(n int, edges []Edge, s Size) Picture {
	g := newGraph(n, edges)
	g.order()
	return g.place(s)
}

type graph struct {
	n      int
	edges  []Edge
	chains [][]int // of an edge: its nodes, those between layers among them
	layer  []int   // of a node, and of those between
	layers [][]int
	up     [][]int // neighbours in the layer before
	down   [][]int
	pos    []int // within its layer
}

func newGraph(n int, edges []Edge) *graph {
	g := &graph{n: n, edges: edges, layer: layersOf(n, edges)}
	most := 0
	for _, l := range g.layer {
		most = max(most, l)
	}
	g.layers = make([][]int, most+1)
	for v, l := range g.layer {
		g.layers[l] = append(g.layers[l], v)
	}
	g.up, g.down = make([][]int, n), make([][]int, n)
	for _, e := range edges {
		chain := []int{e.From}
		for l := g.layer[e.From] + 1; l < g.layer[e.To]; l++ {
			v := len(g.layer)
			g.layer = append(g.layer, l)
			g.layers[l] = append(g.layers[l], v)
			g.up, g.down = append(g.up, nil), append(g.down, nil)
			chain = append(chain, v)
		}
		chain = append(chain, e.To)
		if g.layer[e.From] < g.layer[e.To] {
			for i := 1; i < len(chain); i++ {
				g.down[chain[i-1]] = append(g.down[chain[i-1]], chain[i])
				g.up[chain[i]] = append(g.up[chain[i]], chain[i-1])
			}
		}
		g.chains = append(g.chains, chain)
	}
	return g
}

// layersOf gives each node the length of the longest way to it. Not by calls
// that call each other: a chain may be long.
func layersOf(n int, edges []Edge) []int {
	layer, open := make([]int, n), make([]int, n)
	out := make([][]int, n)
	for _, e := range edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], e.To)
			open[e.To]++
		}
	}
	var ready []int
	done := make([]bool, n)
	for v := range n {
		if open[v] == 0 {
			ready = append(ready, v)
		}
	}
	for left := n; left > 0; {
		if len(ready) == 0 { // a circle: it is cut at its first node
			for v := range n {
				if !done[v] {
					ready = append(ready, v)
					break
				}
			}
		}
		v := ready[0]
		ready = ready[1:]
		if done[v] {
			continue
		}
		done[v] = true
		left--
		for _, w := range out[v] {
			if done[w] {
				continue
			}
			layer[w] = max(layer[w], layer[v]+1)
			if open[w]--; open[w] == 0 {
				ready = append(ready, w)
			}
		}
	}
	return layer
}

// starts is from how many orders it begins to mend: one may lead to where nothing becomes better, and another past it.
// More than a few cost time, and a large graph has enough of one.
const (
	starts     = 8
	startsMost = 400 // pieces of edges
)

// order puts the nodes of each layer next to what they are connected with, and
// keeps the order that crosses least.
func (g *graph) order() {
	g.pos = make([]int, len(g.layer))
	g.number()
	best, least := g.copied(), g.Crossings()
	pieces := 0
	for _, c := range g.chains {
		pieces += len(c) - 1
	}
	first, dice := g.copied(), rand.New(rand.NewPCG(1, 2)) // the same ones each time
	for start := range starts {
		if least == 0 || start > 0 && pieces > startsMost {
			break
		}
		for j, l := range first {
			copy(g.layers[j], l)
			if start > 0 {
				dice.Shuffle(len(l), func(a, b int) { g.layers[j][a], g.layers[j][b] = g.layers[j][b], g.layers[j][a] })
			}
		}
		g.number()
		for i := range sweeps {
			g.sweep(i)
			g.swap()
			if n := g.Crossings(); n < least {
				best, least = g.copied(), n
			}
		}
	}
	g.layers = best
	g.number()
}

// number tells each node its place in its layer.
func (g *graph) number() {
	for _, l := range g.layers {
		for i, v := range l {
			g.pos[v] = i
		}
	}
}

// sweep sorts each layer by the middle of its neighbours in the one before, from the left; every other time from the
// right. Those that have the same middle change places every other pair of times.
func (g *graph) sweep(i int) {
	for j := range g.layers {
		l, near := g.layers[j], g.up
		if i%2 == 1 {
			l, near = g.layers[len(g.layers)-1-j], g.down
		}
		weight := map[int]float64{}
		for _, v := range l {
			weight[v] = float64(g.pos[v])
			if len(near[v]) > 0 {
				sum := 0
				for _, w := range near[v] {
					sum += g.pos[w]
				}
				weight[v] = float64(sum) / float64(len(near[v]))
			}
		}
		if i%4 > 1 {
			slices.Reverse(l)
		}
		slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
		for i, v := range l {
			g.pos[v] = i
		}
	}
}

// swap lets two that stand beside each other in a layer change places where fewer edges cross then, until none does: an
// average of neighbours cannot tell two from each other that have the same one.
func (g *graph) swap() {
	for range sweeps {
		better := false
		for _, l := range g.layers {
			for i := 1; i < len(l); i++ {
				v, w := l[i-1], l[i]
				is := g.between(v, w, g.up) + g.between(v, w, g.down)
				if would := g.between(w, v, g.up) + g.between(w, v, g.down); would < is {
					l[i-1], l[i], g.pos[v], g.pos[w] = w, v, i, i-1
					better = true
				}
			}
		}
		if !better {
			return
		}
	}
}

// between counts the pairs of edges of two nodes that cross, where the first stands above the second.
func (g *graph) between(above, below int, near [][]int) (n int) {
	for _, a := range near[above] {
		for _, b := range near[below] {
			if g.pos[a] > g.pos[b] {
				n++
			}
		}
	}
	return n
}

func (g *graph) copied() [][]int {
	list := make([][]int, len(g.layers))
	for i, l := range g.layers {
		list[i] = slices.Clone(l)
	}
	return list
}

// Crossings counts pairs of edges between the same layers that cross.
func (g *graph) Crossings() (n int) {
	for _, l := range g.layers {
		var ends []int // of the edges in the order of their begins
		for _, v := range l {
			to := make([]int, 0, len(g.down[v]))
			for _, w := range g.down[v] {
				to = append(to, g.pos[w])
			}
			slices.Sort(to)
			ends = append(ends, to...)
		}
		n += inversions(ends)
	}
	return n
}

// inversions counts pairs that stand in the wrong order, by merging.
func inversions(list []int) int {
	if len(list) < 2 {
		return 0
	}
	a, b := slices.Clone(list[:len(list)/2]), slices.Clone(list[len(list)/2:])
	n := inversions(a) + inversions(b)
	i, j := 0, 0
	for k := range list {
		if j == len(b) || i < len(a) && a[i] <= b[j] {
			list[k] = a[i]
			i++
			continue
		}
		list[k] = b[j]
		j++
		n += len(a) - i
	}
	return n
}

// place gives nodes their places: each as near to the middle of its neighbours
// as those above it in its layer let it.
func (g *graph) place(s Size) Picture {
	row := s.Height + s.Down
	y := make([]float64, len(g.layer))
	for _, l := range g.layers {
		for i, v := range l {
			y[v] = float64(i) * row
		}
	}
	for i := range 2 * sweeps {
		near := g.up
		if i%2 == 1 {
			near = g.down
		}
		for j := range g.layers {
			l := g.layers[j]
			if i%2 == 1 {
				l = g.layers[len(g.layers)-1-j]
			}
			settle(l, y, near, row)
		}
	}
	least, most := 0.0, 0.0
	for i, v := range y {
		if i == 0 {
			least = v
		}
		least, most = min(least, v), max(most, v)
	}
	p := Picture{Width: float64(len(g.layers))*(s.Width+s.Across) - s.Across, Height: most - least + s.Height}
	at := func(v int) Point { return Point{float64(g.layer[v]) * (s.Width + s.Across), y[v] - least} }
	for v := range g.n {
		p.Nodes = append(p.Nodes, at(v))
	}
	for _, chain := range g.chains {
		var points []Point
		for i, v := range chain {
			q := at(v)
			q.Y += s.Height / 2
			switch {
			case i == 0:
				q.X += s.Width
				points = append(points, q)
			case i == len(chain)-1:
				points = append(points, q)
			default: // straight through its layer
				points = append(points, q, Point{q.X + s.Width, q.Y})
			}
		}
		p.Edges = append(p.Edges, points)
	}
	return p
}

// settle moves the nodes of a layer towards their neighbours, and keeps their order and distance.
func settle(l []int, y []float64, near [][]int, row float64) {
	want := make([]float64, len(l))
	for i, v := range l {
		want[i] = y[v]
		if len(near[v]) > 0 {
			sum := 0.0
			for _, w := range near[v] {
				sum += y[w]
			}
			want[i] = sum / float64(len(near[v]))
		}
	}
	// From above and from below, each as far as the ones before it let it; the middle of both keeps the distance.
	down, up := slices.Clone(want), slices.Clone(want)
	for i := 1; i < len(l); i++ {
		down[i] = max(down[i], down[i-1]+row)
	}
	for i := len(l) - 2; i >= 0; i-- {
		up[i] = min(up[i], up[i+1]-row)
	}
	for i, v := range l {
		y[v] = (down[i] + up[i]) / 2
	}
}
