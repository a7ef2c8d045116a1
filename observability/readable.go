package observability

import (
	"log/slog"
	"slices"
	"strings"
	"time"
)

// readable writes values as a person reads them, in every form of the log: a
// duration is 1.5s and not 1500000000, an error is one line in which nothing is
// said twice.
func readable(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindDuration:
		a.Value = slog.StringValue(Duration(v.Duration()))
	case slog.KindAny:
		if err, is := v.Any().(error); is {
			a.Value = slog.StringValue(Sentence(err.Error()))
		}
	}
	return a
}

// Duration is a time span without digits that say nothing.
func Duration(d time.Duration) string {
	switch size := d.Abs(); {
	case size >= time.Minute:
		return d.Round(time.Second).String()
	case size >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case size >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.String()
}

// Sentence is an error in one line. Where a server was tried in several ways
// (TLS and not, each of its addresses) each reason is given once.
func Sentence(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(parts, line) {
			parts = append(parts, line)
		}
	}
	if len(parts) > 1 && strings.HasSuffix(parts[0], ":") { // a heading, and what is under it
		parts = append([]string{parts[0] + " " + parts[1]}, parts[2:]...)
	}
	return strings.Join(parts, "; ")
}
