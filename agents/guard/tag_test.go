package guard

import "testing"

// A guard that runs in a ward of another gives its own wards tags by which the
// other knows them for that ward's.
func TestTag_OfAGuardWithinAWard(t *testing.T) {
	t.Parallel()
	g := &wards{byTag: map[uint64]*ward{}}
	ours := []*ward{{tag: tagUnder(0, 0)}, {tag: tagUnder(0, 1)}, {tag: tagUnder(0, 1<<slotBits-2)}}
	for _, w := range ours {
		g.byTag[w.tag] = w
	}
	for _, w := range ours {
		inner := tagUnder(w.tag, 7)
		for _, tag := range []uint64{w.tag, inner, tagUnder(inner, 3)} {
			if got := g.byTagOrAbove(tag); got != w {
				t.Errorf("the tag %x is taken for that of %+v, not of %+v", tag, got, w)
			}
		}
	}
	if w := g.byTagOrAbove(tagUnder(0, 5)); w != nil {
		t.Errorf("a tag that nobody has is taken for that of %+v", w)
	}
}

func TestTag_IsReadFromThePage(t *testing.T) {
	t.Parallel()
	page := "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max file locks            1048577              unlimited            locks     \n" +
		"Max pending signals       7831                 7831                 signals   \n"
	if tag := tagIn([]byte(page)); tag != 1048577 {
		t.Errorf("the tag is %d", tag)
	}
}
