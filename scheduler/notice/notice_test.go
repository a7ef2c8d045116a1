package notice

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestRule_Concerns(t *testing.T) {
	t.Parallel()
	before := noon.Add(-time.Hour)
	failed := End{Run: 7, Workflow: "Nightly-import", Project: "demo", State: "failed", At: noon}
	soon := failed
	soon.LastSuccess = &before
	for name, c := range map[string]struct {
		rule Rule
		end  End
		want bool
	}{
		"runs that failed, if nothing is said":    {Rule{}, failed, true},
		"no others":                               {Rule{When: []string{"succeeded"}}, failed, false},
		"one of several":                          {Rule{When: []string{"succeeded", "failed"}}, failed, true},
		"of its project, whatever the case":       {Rule{Project: "DEMO"}, failed, true},
		"of no other project":                     {Rule{Project: "dem"}, failed, false},
		"whose names begin so":                    {Rule{Prefix: "nightly-"}, failed, true},
		"not those that hold it elsewhere":        {Rule{Prefix: "import"}, failed, false},
		"nor those that are shorter":              {Rule{Prefix: "nightly-import-2"}, failed, false},
		"one that never succeeded":                {Rule{UnlessSuccessWithin: time.Hour}, failed, true},
		"one that succeeded just long enough ago": {Rule{UnlessSuccessWithin: time.Hour}, soon, true},
		"not one that succeeded since":            {Rule{UnlessSuccessWithin: time.Hour + 1}, soon, false},
	} {
		if got := c.rule.Concerns(c.end); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Whoever is named is told once, whatever the number of rules; and a rule that cannot be read as a whole still
// names him.
func TestAddress_EachOnce(t *testing.T) {
	t.Parallel()
	rules := Rules([]byte(`[{"mail": "a@x", "unless_success_within": "soon", "when": 7}, {"mail": ["a@x", "b@x"], "webhook": "http://x/"},
		{"command": ["page"]}, {"command": ["page", "now"]}, {"webhook": ["no"], "mail": []}]`))
	got := Address(End{State: "failed"}, append(rules, Rule{Mail: []string{"b@x", "c@x"}}))
	want := []Letter{{Mail, "a@x", "mail"}, {Mail, "b@x", "mail"}, {Webhook, "http://x/", "webhook"},
		{Command, `["page"]`, "command:page"},
		{Command, `["page","now"]`, "command:*"}, {Mail, "c@x", "mail"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"", "null", "7", `{"mail": "x"}`, `[7]`, `[{"mail": {"x": 1}}]`} {
		if got := Address(End{State: "failed"}, Rules([]byte(text))); len(got) > 0 {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A message is always made, and fit to be sent: a subject of one line, text, and JSON; whatever agents said, and
// whatever the templates are.
func TestBuild_AlwaysMakesAMessage(t *testing.T) {
	t.Parallel()
	templates := []string{"", "{{.Workflow}}", "{{index .Steps 99}}", "{{.Nothing}}", "{{range .Steps}}{{.Error}}{{end}}", "\r\n\x00",
		"{{range $i, $x := .Steps}}{{range $.Steps}}{{range $.Steps}}{{printf \"%9999999d\" $i}}{{end}}{{end}}{{end}}"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("a\r\nBcc: all@x\r\n\r\nhello"), rapid.Just("\xff\xfe\x00"),
			rapid.Just(strings.Repeat("x", 1<<17)))
		n := Notice{Message: "id", Channel: Mail, End: End{Run: rapid.Int64().Draw(t, "run"), Workflow: text.Draw(t, "workflow"),
			State: rapid.SampledFrom([]string{"failed", "succeeded", "skipped", ""}).Draw(t, "state"), Reason: text.Draw(t, "reason"),
			At: time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "at"), 0)}}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			n.Steps = append(n.Steps, Step{Step: text.Draw(t, "step"), Error: text.Draw(t, "error")})
		}
		var w Words
		for of, to := range map[string]**template.Template{"subject": &w.Subject, "text": &w.Text} {
			if s := rapid.SampledFrom(templates).Draw(t, of); s != "" {
				parsed, err := Parse(of, s)
				if err != nil {
					t.Fatal(err)
				}
				*to = parsed
			}
		}
		m := Build(n, w)
		switch {
		case m.Subject == "" || strings.ContainsFunc(m.Subject, func(r rune) bool { return r < ' ' }) ||
			utf8.RuneCountInString(m.Subject) > maxSubject:
			t.Fatalf("subject %q", m.Subject)
		case !utf8.ValidString(m.Text) || len(m.Text) > maxText+10 || strings.ContainsAny(m.Text, "\x00\r"):
			t.Fatalf("text of %d bytes", len(m.Text))
		case !json.Valid(m.Body):
			t.Fatalf("body %s", m.Body)
		}
	})
}

func TestBuild_SaysWhyItIsPlain(t *testing.T) {
	t.Parallel()
	w := Words{}
	w.Text, _ = Parse("text", "{{index .Steps 99}}")
	end := End{Workflow: "nightly", Run: 7, State: "failed", Reason: "step a failed (job 9)", At: noon}
	m := Build(Notice{End: end}, w)
	for _, part := range []string{"Workflow nightly failed", "Step a failed (job 9).", "bellhop workflow retry 7", "could not be filled in"} {
		if !strings.Contains(m.Text, part) {
			t.Errorf("no %q in\n%s", part, m.Text)
		}
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for tries, want := range map[int]time.Duration{
		1: First, 2: 2 * First, 4: 8 * First, 7: 64 * First, 8: Most, 99: Most,
	} {
		if d := Delay(tries, 0.5); d.Round(time.Second) != want {
			t.Errorf("after try %d it waits %s, want %s", tries, d, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n, u := rapid.IntRange(-1, 1<<30).Draw(t, "tries"), rapid.Float64Range(0, 1).Draw(t, "u")
		if d := Delay(n, u); d < First*8/10 || d > Most*12/10 || d > Delay(n+1, 1) {
			t.Fatalf("%s", d)
		}
	})
}
