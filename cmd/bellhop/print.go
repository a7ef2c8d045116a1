package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"bellhop/scheduler"
)

// output is the global flag -o.
type output string

const outputJSON output = "json"

func (o *output) String() string {
	if *o == "" {
		return "table"
	}
	return string(*o)
}

func (o *output) Type() string { return "format" }

func (o *output) Set(text string) error {
	if text != "table" && text != "json" {
		return fmt.Errorf("want table or json")
	}
	*o = output(text)
	return nil
}

func (a *app) json() bool { return a.output == outputJSON }

// printJSON prints one value.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printf prints to stdout.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}

// note tells people something beside the result, on stderr.
func (a *app) note(format string, args ...any) {
	// A note that cannot be printed is no reason to fail.
	_, _ = fmt.Fprintf(a.stderr, "bellhop: "+format+"\n", args...)
}

// table is rows of cells under a header. Cells may hold anything.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// aligned is the table as lines, free of control characters.
func (t *table) aligned() string {
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{t.header}, t.rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = clean(cell); cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")) // into memory
	}
	w.Flush()
	return aligned.String()
}

// printTable prints a table: aligned, free of control characters, no line
// wider than the terminal, states coloured where colours are wanted.
func (a *app) printTable(t table) error {
	aligned := t.aligned()
	width, terminal := terminalWidth(a.stdout)
	if n, err := strconv.Atoi(a.getenv("COLUMNS")); err == nil && n > 0 && terminal {
		width = n
	}
	column := -1
	if terminal && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" {
		column = stateColumn(t.header, aligned)
	}
	var out strings.Builder
	for line := range strings.Lines(aligned) {
		line = strings.TrimRight(line, " \n")
		if terminal {
			line = cut(line, width)
		}
		out.WriteString(colour(line, column))
		out.WriteByte('\n')
	}
	_, err := io.WriteString(a.stdout, out.String())
	return err
}

// stateColumn is where the column "state" begins, in characters; -1: nowhere.
func stateColumn(header []string, aligned string) int {
	for _, name := range header {
		if name == "STATE" {
			line, _, _ := strings.Cut(aligned, "\n")
			return utf8.RuneCountInString(line[:strings.Index(line, "STATE")])
		}
	}
	return -1
}

// stateColours are those a terminal has in any theme.
var stateColours = map[string]string{
	string(scheduler.Running): "36", string(scheduler.Assigned): "36",
	string(scheduler.Succeeded): "32",
	string(scheduler.Failed):    "31", string(scheduler.Quarantined): "31",
	string(scheduler.Held): "33", string(scheduler.Blocked): "33", string(scheduler.Scheduled): "33",
	string(scheduler.Cancelled): "2",
	"RUNNING":                   "36", "FAIL": "31", "FREEING": "33",
}

// colour colours the word that begins at a column, if it is a state.
func colour(line string, column int) string {
	runes := []rune(line)
	if column < 0 || column >= len(runes) {
		return line
	}
	word, _, _ := strings.Cut(string(runes[column:]), " ")
	code := stateColours[word]
	if code == "" {
		return line
	}
	rest := string(runes[column+utf8.RuneCountInString(word):])
	return string(runes[:column]) + "\x1b[" + code + "m" + word + "\x1b[0m" + rest
}

// cut shortens a line to a width in characters.
func cut(line string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}

// clean makes text fit for one line of a terminal: what does not print is
// shown as an escape.
func clean(text string) string {
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unprintable(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }

// The forms of values in tables. Nil is nothing.

func text[T ~string](v *T) string {
	if v == nil {
		return ""
	}
	return string(*v)
}

func number[T ~int | ~int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// age is a time span in seconds with its two biggest units at the most.
func age(seconds float64) string {
	d := time.Duration(math.Min(seconds, 1e9) * float64(time.Second))
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// span is a time span in seconds, as exact as it is short.
func span(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	d := time.Duration(*seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return age(*seconds)
}
