package bellhop_test

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	widest = 120 // characters of a line of Go, a tab being one, as lll counts them
	// A line may be longer for a string literal of more than this, or for one that stands across the limit.
	longString = 60
)

// No line of Go is longer than 120 characters, but for what cannot be broken:
// a long string, or a row of a test's table.
func TestWidth_OfLines(t *testing.T) {
	t.Parallel()
	for _, name := range tracked(t, "*.go") {
		src := []byte(read(t, name))
		for _, n := range tooWide(src, strings.HasSuffix(name, "_test.go")) {
			t.Errorf("%s:%d is longer than %d characters: break it; a struct literal, one field to a line", name, n, widest)
		}
	}
}

// row is one of a table: a literal of its own, under a name or not.
var row = regexp.MustCompile("^\\s*(\"[^\"]*\":\\s*|`[^`]*`:\\s*)?\\{")

func tooWide(src []byte, test bool) (numbers []int) {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	inString := map[int]bool{} // bytes
	long := map[int]bool{}     // lines of a long string
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.STRING {
			continue
		}
		for i := range len(text) {
			inString[file.Offset(pos)+i] = true
		}
		for i := range strings.Count(text, "\n") + 1 {
			long[file.Line(pos)+i] = long[file.Line(pos)+i] || utf8.RuneCountInString(text) > longString
		}
	}
	n, begin := 0, 0
	for line := range strings.Lines(string(src)) {
		n++
		beyond, characters := -1, 0
		for i := range strings.TrimRight(line, "\n") {
			if characters++; characters == widest+1 {
				beyond = begin + i
			}
		}
		begin += len(line)
		if beyond >= 0 && !inString[beyond] && !long[n] && (!test || !row.MatchString(line)) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func TestWidth_WhatMayBeLonger(t *testing.T) {
	t.Parallel()
	long, short := strings.Repeat("a", widest), strings.Repeat("a", widest-10)
	for src, want := range map[string]int{
		"var x = " + long:                                  1,
		"var x = " + short:                                 0,
		"var x = \"" + long + "\"":                         0,
		"var x = `\n" + long + "`":                         0,
		"// " + long:                                       1,
		"var x = f(\"a\", " + long + ", `b`)":              1,
		"var _ = []T{\n\t{" + long + "},\n}":               0,
		"var _ = map[string]T{\n\"a\": {" + long + "},\n}": 0,
	} {
		if got := tooWide([]byte("package p\n"+src+"\n"), true); len(got) != want {
			t.Errorf("%d lines of %q are too long, want %d", len(got), src, want)
		}
	}
}
