package workflow

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiff_Table(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ from, to, want string }{
		{"a b c", "a b c", ""},
		{"", "a b", "+a +b"},
		{"a b", "", "-a -b"},
		{"a b c", "a x c", " a -b +x  c"},
		{"1 2 3 4 5 6 7 8 9", "1 2 3 4 X 6 7 8 9", " …  2  3  4 -5 +X  6  7  8  …"},
	} {
		if got := strings.Join(Diff(strings.Fields(x.from), strings.Fields(x.to)), " "); got != x.want {
			t.Errorf("%q to %q: %q, want %q", x.from, x.to, got, x.want)
		}
	}
}

// The lines of both texts are there, in their order.
func TestDiff_HoldsBoth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 6)
		from, to := text.Draw(t, "from"), text.Draw(t, "to")
		lines := middle(from, to)
		var a, b []string
		for _, l := range lines {
			if l[0] != '+' {
				a = append(a, l[1:])
			}
			if l[0] != '-' {
				b = append(b, l[1:])
			}
		}
		if !slices.Equal(a, from) || !slices.Equal(b, to) {
			t.Fatalf("%q to %q: %q", from, to, lines)
		}
	})
}
