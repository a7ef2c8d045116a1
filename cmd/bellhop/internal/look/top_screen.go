package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"bellhop/cmd/bellhop/internal/cli"
	_ "bellhop/cmd/bellhop/internal/quiet"
	"bellhop/scheduler"
)

// screen is top on a terminal: what was seen last, and what the keys have made
// of it. It changes nothing but what is shown.
type screen struct {
	look   func(context.Context) (topView, error) // waits for a database that is away
	ctx    context.Context
	every  time.Duration
	colour func(line string) string

	view          topView
	seen          bool
	pace          *pace
	asked         time.Time // when the look began that has not ended; zero: none is under way
	now           time.Time
	err           error
	width, height int
	offset        int    // lines of the body that are above
	paused        bool   // what is shown stays
	filter        string // of types, children, jobs
	typing        bool   // into the filter
}

type (
	looked struct {
		view topView
		err  error
	}
	lookAgain struct{}
	tick      time.Time
)

// silent is for how long a look may take before it is told.
const silent = 2 * time.Second

// runScreen shows top until q, or the end of ctx.
func runScreen(
	ctx context.Context, a *cli.App, every time.Duration, look func(context.Context) (topView, error),
) error {
	s := screen{look: look, ctx: ctx, every: every, colour: colours(lipgloss.NewRenderer(a.Stdout)), width: 80, height: 24,
		pace: &pace{}, asked: time.Now()}
	end, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(a.Stdin), tea.WithOutput(a.Stdout),
		tea.WithAltScreen(), tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrProgramKilled) { // it was told to end
		return nil
	}
	if last, is := end.(screen); is && err == nil {
		err = last.err
	}
	return err
}

func (s screen) Init() tea.Cmd { return tea.Batch(s.lookNow, clock()) }

// clock tells how late it is, also while a look gets no answer.
func clock() tea.Cmd { return tea.Tick(time.Second, func(at time.Time) tea.Msg { return tick(at) }) }

func (s screen) lookNow() tea.Msg {
	v, err := s.look(s.ctx)
	return looked{v, err}
}

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		if m.Width > 1 && m.Height > 0 { // else a terminal that does not know
			s.width, s.height = m.Width, m.Height
		}
	case looked:
		if s.err = m.err; m.err != nil {
			return s, tea.Quit
		}
		s.asked = time.Time{}
		s.pace.took(&m.view)
		if !s.paused || !s.seen {
			s.view, s.seen = m.view, true
		}
		return s, tea.Tick(s.every, func(time.Time) tea.Msg { return lookAgain{} })
	case lookAgain:
		s.asked = time.Now()
		return s, s.lookNow
	case tick:
		s.now = time.Time(m)
		return s, clock()
	case tea.KeyMsg:
		return s.key(m)
	}
	return s, nil
}

// key takes one key.
func (s screen) key(m tea.KeyMsg) (tea.Model, tea.Cmd) {
	name := m.String()
	if name == "ctrl+c" {
		return s, tea.Quit
	}
	if s.typing {
		switch {
		case name == "enter":
			s.typing = false
		case name == "esc":
			s.typing, s.filter = false, ""
		case name == "backspace" && s.filter != "":
			r := []rune(s.filter)
			s.filter = string(r[:len(r)-1])
		case m.Type == tea.KeyRunes:
			s.filter += string(m.Runes)
		}
		s.offset = 0
		return s, nil
	}
	switch name {
	case "q":
		return s, tea.Quit
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
	return s, nil
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

func (s screen) View() string {
	if !s.seen {
		return cli.Cut(cmp.Or(s.away(), "looking …"), s.width)
	}
	lines := s.frame()
	head, body := lines[:topHead], lines[topHead:]
	from := max(0, min(s.offset, len(body)-s.room()))
	shown := append(append([]string{}, head...), body[from:min(len(body), from+s.room())]...)
	for i, line := range shown {
		shown[i] = s.colour(line)
	}
	for len(shown) < s.height-1 {
		shown = append(shown, "")
	}
	if s.height <= topHead { // nothing else fits
		return strings.Join(shown[:s.height], "\n")
	}
	return strings.Join(append(shown, s.foot(len(body)-from-s.room())), "\n")
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

// only leaves what has a text in its type, or its name.
func (v topView) only(text string) topView {
	if text == "" {
		return v
	}
	keep := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(n, text) {
				return true
			}
		}
		return false
	}
	shown := v
	shown.Queue, shown.Children, shown.Jobs, shown.Rates = nil, nil, nil, nil
	for _, q := range v.Queue {
		if keep(string(q.Type)) || q.Type == "" {
			shown.Queue = append(shown.Queue, q)
		}
	}
	for _, c := range v.Children {
		if keep(string(c.Type), string(c.Name), c.Host) {
			shown.Children = append(shown.Children, c)
		}
	}
	for _, j := range v.Jobs {
		if keep(string(j.Type), cli.Text(j.Key), fmt.Sprint(j.ID), cli.Text(j.Child)) {
			shown.Jobs = append(shown.Jobs, j)
		}
	}
	if v.Rates != nil {
		shown.Rates = map[scheduler.TypeName]float64{}
		for t, rate := range v.Rates {
			if keep(string(t)) {
				shown.Rates[t] = rate
			}
		}
	}
	return shown
}

// colours gives a line of a frame its colour, where the terminal has any.
func colours(r *lipgloss.Renderer) func(string) string {
	title := r.NewStyle().Bold(true)
	head := r.NewStyle().Foreground(lipgloss.Color("6"))
	good, bad, busy := r.NewStyle().Foreground(lipgloss.Color("2")), r.NewStyle().Foreground(lipgloss.Color("1")),
		r.NewStyle().Foreground(lipgloss.Color("3"))
	words := []struct {
		word  string
		style lipgloss.Style
	}{
		{" RUNNING ", good},
		{" READY ", r.NewStyle()},
		{" FAIL ", bad},
		{" PREP ", busy},
		{" SPAWNED ", busy},
		{" FREEING ", busy},
	}
	return func(line string) string {
		switch first, _, _ := strings.Cut(line, " "); first {
		case "bellhop":
			return title.Render(line)
		case "HOST", "TYPE", "LOCK", "JOB", "CHILD":
			return head.Render(line)
		}
		for _, w := range words {
			if before, after, has := strings.Cut(line, w.word); has {
				return before + w.style.Render(w.word) + after
			}
		}
		if i := strings.Index(line, "#"); i >= 0 {
			if n := strings.IndexFunc(line[i:], func(c rune) bool { return c != '#' }); n > 0 {
				return line[:i] + good.Render(line[i:i+n]) + line[i+n:]
			}
		}
		return line
	}
}
