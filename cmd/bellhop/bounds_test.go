package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/config"
	"bellhop/scheduler/grammar"
)

// otherRules are fields whose values other rules bound too, so that a text of one letter repeated is refused for them.
var otherRules = []string{"type", "once", "action", "predicates", "batch"}

// sample are a value at the bound of a field and one beyond it, as SQL writes them; ok is false without a bound.
func sample(f grammar.Field) (within, beyond string, ok bool) {
	text := func(n int, letter string) string { return "'" + strings.Repeat(letter, n) + "'" }
	switch {
	case slices.Contains(otherRules, f.Name):
		return "", "", false
	case f.Choices != nil && f.Kind == grammar.Word:
		return "'" + f.Choices[len(f.Choices)-1] + "'", "'Nothing'", true
	case f.Kind == grammar.Whole || f.Kind == grammar.Count:
		if f.Least == 0 {
			return "0", "-1", true
		}
		return fmt.Sprint(f.Least), fmt.Sprint(f.Least - 1), true
	case f.Most > 0:
		return text(f.Most, "x"), text(f.Most+1, "x"), true
	case f.MostBytes > 0:
		return text(f.MostBytes, "x"), text(f.MostBytes+1, "x"), true
	}
	return "", "", false
}

// A value at the bound that the grammar states is taken by SQL, and one beyond it is refused by a rule.
func TestGrammar_BoundsAreThoseOfSQL(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, c := range []struct {
		of   grammar.Object
		call string
	}{
		{grammar.Submission, "select bellhop.submit('t', msq => %[2]s, %[1]s)"},
		{grammar.Filter, "select bellhop.filter_add('ACCEPT', '[]', %[1]s)"},
	} {
		for _, f := range c.of.Fields {
			within, beyond, ok := sample(f)
			if !ok {
				continue
			}
			query := "null"
			if f.Name == "repeat" {
				query = "'select 1'"
			}
			for value, taken := range map[string]bool{within: true, beyond: false} {
				_, err := s.conn.Exec(t.Context(), fmt.Sprintf(c.call, f.In(grammar.SQL)+" => "+value, query))
				var said *pgconn.PgError
				refused := errors.As(err, &said) && said.Code == "23514"
				if taken && err != nil || !taken && !refused {
					t.Errorf("%s of %s: %.60s: %v", f.Name, c.of.Name, value, err)
				}
			}
		}
	}
}

// A field of a definition that bounds its characters, and no pattern, is held against the bound by both readers alike.
func TestGrammar_CharactersAreCountedWithoutAPattern(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	f := grammar.Field{Name: "payer", Kind: grammar.Word, Most: 3}
	for text, want := range map[string]string{"ääá": "", "äáäb": "payer has 4 characters, and may have 3"} {
		is, _ := f.Text(text)
		of, err := collectText(t, s.conn, `select coalesce(bellhop.bound_fault(to_jsonb($1::text), $2, null, null, null, $3, null, null, null), '')`,
			text, f.Name, f.Most)
		if err != nil || is != want || of[0] != want {
			t.Errorf("%s: %q in Go, %q in SQL (%v), want %q", text, is, of, err, want)
		}
	}
}

// Both readers of a definition find the same values out of bounds, field by field.
func TestGrammar_DefinitionsHaveTheSameBoundsInFilesAndSQL(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	texts := []string{"", "a", "A.b_c-9", "-a", "a b", "ä", "fail", "run", "block", "one", "all", "none", "succeeded",
		"skipped", "path", "s.t", `"s"."t"`, "9a", "a\n", strings.Repeat("a", 63), strings.Repeat("a", 64),
		strings.Repeat("a", 100), strings.Repeat("a", 101),
		strings.Repeat("ä", 32), strings.Repeat("a", 249), strings.Repeat("a", 250)}
	numbers := []any{-21, -20, -1, 0, 1, 19, 20, 1000, 1001, 2147483647, 2147483648}
	type object = map[string]any
	for _, o := range []grammar.Object{grammar.Workflow, grammar.Step, grammar.Sensor, grammar.Notice} {
		for _, f := range o.Fields {
			var values []any
			switch f.Kind {
			case grammar.Word, grammar.Text:
				for _, text := range texts {
					if f.Kind == grammar.Word || text != "a\n" { // a file takes the break that YAML leaves behind args
						values = append(values, text)
					}
				}
			case grammar.Whole, grammar.Count:
				values = numbers
			case grammar.Words:
				if f.Choices != nil {
					for _, text := range texts {
						values = append(values, []string{f.Choices[0], text})
					}
				}
			}
			for _, v := range values {
				step, sensor := object{"name": "only", "type": "t"}, object{"http": true}
				notice := object{"command": []string{"told"}}
				d := object{"workflow": "w", "steps": []object{step}, "sensor": sensor, "notify": []object{notice}}
				if kinds := f.Kinds; kinds != nil {
					clear(sensor)
					sensor[kinds[0]] = map[string]any{"cron": "@daily", "every": "1m", "workflow": "v", "table": "s.t",
						"notify": "c", "http": true, "file": "/srv/x", "kafka": "main"}[kinds[0]]
					if kinds[0] == "kafka" {
						sensor["topic"] = "t"
					}
					if f.Name == "at_most" {
						sensor["per"] = "1h"
					}
				}
				map[string]object{"": d, "step": step, "sensor": sensor, "notice": notice}[o.Part][f.Name] = v
				text, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				_, err = config.Workflows(config.File{Name: "w.yaml", Text: text})
				faults, bad := collectText(t, s.conn, "select unnest(bellhop.workflow_faults($1::text::jsonb))", string(text))
				if bad != nil {
					t.Fatal(bad)
				}
				if (err == nil) != (len(faults) == 0) {
					t.Errorf("%s\nas a file: %v\nin SQL:    %q", text, err, faults)
				}
				for _, fault := range faults {
					if sentence := strings.TrimPrefix(fault, "steps[0]: "); err != nil && !strings.Contains(err.Error(), sentence) {
						t.Errorf("%s\nas a file: %v\nin SQL:    %q", text, err, faults)
					}
				}
			}
		}
	}
}

// Both readers of a definition take the same patterns of files: those that the lookout can read.
func TestGrammar_FilePatternsAreTheSameInFilesAndSQL(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	patterns := map[string]bool{"/in/[": false, "/in/[a": false, "/in/[]": false, "/in/[]a]": false, "/in/[^]": false, "/in/[a-]": false,
		"/in/[-a]": false, "/in/[a-b-c]": false, "/in/a\\": false, "/in/[a\\": false, "/[a/b]/x": false, "/in\\/x": false,
		"/in/[a]": true, "/in/[^a-z]*": true, "/in/[^^]": true, "/in/a]": true, "/in/[[*]": true, "/in/[\\]a-\\-]": true, "/in/\\[": true}
	random := rand.New(rand.NewPCG(7, 8))
	letters := []rune("[[]]^-\\a*?/ä\n")
	for range 1000 {
		name := make([]rune, 1+random.IntN(8))
		for i := range name {
			name[i] = letters[random.IntN(len(letters))]
		}
		pattern := "/in/x" + string(name)
		patterns[pattern] = slices.IndexFunc(strings.Split(pattern, "/"), func(part string) bool {
			_, err := path.Match(part, "")
			return err != nil
		}) < 0
	}
	for pattern, want := range patterns {
		text, err := json.Marshal(map[string]any{"workflow": "w", "sensor": map[string]string{"file": pattern},
			"steps": []map[string]string{{"name": "only", "type": "t"}}})
		if err != nil {
			t.Fatal(err)
		}
		_, inFile := config.Workflows(config.File{Name: "w.yaml", Text: text})
		faults, err := collectText(t, s.conn, "select unnest(bellhop.workflow_faults($1::text::jsonb))", string(text))
		if err != nil {
			t.Fatal(err)
		}
		const fault = "is not a valid pattern; * stands for any letters, ? for one, [a-z] for one of these"
		file := inFile == nil || !strings.Contains(inFile.Error(), fault)
		if is := !strings.Contains(strings.Join(faults, ""), fault); is != want || file != want {
			t.Errorf("%q: taken %t in a file (%v) and %t in SQL (%q), want %t", pattern, file, inFile, is, faults, want)
		}
	}
}
