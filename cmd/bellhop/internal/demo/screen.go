package demo

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
)

// screen is stderr while the demo runs: a live line at its end on a terminal,
// a line a second anywhere else. What others write comes above the live line.
type screen struct {
	out   io.Writer
	width int // 0: no terminal

	mu    sync.Mutex
	line  string    // the live line that stands there; empty: none
	shown time.Time // no terminal: when the last line was written
	next  string    // no terminal: what is written when a second has passed; empty: nothing
}

func newScreen(w io.Writer) *screen {
	s := &screen{out: w, shown: time.Now().Add(-time.Second / 2)} // what is refused soon is told alone
	if width, ok := cli.TerminalWidth(w); ok {
		s.width = width
		if width < 2 { // a terminal that does not know
			s.width = 80
		}
	}
	return s
}

// show replaces the live line.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.width > 0:
		s.draw(cli.Cut(line, s.width-1))
	case time.Since(s.shown) >= time.Second:
		s.print(line)
	default: // what takes long is told while it does
		if s.next == "" {
			time.AfterFunc(time.Second-time.Since(s.shown), s.late)
		}
		s.next = line
	}
}

// late writes what came too soon after the last line.
func (s *screen) late() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != "" {
		s.print(s.next)
	}
}

// print writes a line where there is no terminal. The caller holds mu.
func (s *screen) print(line string) {
	s.shown, s.next = time.Now(), ""
	_, _ = fmt.Fprintln(s.out, line) // progress that cannot be shown is no reason to fail
}

// draw puts a live line in the last one's place. The caller holds mu.
func (s *screen) draw(line string) {
	if s.line != "" {
		_, _ = io.WriteString(s.out, "\r\x1b[K")
	}
	_, _ = io.WriteString(s.out, line)
	s.line = line
}

// clear takes the live line away.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = ""
	if s.width > 0 {
		s.draw("")
	}
}

// say writes a line that stays.
func (s *screen) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s, "bellhop: "+format+"\n", args...)
}

// Write takes whole lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.line
	s.draw("")
	n, err := s.out.Write(p)
	s.draw(line)
	return n, err
}
