package grammar_test

import (
	"slices"
	"strings"
	"testing"

	"bellhop/scheduler/grammar"
)

// Every field has what its faces need, and no object has a name twice.
func TestField_EachIsWhole(t *testing.T) {
	t.Parallel()
	for _, o := range grammar.Objects {
		seen := map[string]bool{}
		for _, f := range o.Fields {
			at := o.Name + ": " + f.Name
			if seen[f.Name] {
				t.Errorf("%s stands there twice", at)
			}
			seen[f.Name] = true
			if f.Says == "" || strings.HasSuffix(f.Says, ".") || strings.ToUpper(f.Says[:1]) != f.Says[:1] {
				t.Errorf("%s: %q is not a sentence without its period", at, f.Says)
			}
			if f.Most != 0 && f.Least > f.Most {
				t.Errorf("%s: the bounds are %d and %d", at, f.Least, f.Most)
			}
			many := []grammar.Kind{grammar.List, grammar.Words, grammar.Pairs}
			if slices.Contains(o.Faces, grammar.File) && slices.Contains(many, f.Kind) && f.Example == "" {
				t.Errorf("%s: a fault of it has no example to show", at)
			}
		}
	}
}

func TestField_EachFaceHasItsName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field, command, in, help string
	}{
		{"msq", "msq", "MSQ", "a `query` whose rows are the items of the job, in place of args"},
		{"run_at", "at", "RunAt", "not before this `time`: 2026-12-24T18:00:00Z, or +10m from now"},
		{"on_failure", "on-failure", "OnFailure",
			"the `reaction` if a job that it needs ends otherwise than wanted: fail, block or run" +
				" (default: fail)"},
	} {
		f := grammar.Submission.Field(c.field)
		command, in, sql := f.In(grammar.Command), f.In(grammar.Go), f.In(grammar.SQL)
		if command != c.command || in != c.in || sql != c.field || f.Help() != c.help {
			t.Errorf("%s: --%s, %s, %s, %q", c.field, command, in, sql, f.Help())
		}
	}
}

// A broken rule is told in the words of the face that broke it.
func TestBroken_NamesTheFieldAsTheFaceDoes(t *testing.T) {
	t.Parallel()
	for face, want := range map[grammar.Face]string{
		grammar.Command: "a job has ARGS or --msq, not both",
		grammar.REST:    "a job has args or msq, not both",
		grammar.Go:      "a job has Args or MSQ, not both",
	} {
		if is, ok := grammar.Broken("jobqueue_args_or_msq", face); is != want || !ok {
			t.Errorf("%s: %q, want %q", face, is, want)
		}
	}
	if is, ok := grammar.Broken("somebody_elses_check", grammar.Go); ok {
		t.Errorf("a constraint of another table has the words %q", is)
	}
	for _, rule := range grammar.Rules() {
		if is, _ := grammar.Broken(rule, grammar.REST); strings.ContainsAny(is, "{}") {
			t.Errorf("%s: %q", rule, is)
		}
	}
}
