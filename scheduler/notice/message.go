package notice

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"
)

// Message is what a receiver reads.
type Message struct {
	ID      string
	Subject string
	Text    string
	At      time.Time
	Body    []byte // the same and more, as JSON
}

// bounds of what is sent.
const (
	maxSubject = 200
	maxText    = 64 << 10
	maxError   = 2000
)

// Words are templates for what is sent; nil: the usual words.
type Words struct{ Subject, Text *template.Template }

// Parse reads a template of Words.
func Parse(name, text string) (*template.Template, error) {
	return template.New(name).Option("missingkey=error").Parse(text)
}

// Build makes the message. It always makes one: what cannot be said as it was
// meant is said in plain words, and why.
func Build(n Notice, w Words) (m Message) {
	m = Message{ID: n.Message, At: n.At}
	var why []string
	say := func(of string, t *template.Template, usual func(Notice) string) (text string) {
		defer func() {
			if p := recover(); p != nil {
				why = append(why, fmt.Sprintf("the %s could not be made: %v", of, p))
				text = plain(n)
			}
		}()
		if t == nil {
			return usual(n)
		}
		var b strings.Builder
		if err := t.Execute(&limited{to: &b, left: maxText}, n); err != nil {
			why = append(why, fmt.Sprintf("the %s of the configuration could not be filled in: %v", of, err))
			return usual(n)
		}
		return b.String()
	}
	m.Subject = headline(say("subject", w.Subject, subject))
	m.Text = say("text", w.Text, body)
	if m.Subject == "" {
		m.Subject = headline(subject(n))
	}
	if len(why) > 0 {
		m.Text += "\n(" + strings.Join(why, "; ") + ")\n"
	}
	m.Text = clip(clean(m.Text), maxText)
	m.Body = bodyJSON(n, m)
	return m
}

// limited is a text that does not grow for ever, whatever a template says.
type limited struct {
	to   *strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("it is longer than %d bytes", maxText)
	}
	return l.to.Write(p)
}

func plain(n Notice) string {
	return fmt.Sprintf("Run %d of workflow %s: %s. %s\n", n.Run, n.Workflow, n.State, n.Reason)
}

func subject(n Notice) string {
	if n.State == Test {
		return "bellhop: " + n.Workflow
	}
	return fmt.Sprintf("bellhop: workflow %s %s", n.Workflow, verb(n.State))
}

func verb(state string) string {
	if state == "skipped" {
		return "was skipped"
	}
	return state
}

// body tells what has happened, and what to type next.
func body(n Notice) string {
	if n.State == Test {
		return fmt.Sprintf("This is a %s, %s: nothing has run.\n", n.Workflow, n.Reason)
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	of := ""
	if n.Project != "" {
		of = " (project " + n.Project + ")"
	}
	say("Workflow %s%s %s.\n\n", n.Workflow, of, verb(n.State))
	say("Run %d, version %d, started by %s", n.Run, n.Version, n.TriggeredBy)
	if n.Event != "" {
		say(" for %s", n.Event)
	}
	say(", ended at %s", n.At.UTC().Format(time.RFC3339))
	if n.StartedAt != nil && n.At.After(*n.StartedAt) {
		say(" after %s", n.At.Sub(*n.StartedAt).Round(time.Second/10))
	}
	say(".\n")
	if n.Reason != "" {
		say("%s.\n", sentence(n.Reason))
	}
	switch {
	case n.LastSuccess != nil:
		say("It last succeeded at %s.\n", n.LastSuccess.UTC().Format(time.RFC3339))
	case n.State != "succeeded":
		say("It has not succeeded before, as far as is known.\n")
	}
	for i, s := range n.Steps {
		if i == 0 {
			say("\nSteps that did not succeed:\n")
		}
		say("  %s  job %d (%s)  %s", s.Step, s.Job, s.Type, s.State)
		if s.ExitCode != nil {
			say(", exit code %d", *s.ExitCode)
		}
		if s.Error != "" {
			say(": %s", strings.ReplaceAll(strings.TrimSpace(clip(s.Error, maxError)), "\n", "\n    "))
		}
		say("\n")
	}
	if n.Others > 0 {
		say("  … and %d more\n", n.Others)
	}
	say("\nbellhop workflow show --run %d\n", n.Run)
	if n.State == "skipped" && n.Event != "" && n.StartedAt == nil { // it has no jobs: its event can be run later
		say("bellhop workflow run %s --event '%s'\n", n.Workflow, strings.ReplaceAll(n.Event, "'", `'\''`))
	}
	if n.State == "failed" {
		if len(n.Steps) > 0 {
			say("bellhop logs %d\n", n.Steps[0].Job)
		}
		say("bellhop workflow retry %d\n", n.Run)
	}
	return b.String()
}

func sentence(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ".")
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// headline is one line, fit for a header.
func headline(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > maxSubject {
		s = string([]rune(s)[:maxSubject-1]) + "…"
	}
	return s
}

// clean leaves out what no mail and no terminal should get.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// bodyJSON is the message for programs.
func bodyJSON(n Notice, m Message) []byte {
	steps := make([]Step, len(n.Steps))
	for i, s := range n.Steps {
		s.Error = clip(clean(s.Error), maxError)
		steps[i] = s
	}
	type data struct {
		Run         int64      `json:"run"`
		Workflow    string     `json:"workflow"`
		Project     string     `json:"project"`
		State       string     `json:"state"`
		Reason      string     `json:"reason"`
		Version     int        `json:"version"`
		Event       string     `json:"event"`
		TriggeredBy string     `json:"triggered_by"`
		StartedAt   *time.Time `json:"started_at"`
		EndedAt     time.Time  `json:"ended_at"`
		LastSuccess *time.Time `json:"last_success"`
		Steps       []Step     `json:"steps"`
	}
	out, err := json.Marshal(struct {
		ID        string    `json:"id"`
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Subject   string    `json:"subject"`
		Text      string    `json:"text"`
		Data      data      `json:"data"`
	}{m.ID, "run." + n.State, n.At, m.Subject, m.Text, data{n.Run, n.Workflow, n.Project, n.State, n.Reason, n.Version,
		n.Event, n.TriggeredBy, n.StartedAt, n.At, n.LastSuccess, steps}})
	if err != nil { // of a time beyond year 9999, say
		out, _ = json.Marshal(map[string]string{"id": m.ID, "type": "run." + n.State, "subject": m.Subject, "text": m.Text})
	}
	return out
}
