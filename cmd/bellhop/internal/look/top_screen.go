package look

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"bellhop/cmd/bellhop/internal/cli"
)

// screen is top on a terminal: what was seen last, and what the keys have made
// of it. It changes nothing but what is shown.
type screen struct {
	view          topView
	seen          bool
	pace          *pace
	asked         time.Time // when the look began that has not ended; zero: none is under way
	now           time.Time
	width, height int
	offset        int    // lines of the body that are above
	paused        bool   // what is shown stays
	filter        string // of types, children, jobs
	typing        bool   // into the filter
}

// silent is for how long a look may take before it is told.
const silent = 2 * time.Second

func newScreen() screen { return screen{width: 80, height: 24, pace: &pace{}, asked: time.Now()} }

// sized takes the size of the terminal, if that knows it.
func (s screen) sized(width, height int) screen {
	if width > 1 && height > 0 {
		s.width, s.height = width, height
	}
	return s
}

// looked takes what a look has seen.
func (s screen) looked(v topView) screen {
	s.asked = time.Time{}
	s.pace.took(&v)
	if !s.paused || !s.seen {
		s.view, s.seen = v, true
	}
	return s
}

// keys takes keys up to one that ends top.
func (s screen) keys(names []string) (next screen, ends bool) {
	for _, name := range names {
		if s, ends = s.key(name); ends {
			break
		}
	}
	return s, ends
}

// key takes one key, and reports whether it is one that ends top.
func (s screen) key(name string) (next screen, ends bool) {
	if name == "ctrl+c" {
		return s, true
	}
	if s.typing {
		return s.filtering(name), false
	}
	switch name {
	case "q":
		return s, true
	case "esc":
		s.filter = ""
	case "p", " ":
		s.paused = !s.paused
	case "/":
		s.typing = true
	case "up", "k":
		s.offset--
	case "down", "j":
		s.offset++
	case "pgup":
		s.offset -= s.room()
	case "pgdown":
		s.offset += s.room()
	case "home", "g":
		s.offset = 0
	case "end", "G":
		s.offset = len(s.body())
	}
	s.offset = max(0, min(s.offset, len(s.body())-s.room()))
	return s, false
}

// filtering takes one key of the filter.
func (s screen) filtering(name string) screen {
	switch {
	case name == "enter":
		s.typing = false
	case name == "esc":
		s.typing, s.filter = false, ""
	case name == "backspace":
		_, last := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-last]
	case utf8.RuneCountInString(name) == 1: // a letter; what else has a name is none
		s.filter += name
	}
	s.offset = 0
	return s
}

// topHead is how many lines of a frame stay where they are.
const topHead = 2

// room is how many lines of the body are shown.
func (s screen) room() int { return max(0, s.height-topHead-1) }

func (s screen) frame() []string { return s.view.only(s.filter).frame(s.width, 0) }

func (s screen) body() []string {
	lines := s.frame()
	return lines[min(topHead, len(lines)):]
}

// lines are what stands on the terminal.
func (s screen) lines() []string {
	if !s.seen {
		return []string{cli.Cut(cmp.Or(s.away(), "looking …"), s.width)}
	}
	lines := s.frame()
	if s.height <= topHead { // nothing else fits
		return lines[:s.height]
	}
	head, body := lines[:topHead], lines[topHead:]
	from := max(0, min(s.offset, len(body)-s.room()))
	shown := slices.Concat(head, body[from:min(len(body), from+s.room())])
	for len(shown) < s.height-1 {
		shown = append(shown, "")
	}
	return append(shown, s.foot(len(body)-from-s.room()))
}

// foot is the last line: what the keys do, or what they have done.
func (s screen) foot(below int) string {
	text := "q quit · ↑↓ scroll · / filter · p pause"
	switch {
	case s.typing:
		text = "filter: " + s.filter + "_"
	case s.paused:
		text = "PAUSED · p goes on · " + text
	case s.filter != "":
		text = "only " + s.filter + " (esc: all) · " + text
	}
	if away := s.away(); away != "" && !s.typing {
		text = away + " · " + text
	} else if below > 0 && !s.typing {
		text = fmt.Sprintf("%d more · ", below) + text
	}
	return cli.Cut(cli.Clean(text), s.width)
}

// away says that the database does not answer, and since when; empty: it does, as far as is known.
func (s screen) away() string {
	if s.asked.IsZero() || s.now.Sub(s.asked) < silent {
		return ""
	}
	return fmt.Sprintf("NO DATABASE for %s: trying again", cli.Age(s.now.Sub(s.asked).Seconds()))
}
