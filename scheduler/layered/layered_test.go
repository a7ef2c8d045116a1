package layered

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var size = Size{Width: 100, Height: 20, Across: 40, Down: 10}

// Whoever is needed stands left of whoever needs it, no two nodes touch, and the same graph gives the same picture.
func TestDraw_PlacesWhatIsNeededToTheLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		var edges []Edge
		for range rapid.IntRange(0, 120).Draw(t, "edges") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
			if a < b {
				edges = append(edges, Edge{a, b})
			}
		}
		p := Draw(n, edges, size)
		if len(p.Nodes) != n || len(p.Edges) != len(edges) {
			t.Fatalf("%d nodes, %d edges", len(p.Nodes), len(p.Edges))
		}
		for i, e := range edges {
			if p.Nodes[e.From].X+size.Width+size.Across > p.Nodes[e.To].X+0.01 {
				t.Fatalf("%d, which %d needs, is not left of it", e.From, e.To)
			}
			if first := p.Edges[i][0]; first.X != p.Nodes[e.From].X+size.Width {
				t.Fatalf("an arrow begins at %v", first)
			}
		}
		for i, a := range p.Nodes {
			if a.X < 0 || a.Y < 0 || a.X+size.Width > p.Width+0.01 || a.Y+size.Height > p.Height+0.01 {
				t.Fatalf("%v is outside of %v × %v", a, p.Width, p.Height)
			}
			for _, b := range p.Nodes[:i] {
				if a.X == b.X && max(a.Y, b.Y)-min(a.Y, b.Y) < size.Height+size.Down-0.01 {
					t.Fatalf("%v touches %v", a, b)
				}
			}
		}
		if again := Draw(n, edges, size); !slices.Equal(again.Nodes, p.Nodes) {
			t.Fatal("drawn again it looks otherwise")
		}
	})
}

// A circle, and a node that needs itself, are drawn somehow, and end.
func TestDraw_EndsOnCircles(t *testing.T) {
	t.Parallel()
	p := Draw(4, []Edge{{0, 1}, {1, 2}, {2, 0}, {3, 3}}, size)
	if len(p.Nodes) != 4 || len(p.Edges) != 4 {
		t.Errorf("%+v", p)
	}
}

// Two chains that are listed criss-cross are drawn side by side.
func TestDraw_Untangles(t *testing.T) {
	t.Parallel()
	g := newGraph(6, []Edge{{0, 4}, {1, 3}, {2, 5}, {4, 5}, {0, 3}})
	g.order()
	if n := g.Crossings(); n > 0 {
		t.Errorf("%d crossings where none is needed", n)
	}
	if n := inversions([]int{3, 1, 2, 0, 5}); n != 5 {
		t.Errorf("%d inversions", n)
	}
}
