package lock

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse_NamesHoldEveryCharacter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Want{
		"big":                           {Big: true},
		"instance:web1=exclusive":       {Level: "instance", Name: "web1", Mode: Exclusive},
		"node:*=shared":                 {Level: "node", Scope: All, Mode: Shared},
		"node:?=exclusive":              {Level: "node", Scope: Unknown, Mode: Exclusive},
		`node:\*=shared`:                {Level: "node", Name: "*", Mode: Shared},
		`node:\?=shared`:                {Level: "node", Name: "?", Mode: Shared},
		`node:\\a=shared`:               {Level: "node", Name: `\a`, Mode: Shared},
		`node:a\b=shared`:               {Level: "node", Name: `a\b`, Mode: Shared},
		"f:/a b:c=d;\"'\t\n=exclusive":  {Level: "f", Name: "/a b:c=d;\"'\t\n", Mode: Exclusive},
		"customer:Žluťoučký kůň=shared": {Level: "customer", Name: "Žluťoučký kůň", Mode: Shared},
		"x:**=shared":                   {Level: "x", Name: "**", Mode: Shared},
		"x:big=shared":                  {Level: "x", Name: "big", Mode: Shared},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestParse_ErrorsNameThePositionAndWhatToType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		at   int
		says string
	}{
		{"", 1, "it is empty"},
		{"customer 42", 12, "no colon"},
		{"customer:42", 12, "write customer:42=exclusive"},
		{"cust=omer:42", 13, "no = with a mode"},
		{"customer:42=exclusiv", 13, `"exclusiv" is not a valid mode`},
		{"customer:42=Shared", 13, "write customer:42=exclusive"},
		{"customer:=shared", 10, "the name is empty"},
		{`customer:\=shared`, 10, "the name is empty"},
		{":42=shared", 1, "the level is empty"},
		{"big:42=shared", 1, "not a level"},
		{"čas:42=shared", 1, "may not stand in a level"},
		{"a b:42=shared", 2, "may not stand in a level"},
		{"a:ž\xff=shared", 4, "not UTF-8"},
		{"a:ž\x00=shared", 4, "zero byte"},
		{"a:" + strings.Repeat("x", MaxName+1) + "=shared", 3, "1025 bytes"},
	} {
		_, err := Parse(c.text)
		var e *TextError
		if !errors.As(err, &e) || e.At != c.at || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

func TestParseAll_UnknownLevelListsTheLevelsAndNoProblemHidesAnother(t *testing.T) {
	t.Parallel()
	_, err := ParseAll([]string{"rack:1=shared", "node:1", "node:1=shared"}, GanetiLevels)
	if err == nil || !strings.Contains(err.Error(), "nodegroup, instance, node, noderes, network") ||
		!strings.Contains(err.Error(), "no = with a mode") {
		t.Error(err)
	}
}

func TestLevels_Check(t *testing.T) {
	t.Parallel()
	if err := GanetiLevels.Check(); err != nil {
		t.Error(err)
	}
	err := Levels{"a", "big", "a", "b c", ""}.Check()
	for _, says := range []string{"not a level", `"a" is there twice`, "character 2", "is empty"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("no %q in %v", says, err)
		}
	}
}

func TestText_ParseReadsItBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := wants().Draw(t, "want")
		if got, err := Parse(w.Text()); err != nil || got != w {
			t.Fatalf("%q: %+v, %v", w.Text(), got, err)
		}
		s := sets().Draw(t, "set")
		texts := s.Text()
		back, err := ParseAll(texts, testLevels)
		if err != nil || !slices.Equal(back.Text(), texts) || !slices.IsSorted(texts) {
			t.Fatalf("%q: %v, %v", texts, back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"big", "a:b=shared", `a:\*=exclusive`, "a:?=shared", "a::==shared",
		"a:\x00=shared", "=:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse(text)
		if err != nil {
			var e *TextError
			if !errors.As(err, &e) || e.At < 1 || e.At > len(text)+1 {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := Parse(w.Text()); err != nil || again != w {
			t.Fatalf("%q: %+v, then %q: %+v, %v", text, w, w.Text(), again, err)
		}
	})
}

var testLevels = Levels{"a", "b", "c"}

// names are few, so that jobs meet, and odd.
func names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"1", "2", "3", "*", "?", `\`, `\*`, "x:y=z ", "ž"}),
		rapid.StringN(1, 8, 32).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }))
}

func wants() *rapid.Generator[Want] {
	return rapid.Custom(func(t *rapid.T) Want {
		if rapid.IntRange(0, 19).Draw(t, "big") == 0 {
			return Want{Big: true}
		}
		w := Want{Level: rapid.SampledFrom(testLevels).Draw(t, "level"),
			Mode: rapid.SampledFrom([]Mode{Shared, Exclusive}).Draw(t, "mode")}
		switch rapid.IntRange(0, 5).Draw(t, "scope") {
		case 0:
			w.Scope = All
		case 1:
			w.Scope = Unknown
		default:
			w.Name = names().Draw(t, "name")
		}
		return w
	})
}

func sets() *rapid.Generator[Set] {
	return rapid.Custom(func(t *rapid.T) Set { return NewSet(rapid.SliceOfN(wants(), 0, 5).Draw(t, "wants")...) })
}
