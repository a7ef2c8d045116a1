package page

import (
	"cmp"
	"fmt"
	"html/template"
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
		"count64": func(n int) string { return words.Grouped(int64(n)) },
		"middle":  func(s string) string { return middle(s, 48) },
		"rate":    rate,
		"counted": counted,
		"age":     words.Lasting,
		"lasts":   func(d time.Duration) string { return words.Took(d.Seconds()) },
		"clock":   clock,
		"stamp":   words.Stamp,
		"millis":  func(t time.Time) string { return t.UTC().Format("15:04:05.000") },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"ago":     func(t time.Time) string { return words.Ago(t, time.Now()) },
		"instant": instant,
		"percent": func(share float32) string { return strconv.Itoa(int(share*100 + 0.5)) },
		"lines":   func(s string) string { return cleanLines(s, 5*shownMost) },
		"pretty":  pretty,
		"brief":   func(s string) string { return cleanLines(s, 400) },
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

// middle is a line without what stands in its midst, so many characters of it.
func middle(s string, most int) string {
	runes := []rune(clean(s))
	if len(runes) <= most {
		return string(runes)
	}
	end := most * 2 / 3 // a command is known by its end more than by its folder
	return string(runes[:most-end-1]) + "…" + string(runes[len(runes)-end:])
}

// rate is how many a second, or a minute where that is few.
func rate(each float64) string {
	switch {
	case each <= 0:
		return "–"
	case each >= 100:
		return words.Grouped(int64(each)) + "/s"
	case each >= 1:
		return fmt.Sprintf("%.3g/s", each)
	}
	return fmt.Sprintf("%.2g/min", each*60)
}

// counted is a number that was counted so far and no further.
func counted(n int64) string {
	if n >= view.CountMost {
		return words.Grouped(view.CountMost) + "+"
	}
	return words.Grouped(n)
}

// clock is a time of day in UTC, with the date where it was another day. A browser may show its own zone (page.js).
func clock(t time.Time) string {
	if time.Since(t).Abs() < 20*time.Hour {
		return t.UTC().Format("15:04:05")
	}
	return t.UTC().Format("2006-01-02 15:04")
}

func instant(t *view.Moment) string {
	if t == nil {
		return ""
	}
	return cmp.Or(t.Infinite(), words.Stamp(t.Time))
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
	if b := itemsOf(j, time.Now()); b != nil {
		parts = append(parts, b.Says)
	}
	if j.ProgressText != nil && !j.State.Final() {
		parts = append(parts, clean(*j.ProgressText))
	}
	return strings.Join(parts, ", ")
}
