package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/lexer"
)

// stairs are mappings within each other, by indentation.
func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

// What a parser would take minutes and gigabytes for is refused in words before it is parsed, at its place.
func TestBounds_BeforeTheParser(t *testing.T) {
	t.Parallel()
	const deep = "lists and keys more than 100 levels deep"
	for name, x := range map[string]struct{ text, want string }{
		"500,000 brackets":     {strings.Repeat("[", 500_000), deep},
		"20,000 brackets":      {`{"workflow":"x","steps":` + strings.Repeat("[", 20_000), deep},
		"braces":               {strings.Repeat("{a: ", 101), deep},
		"indentation":          {stairs(101), deep},
		"lists in a line":      {strings.Repeat("- ", 20_000) + "x", deep},
		"keys in a line":       {strings.Repeat("a: ", 20_000), deep},
		"explicit keys":        {strings.Repeat("? ", 20_000), deep},
		"tags":                 {strings.Repeat("!t ", 20_000), deep},
		"anchors":              {strings.Repeat("&a ", 20_000), deep},
		"tags between":         {strings.Repeat("[!t ", 101), deep},
		"in a later document":  {"a: 1\n---\n" + stairs(101), deep},
		"keys of one mapping":  {keys(2_001), "more than 2000 keys in one place"},
		"keys in braces":       {"{" + strings.Repeat("a: 1,", 2_001) + "}", "more than 2000 keys in one place"},
		"documents":            {strings.Repeat("---\na: 1\n", 10_001), "more than 10000 documents in one file"},
		"4 MB, and a byte":     {strings.Repeat("#", 4<<20+1), "is larger than 4096 kB"},
		"aliases that explode": {laughs, "aliases stand for more than 50000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Workflows(File{Name: "x.yaml", Text: []byte(x.text)})
			var all *Problems
			if !errors.As(err, &all) || len(all.List) == 0 {
				t.Fatalf("it was read: %v", err)
			}
			if !slices.ContainsFunc(all.List, func(p Problem) bool { return strings.Contains(p.Text, x.want) && p.File == "x.yaml" }) {
				t.Errorf("%.300v\nwant %s", all.List[0], x.want)
			}
		})
	}
}

// Each step stands for 20,000 others, and is there 5,000 times.
var laughs = "workflow: w\nsteps:\n- &s {name: a, type: t, after: [" + strings.Repeat("a,", 20_000) + "]}\n" +
	strings.Repeat("- *s\n", 5_000)

// What people write is far within the bounds: documents apart, directives, and anchors that are used again.
func TestBounds_LeaveWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	one := "workflow: w%d\nsteps: [{name: a, type: t}]\n"
	var many strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&many, "---\n# remark\n"+one, i)
	}
	for name, x := range map[string]struct {
		text string
		n    int
	}{
		"documents":  {many.String(), 1_000},
		"no header":  {fmt.Sprintf(one+"---\n"+one, 1, 2), 2},
		"ends":       {fmt.Sprintf(one+"...\n---\n"+one, 1, 2), 2},
		"directives": {fmt.Sprintf("%%YAML 1.2\n---\n"+one+"---\n"+one, 1, 2), 2},
		"anchors": {"workflow: w\nparameters: {A: &v x}\nsteps:\n" + func() string {
			var b strings.Builder
			for i := range 1_000 {
				fmt.Fprintf(&b, "- {name: s%d, type: t, args: *v}\n", i)
			}
			return b.String()
		}(), 1},
	} {
		list, err := Workflows(File{Name: "x.yaml", Text: []byte(x.text)})
		if err != nil || len(list) != x.n {
			t.Errorf("%s: %d workflows, %v", name, len(list), err)
		}
	}
	_, err := Workflows(File{Name: "x.yaml", Text: []byte(fmt.Sprintf(one, 1) + "---\nworkflow: w2\nstepz: []\n")})
	if err == nil || !strings.Contains(err.Error(), "x.yaml:5:1") {
		t.Errorf("a problem of a later document stands elsewhere: %v", err)
	}
}

// FuzzBounds: whatever passes the bounds is parsed in a time that grows as the text does.
func FuzzBounds(f *testing.F) {
	for _, text := range []string{"[[[", stairs(9), keys(9), "- - ? a: b", "!t &a [*a, {a: !u b}]", "a: |\n  x\n---\nb: >\n  y\n...\n%YAML 1.2\n---\n"} {
		f.Add([]byte(text), uint16(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, times uint16) {
		if times = min(times, 4_000); len(text)*int(times) > maxSize {
			return
		}
		whole := strings.Repeat(string(text), int(times))
		began := time.Now()
		lexer.Tokenize(whole)
		read := time.Since(began)
		_, _ = Workflows(File{Name: "x.yaml", Text: []byte(whole)}) // an error is an answer
		if took := time.Since(began); took > 5*time.Second+100*read {
			t.Errorf("%d bytes took %s, of which the tokens took %s", len(whole), took, read)
		}
	})
}
