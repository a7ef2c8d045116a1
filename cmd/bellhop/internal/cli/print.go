package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
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

// PrintJSON prints one value, with every character escaped that a terminal could obey.
func (a *App) PrintJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(a.Stdout, Escaped(b.Bytes()))
	return err
}

// Printf prints lines for people to stdout. What others have written may stand in them: a terminal is shown it, and
// does not obey it.
func (a *App) Printf(format string, args ...any) error {
	_, err := io.WriteString(a.Stdout, Printable(fmt.Sprintf(format, args...)))
	return err
}

// PrintData prints what a program reads back: as it is, but on a terminal.
func (a *App) PrintData(text string) error {
	if _, terminal := TerminalWidth(a.Stdout); terminal {
		text = Printable(text)
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// Note tells people something beside the result, on stderr.
func (a *App) Note(format string, args ...any) {
	// A note that cannot be printed is no reason to fail.
	_, _ = io.WriteString(a.Stderr, Printable(fmt.Sprintf("bellhop: "+format+"\n", args...)))
}

// Printable is text in which all but lines and tabs is shown in place of being obeyed by a terminal.
func Printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t'
	}) {
		return text
	}
	var b strings.Builder
	for part, rest := "", text; rest != ""; {
		end := strings.IndexAny(rest, "\n\t") + 1
		if end == 0 {
			b.WriteString(Clean(rest))
			break
		}
		part, rest = rest[:end], rest[end:]
		b.WriteString(Clean(part[:end-1]))
		b.WriteByte(part[end-1])
	}
	return b.String()
}

// Table is rows of cells under a header. Cells may hold anything.
type Table struct {
	Header []string
	Rows   [][]string
}

// Add adds a row of texts, numbers and times; nil is nothing.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	t.Rows = append(t.Rows, row)
}

// PrintRows prints rows as JSON, or as a table under a header, whose words stand between commas. If there are no
// rows, people read the note none; empty: the header alone. It returns err if there is one.
func PrintRows[T any](a *App, rows []T, err error, none, header string, cells func(T) []any) error {
	switch {
	case err != nil:
		return err
	case a.JSON():
		return a.PrintJSON(rows)
	case len(rows) == 0 && none != "":
		a.Note("%s", none)
		return nil
	}
	t := Table{Header: strings.Split(header, ", ")}
	for _, r := range rows {
		t.Add(cells(r)...)
	}
	return a.PrintTable(t)
}

// cell is a value as a table has it.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case time.Time:
		return Moment(&v)
	case *time.Time:
		return Moment(v)
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return ""
		}
		r = r.Elem()
	}
	switch {
	case r.Kind() == reflect.String:
		return r.String()
	case r.CanInt():
		return strconv.FormatInt(r.Int(), 10)
	case r.CanFloat():
		return strconv.FormatFloat(r.Float(), 'g', -1, r.Type().Bits())
	case r.Kind() == reflect.Slice:
		return string(r.Bytes())
	}
	panic(fmt.Sprintf("cli: a cell cannot be a %T", v))
}

// Aligned is the table as lines, free of control characters, and as wide as it is.
func (t *Table) Aligned() string { return t.Fitted(0) }

// The least widths of a column, and of the last one, if a table is too wide; and the most that any cell may have if
// nothing else bounds it: a job's text may be a megabyte. JSON has all of it.
const (
	columnLeast = 8
	lastLeast   = 20
	cellMost    = 400
)

// Fitted is the table as lines in which long cells are cut, so that the last column
// is seen on a terminal of that width too (0: none is). The widest column gives way first.
func (t *Table) Fitted(width int) string {
	rows := make([][]string, 0, len(t.Rows)+1)
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		clean := make([]string, len(row))
		for i, cell := range row {
			if clean[i] = Clean(cell); clean[i] == "" {
				clean[i] = "-"
			}
			if len(widths) > 0 && len(clean[i]) > cellMost {
				clean[i] = Cut(clean[i], cellMost)
			}
			if i < len(widths) {
				widths[i] = max(widths[i], words.Width(clean[i]))
			}
		}
		rows = append(rows, clean)
	}
	fit(widths, width)
	var out strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			switch {
			case i == len(row)-1:
				out.WriteString(cell)
			default:
				out.WriteString(words.Pad(Cut(cell, widths[i]), widths[i]+2))
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// fit makes columns narrower, the widest first, until the last one has room.
func fit(widths []int, width int) {
	last := len(widths) - 1
	if width <= 0 || last < 1 {
		return
	}
	over := min(widths[last], lastLeast) + 2*last - width
	for _, w := range widths[:last] {
		over += w
	}
	for ; over > 0; over-- {
		widest := 0
		for i := range widths[:last] {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= columnLeast {
			return
		}
		widths[widest]--
	}
}

// Escaped is JSON that moves nothing on a terminal: what no JSON has to escape, and a terminal obeys, is escaped.
func Escaped(text json.RawMessage) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r >= ' ' && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) || r == '\n':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// PrintTable prints a table: aligned, free of control characters, no line
// wider than the terminal, states coloured where colours are wanted.
func (a *App) PrintTable(t Table) error {
	width, terminal := TerminalWidth(a.Stdout)
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 && terminal {
		width = n
	}
	if !terminal {
		width = 0
	}
	aligned := t.Fitted(width)
	column := -1
	if terminal && a.Coloured() {
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

// Coloured reports whether a terminal is to show colours.
func (a *App) Coloured() bool { return a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb" }

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

// What is written for people, as the pages write it.
var (
	Cut     = words.Cut
	Clean   = words.Clean
	Moment  = words.Moment
	When    = words.When
	Lasting = words.Lasting
	Took    = words.Took
	Age     = words.Age
	Span    = words.Span
	Count   = words.Count
	Counted = words.Counted
	Grouped = words.Grouped
)

// The forms of values in tables. Nil is nothing.

func Text[T ~string](v *T) string { return words.Text(v) }

func Number[T ~int | ~int64](v *T) string { return words.Number(v) }

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
