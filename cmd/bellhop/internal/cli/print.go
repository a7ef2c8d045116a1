package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
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

func (a *App) JSON() bool { return a.Output == outputJSON }

// PrintJSON prints one value.
func (a *App) PrintJSON(v any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Printf prints to stdout.
func (a *App) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}

// Note tells people something beside the result, on stderr.
func (a *App) Note(format string, args ...any) {
	// A note that cannot be printed is no reason to fail.
	_, _ = fmt.Fprintf(a.Stderr, "bellhop: "+format+"\n", args...)
}

// Table is rows of cells under a header. Cells may hold anything.
type Table struct {
	Header []string
	Rows   [][]string
}

func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Aligned is the table as lines, free of control characters.
func (t *Table) Aligned() string {
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = Clean(cell); cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")) // into memory
	}
	w.Flush()
	return aligned.String()
}

// PrintTable prints a table: aligned, free of control characters, no line
// wider than the terminal, states coloured where colours are wanted.
func (a *App) PrintTable(t Table) error {
	aligned := t.Aligned()
	width, terminal := TerminalWidth(a.Stdout)
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 && terminal {
		width = n
	}
	column := -1
	if terminal && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb" {
		column = stateColumn(t.Header, aligned)
	}
	var out strings.Builder
	for line := range strings.Lines(aligned) {
		line = strings.TrimRight(line, " \n")
		if terminal {
			line = Cut(line, width)
		}
		out.WriteString(colour(line, column))
		out.WriteByte('\n')
	}
	_, err := io.WriteString(a.Stdout, out.String())
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

// Cut shortens a line to a width in characters.
func Cut(line string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}

// Clean makes text fit for one line of a terminal: what does not print is
// shown as an escape.
func Clean(text string) string {
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

func Text[T ~string](v *T) string {
	if v == nil {
		return ""
	}
	return string(*v)
}

func Number[T ~int | ~int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

func Moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// Age is a time span in seconds with its two biggest units at the most.
func Age(seconds float64) string {
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

// Span is a time span in seconds, as exact as it is short.
func Span(seconds *float64) string {
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
	return Age(*seconds)
}

// Count is a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func Counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Grouped writes a number for people: 12,345.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Trouble says, host by host, why no child comes up, and what the agent said
// last, where that is known.
func Trouble(object json.RawMessage, words map[string]string) string {
	var byHost map[string]string
	if err := json.Unmarshal(object, &byHost); err != nil {
		return string(object) // not as we write it: shown as it is
	}
	var parts []string
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		parts = append(parts, host+": "+scheduler.Account{Reason: byHost[host], Message: words[host]}.Told())
	}
	return strings.Join(parts, "; ")
}
