package main

import (
	"strings"
	"testing"
	"time"
)

const root = "../.."

// Each guard is still in the program, once. Where this fails, the code has moved on: change the entry's text with it.
func TestGuards_EachStandsOnceInTheProgram(t *testing.T) {
	t.Parallel()
	files, err := readProgram(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plantedFaults() {
		for _, c := range p.cuts {
			if _, _, err := files.find(c.text); err != nil || c.text == c.instead {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
	names := map[string]bool{}
	for _, g := range guards() {
		if _, _, err := files.find(g.text); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
		if g.text == g.instead || g.promise == "" || names[g.name] || strings.Contains(g.name+g.promise, "|") {
			t.Errorf("%s: the entry changes nothing, promises nothing, has another's name, or breaks the table", g.name)
		}
		names[g.name] = true
	}
	if len(names) < 40 {
		t.Errorf("only %d guards are taken out", len(names))
	}
}

// Each test that is expected to notice is there: a renamed one would let its guard go unwatched.
func TestGuards_TheirTestsAreThere(t *testing.T) {
	t.Parallel()
	for _, g := range guards() {
		if packages, err := testsOf(root, g); err != nil || len(packages) == 0 {
			t.Errorf("%s: %v", g.name, err)
		}
	}
}

func TestFind_SaysWhereATextDoesNotStandOnce(t *testing.T) {
	t.Parallel()
	files := texts{"a.go": "one two two", "b.sql": "three"}
	for text, want := range map[string]string{"one": "a.go", "three": "b.sql", "two": "", "four": ""} {
		if file, _, err := files.find(text); file != want || (err == nil) != (want != "") {
			t.Errorf("%q is in %q, %v", text, file, err)
		}
	}
}

func TestFailed_NamesTheTest(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"=== RUN   TestA_B\n--- PASS: TestA_B (0.1s)\nPASS\nok  \tbellhop/x\t0.1s\n":                     "",
		"=== RUN   TestA_B\n=== RUN   TestA_B/c\n    --- FAIL: TestA_B/c (0.1s)\n--- FAIL: TestA_B (1s)": "TestA_B",
		"panic: test timed out after 10m0s\n\trunning tests:\n\t\tTestA_C (10m0s)\n":                     "TestA_C",
		"=== RUN   TestA_D\npanic: boom\n":                                                               "TestA_D",
		"FAIL\tbellhop/x [build failed]\n":                                                               "",
	} {
		if got := failed(out); got != want {
			t.Errorf("%q of %s, want %q", got, out, want)
		}
	}
}

// Rows of guards that did not run stay; the rest of the page does, too.
func TestReplaced_ChangesTheRowsThatRan(t *testing.T) {
	t.Parallel()
	first, second := guards()[0], guards()[1]
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ran := result{guard: first, test: "TestA_B", took: 90 * time.Second}
	before := "# Reliability\n\n" + plantedHeading + "\n" + heading + "\n## Other\nrest\n"
	text := results{noticed: []result{ran}}.replaced(before, "abc", now)
	planted := found{planted: plantedFaults()[0], broken: "alone, ends", histories: 2, took: time.Minute}
	text = results{
		noticed: []result{{guard: second, why: "NOT NOTICED"}},
		found:   []found{planted},
	}.replaced(text, "def", now)
	for _, want := range []string{
		"# Reliability\n\n" + plantedHead + "| " + planted.name + " | " + planted.harm +
			" | alone, ends | 2 | 60 | def, 2026-01-02 |\n",
		"\n" + head + "| " + first.name + " | ",
		" | `TestA_B` | 90 | abc, 2026-01-02 |\n| " + second.name + " | ",
		" | **not noticed** |  | def, 2026-01-02 |\n\n## Other\nrest\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}
