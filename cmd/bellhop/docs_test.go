package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// Lines of scripts that begin with bellhop, behind a prompt or another command, and commands in the text of a page.
var (
	fencedBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	quotedWords = regexp.MustCompile("`((?:bin/)?bellhop [^`]+)`")
	scriptWords = regexp.MustCompile(`(?m)(?:^|[|;(]|&&|\$\(|^\$) *((?:bin/)?bellhop [^\n]*)`)
)

// Each command that README and the pages name is one, and takes the flags that stand there.
func TestDocs_CommandsAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, block := range fencedBlock.FindAllStringSubmatch(string(text), -1) {
			if block[1] != "" && block[1] != "sh" {
				continue
			}
			for _, m := range scriptWords.FindAllStringSubmatch(strings.ReplaceAll(block[2], "\\\n", " "), -1) {
				lines = append(lines, m[1])
			}
		}
		for _, m := range quotedWords.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
			lines = append(lines, strings.Join(strings.Fields(m[1]), " "))
		}
		for _, line := range lines {
			found++
			if why := misspelt(newRoot(&cli.App{Getenv: os.Getenv}), line); why != "" {
				t.Errorf("%s: %s: %s", filepath.Base(page), line, why)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d commands were found", found)
	}
}

// misspelt says what is wrong with a command line; empty: nothing. Words in brackets and capitals stand for others.
func misspelt(root *cobra.Command, line string) string {
	words := shellWords(line)[1:]
	at := root
	for i, word := range words {
		if strings.HasPrefix(word, "-") {
			break
		}
		next, _, err := at.Find([]string{word})
		if err != nil || next == at {
			if at.HasSubCommands() && !at.Runnable() || at == root && i == 0 && strings.ToLower(word) == word && word != "…" {
				return "there is no command " + word
			}
			break
		}
		at = next
	}
	at.InitDefaultHelpFlag()
	for _, word := range words {
		name, _, _ := strings.Cut(strings.TrimRight(word, ";)"), "=")
		switch {
		case word == "--":
			return ""
		case strings.HasPrefix(name, "--"):
			if at.Flag(name[2:]) == nil {
				return at.CommandPath() + " has no flag " + name
			}
		case len(name) == 2 && name[0] == '-' && (name[1] < '0' || name[1] > '9'):
			if at.Flags().ShorthandLookup(name[1:]) == nil && at.InheritedFlags().ShorthandLookup(name[1:]) == nil {
				return at.CommandPath() + " has no flag " + name
			}
		case strings.HasPrefix(word, "#") || strings.ContainsAny(word[:1], "|;>"):
			return ""
		}
	}
	return ""
}

// shellWords are the words of a line as a shell reads them, without what it would put in.
func shellWords(line string) (words []string) {
	var word strings.Builder
	var quote rune
	has := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, has = r, true
		case r == ' ' || r == '\t':
			if has || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			has = false
		case r == '[' || r == ']':
		default:
			word.WriteRune(r)
		}
	}
	if has || word.Len() > 0 {
		words = append(words, word.String())
	}
	for i, w := range words {
		if w == "" {
			words[i] = "''"
		}
	}
	return words
}
