package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// shownMost is how many characters of a text stand in a page: for a megabyte there is the command line.
const shownMost = 2000

// funcs are what templates may call. All of them give plain text, which the
// template escapes, but form, which is ours alone.
func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"bytes":     size,
		"queryText": url.QueryEscape,
		"paused":    pausedRows,
		"runs":      runs,
		"starts":    startedBy,
		"versions": func(list []view.VersionRow) (rows []versionRow) {
			for _, v := range list {
				rows = append(rows, versionRow{v})
			}
			return rows
		},
		"steps":   steps,
		"when":    func(t *time.Time) time.Time { return *t },
		"add":     func(a, b float64) float64 { return a + b },
		"asset":   func(name string) string { return p.root + asset(name) },
		"root":    func() string { return p.root },
		"here":    here,
		"words":   func(s *string) string { return words.Text(s) },
		"levels":  func() []scheduler.Level { return logLevels },
		"clean":   clean,
		"text":    func(s *string) string { return clean(words.Text(s)) },
		"number":  func(n *int64) string { return words.Number(n) },
		"count":   words.Grouped,
		"counted": counted,
		"age":     func(seconds float64) string { return words.Age(seconds) },
		"span":    func(seconds float64) string { return words.Span(&seconds) },
		"lasts":   lasts,
		"clock":   clock,
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"ago":     func(t *time.Time) string { return ago(t, time.Now()) },
		"instant": instant,
		"percent": func(share float32) string { return strconv.Itoa(int(share*100 + 0.5)) },
		"lines":   func(s string) string { return cleanLines(s, 5*shownMost) },
		"says":    func(s string) string { return cleanLines(s, 2*shownMost) },
		"form": func() template.HTML {
			return template.HTML(`<input type="hidden" name="form_token" value="` + p.form + `">`)
		},
		"query":  func(s scheduler.TypeName) string { return url.QueryEscape(string(s)) },
		"path":   func(s string) string { return url.PathEscape(s) },
		"shell":  func(v any) string { return shell(fmt.Sprint(v)) },
		"line":   line,
		"typed":  typeWord,
		"dict":   dict,
		"final":  func(s scheduler.JobState) bool { return s.Final() },
		"join":   func(list []string) string { return clean(strings.Join(list, " ")) },
		"deref":  func(n *int) int { return *n },
		"howfar": howFar,
		"others": func(j view.JobRow) []grammar.Shown { return grammar.Submission.Others(j, placed...) },
	}
}

// placed are the submitted fields that have a place of their own in a job's page.
var placed = []string{
	"type", "key", "priority", "priority_name", "run_on", "share", "locks", "reasons", "max_attempts", "run_at", "not_after",
	"on_failure", "traceparent",
}

// lasts is how long something takes, in three digits.
func lasts(d time.Duration) string {
	s := d.Seconds()
	if unit := math.Pow(10, math.Floor(math.Log10(s))-2); s > 0 && s < 60 {
		s = math.Round(s/unit) * unit
	}
	return words.Span(&s)
}

// size is so many bytes, for people.
func size(n int64) string {
	unit := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for ; v >= 1000 && i < len(unit)-1; i++ {
		v /= 1000
	}
	return fmt.Sprintf("%.4g %s", v, unit[i])
}

// here reports whether a page is the one of a path, or leads to it.
func here(page, path string) bool {
	return page == path || page != "/" && strings.HasPrefix(path, page+"/") ||
		page == "/system" && path == "/prune" || page == "/workflows" && (strings.HasPrefix(path, "/runs/") || path == "/notifications")
}

// clean is a text as one line shows it: what does not print, direction marks
// among it, as an escape; and no more than a page has room for.
func clean(v any) string {
	s := fmt.Sprint(v)
	if p, is := v.(*string); is {
		s = words.Text(p)
	}
	if len(s) > shownMost {
		return words.Clean(whole(s[:shownMost])) + "…"
	}
	return words.Clean(s)
}

// whole leaves out the part of a character that a cut has left.
func whole(s string) string {
	for i := 0; i < 3 && len(s) > 0; i++ {
		if r := []rune(s[max(0, len(s)-4):]); len(r) > 0 && r[len(r)-1] != '\uFFFD' {
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// cleanLines is clean for what has several lines, of which so many characters are shown.
func cleanLines(s string, most int) string {
	if len(s) > most {
		s = whole(s[:most]) + "…"
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = words.Clean(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// counted is a number that was counted so far and no further.
func counted(n int64) string {
	if n >= view.CountMost {
		return words.Grouped(view.CountMost) + "+"
	}
	return words.Grouped(n)
}

func clock(t *time.Time) string {
	if t == nil {
		return ""
	}
	if time.Since(*t).Abs() < 20*time.Hour {
		return t.Local().Format("15:04:05")
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func ago(t *time.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	if d := now.Sub(*t); d >= 0 {
		return words.Age(d.Seconds()) + " ago"
	}
	return "in " + words.Age(t.Sub(now).Seconds())
}

func instant(t *view.Moment) string {
	if t == nil {
		return ""
	}
	return cmp.Or(t.Infinite(), clock(&t.Time))
}

// shell is a word as a shell takes it, for the lines that people copy.
func shell(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(words.Clean(s), "'", `'\''`) + "'"
}

// dict makes a value of names and values, for templates within templates.
func dict(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is not a name", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

// howFar is how far a job is, by what its agent says, or its items.
func howFar(j view.JobRow) string {
	var parts []string
	if j.Progress != nil && !j.State.Final() {
		parts = append(parts, strconv.Itoa(int(*j.Progress*100))+" %")
	}
	if j.ItemsDone != nil {
		total := "?"
		if j.ItemsTotal != nil {
			total = words.Grouped(*j.ItemsTotal)
		}
		text := words.Grouped(*j.ItemsDone) + "/" + total + " items"
		if j.ItemsFailed != nil && *j.ItemsFailed > 0 {
			text += ", " + words.Grouped(*j.ItemsFailed) + " failed"
		}
		parts = append(parts, text)
	}
	if j.ProgressText != nil && !j.State.Final() {
		parts = append(parts, clean(*j.ProgressText))
	}
	return strings.Join(parts, ", ")
}
