package look

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"
)

// terminal is what top draws on: the other screen, without a cursor, where each key comes as it is typed.
type terminal struct {
	out           *os.File
	colour        func(line string) string
	restore       func()         // to the state in which it was found
	resized       chan os.Signal // its size is asked for anew, too, with each drawing
	width, height int
	drawn         []string
}

func openTerminal(in io.Reader, out *os.File, colour func(string) string) (*terminal, error) {
	t := &terminal{out: out, colour: colour, restore: func() {}, resized: make(chan os.Signal, 1)}
	if f, is := in.(*os.File); is && term.IsTerminal(int(f.Fd())) {
		was, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return nil, err
		}
		t.restore = func() { _ = term.Restore(int(f.Fd()), was) } // a terminal that is gone needs nothing
	}
	notifyResize(t.resized)
	_, err := io.WriteString(out, "\x1b[?1049h\x1b[?25l")
	return t, err
}

func (t *terminal) close() {
	signal.Stop(t.resized)
	_, _ = io.WriteString(t.out, "\x1b[?25h\x1b[?1049l")
	t.restore()
}

// draw shows lines that were made for a size. Only those that have changed are written, but after another size: what
// a terminal keeps then differs.
func (t *terminal) draw(width, height int, lines []string) error {
	var b strings.Builder
	if width != t.width || height != t.height {
		t.width, t.height, t.drawn = width, height, nil
		b.WriteString("\x1b[2J")
	}
	for i, line := range lines {
		if i >= len(t.drawn) || t.drawn[i] != line {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[K%s", i+1, t.colour(line))
		}
	}
	t.drawn = lines
	_, err := io.WriteString(t.out, b.String())
	return err
}
