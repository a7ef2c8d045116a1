// Package observability sets up what bellhop tells about itself: logs here,
// traces and metrics in packages of their own. It owns the names, so that a
// thing is called the same everywhere.
package observability

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// Logger writes to w: for a person when w is a terminal, JSON otherwise.
// NO_COLOR is honoured. pretty asks for the form for a person anyway.
func Logger(w io.Writer, level slog.Leveler, pretty bool) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	if !terminal && !pretty {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level: level, ReplaceAttr: readable, TimeFormat: time.TimeOnly, NoColor: !terminal || os.Getenv("NO_COLOR") != "",
	}))
}
