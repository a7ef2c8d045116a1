package scheduler

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPairs_Text(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns []Column
		want    string
	}{
		{nil, ""},
		{[]Column{{"pfile", "7"}}, `pfile="7"`},
		{[]Column{{"a", ""}, {"b", " x "}}, `a="" b=" x "`},
		{[]Column{{"path", `C:\"new"`}, {"text", "one\r\ntwo"}}, `path="C:\\\"new\"" text="one\r\ntwo"`},
		{[]Column{{"odd", "\x00\xff\u2028\t"}}, "odd=\"\x00\xff\u2028\t\""},
	} {
		if got := Pairs(c.columns); got != c.want {
			t.Errorf("Pairs(%q) = %s, want %s", c.columns, got, c.want)
		}
	}
}

// unpair reads an item as an agent would that knows the contract only.
func unpair(line string) ([]Column, error) {
	var columns []Column
	for line != "" {
		name, rest, found := strings.Cut(line, `="`)
		if !found {
			return nil, errors.New("no value")
		}
		var value strings.Builder
		i := 0
		for ; i < len(rest) && rest[i] != '"'; i++ {
			if rest[i] != '\\' {
				value.WriteByte(rest[i])
				continue
			}
			if i++; i == len(rest) {
				return nil, errors.New("nothing after a backslash")
			}
			switch rest[i] {
			case 'n':
				value.WriteByte('\n')
			case 'r':
				value.WriteByte('\r')
			case '\\', '"':
				value.WriteByte(rest[i])
			default:
				return nil, errors.New("unknown escape")
			}
		}
		if i == len(rest) {
			return nil, errors.New("no end of value")
		}
		columns = append(columns, Column{name, value.String()})
		if line = rest[i+1:]; line != "" {
			if line[0] != ' ' || len(line) == 1 {
				return nil, errors.New("no blank between two pairs")
			}
			line = line[1:]
		}
	}
	return columns, nil
}

// Law: an item is one line, and what is read from it is what was written.
func TestPairs_RoundTrip(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z_][a-z0-9_]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Column {
			return Column{name.Draw(t, "name"), string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))}
		}), 0, 8).Draw(t, "columns")
		checkPairs(t, columns)
	})
}

func checkPairs(t interface{ Fatalf(string, ...any) }, columns []Column) {
	line := Pairs(columns)
	if strings.ContainsAny(line, "\n\r") {
		t.Fatalf("%q has a line break", line)
	}
	back, err := unpair(line)
	if err != nil || !slices.Equal(back, columns) {
		t.Fatalf("%q was read from %q (%v), want %q", back, line, err, columns)
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("a", `\`, "b", `"`)
	f.Add("n", "\n", "r", "\r\\r")
	f.Add("x", `" b="`, "y", `\" \\" `)
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string) {
		if n1 == "" || n2 == "" || strings.ContainsAny(n1+n2, "=\"\n\r ") {
			t.Skip() // not the names that columns have
		}
		checkPairs(t, []Column{{n1, v1}, {n2, v2}})
	})
}

func TestVars_Map(t *testing.T) {
	t.Parallel()
	if m := Vars(`{"A":"1","B":""}`).Map(); len(m) != 2 || m["A"] != "1" {
		t.Errorf("%v", m)
	}
	for _, v := range []Vars{"", "null", "[]", `{"a":1}`, "{"} {
		if m := v.Map(); len(m) != 0 {
			t.Errorf("%s: %v", v, m)
		}
	}
}
