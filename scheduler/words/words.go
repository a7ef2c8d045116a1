// Package words writes values for people: the commands and the pages say the
// same thing in the same way. It knows no job.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Cut shortens a line to a width in cells of a terminal (0: it stays).
func Cut(line string, width int) string {
	if width <= 0 || len(line) <= width || Width(line) <= width {
		return line
	}
	taken := 0
	for i, r := range line {
		if taken += cells(r); taken > width-1 {
			return line[:i] + "…"
		}
	}
	return line
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

// Stamp is a date and a time of day in UTC.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Moment is a time as Stamp; nil is nothing.
func Moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return Stamp(*t)
}

// When is a time as Stamp, after how long ago it was, or how soon it will be; nil is nothing.
func When(t *time.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	return Ago(*t, now) + " (" + Stamp(*t) + ")"
}

// Age is a time span in seconds with its two biggest units at most.
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
