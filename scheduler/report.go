package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// HostReport is what a host says of itself.
type HostReport struct {
	Name    HostName
	Slots   int
	Taken   int
	Waiting int // lines that wait there for a child
	Bounds  HostBounds
}

// MSQReport is what an MSQ job that is held says of itself.
type MSQReport struct {
	Claim
	Type     TypeName
	Round    int
	Items    Items
	Waiting  int            // items that want a child
	Places   map[string]int // of those, the ones that name a place
	InFlight int            // items in children's hands
	Reading  bool           // rows are being read just now
	Ended    bool           // the last row of the round has been read
	Query    string
}

// Death is the last unordered death of a type on a host, if no child of the type has finished a line since.
type Death struct {
	At     time.Time `json:"at"`
	Deaths int       `json:"deaths"` // in a row
	Why    string    `json:"why"`
}

// Summary is what an instance is doing.
type Summary struct {
	At       time.Time
	Instance InstanceID
	Held     int // jobs
	Hosts    []HostReport
	Children []ChildReport
	MSQs     []MSQReport
}

// queryShown is how much of a query a report shows.
const queryShown = 200

// String is one line of what runs, waits and is dead, and a line a child.
func (s Summary) String() string {
	var b strings.Builder
	states := map[ChildState]int{}
	var deaths int64
	for _, c := range s.Children {
		states[c.State]++
		deaths += c.Deaths
	}
	waiting, slots := 0, 0
	for _, h := range s.Hosts {
		waiting += h.Waiting
		slots += h.Slots
	}
	for _, m := range s.MSQs {
		waiting += m.Waiting
	}
	fmt.Fprintf(&b,
		"summary: running %d, waiting %d, dead %d; ready %d, coming up %d, going %d, failing %d; slots %d on %d hosts; jobs held %d, queries %d; instance %d\n",
		states[Busy], waiting, deaths, states[ChildReady], states[Prep]+states[Spawned], states[Freeing], states[Fail], slots,
		len(s.Hosts), s.Held, len(s.MSQs), s.Instance)
	children := slices.Clone(s.Children)
	slices.SortFunc(children, func(a, b ChildReport) int {
		if a.Host != b.Host {
			return strings.Compare(string(a.Host), string(b.Host))
		}
		return strings.Compare(string(a.Name), string(b.Name))
	})
	for _, c := range children {
		fmt.Fprintf(&b, "  %s\n", c.Message(s.At))
	}
	return b.String()
}

// Message is a child in one line.
func (c ChildReport) Message(now time.Time) string {
	text := fmt.Sprintf("child %s on %s: %s for %s", c.Name, c.Host, c.State, now.Sub(c.Since).Round(time.Millisecond))
	if c.Job != 0 {
		text += fmt.Sprintf(", job %d", c.Job)
	}
	if c.Pid != 0 {
		text += fmt.Sprintf(", pid %d", c.Pid)
	}
	return text + fmt.Sprintf(", done %d, deaths %d", c.Done, c.Deaths)
}

// Message is an MSQ job in one line, however large it is.
func (m MSQReport) Message() string {
	total := "?"
	if m.Items.Total >= 0 {
		total = fmt.Sprint(m.Items.Total)
	}
	text := fmt.Sprintf("msq job %d (%s), fence %d, round %d: items done %d, failed %d, of %s; waiting %d, in children %d; ",
		m.Job, m.Type, m.Fence, m.Round, m.Items.Done, m.Items.Failed, total, m.Waiting, m.InFlight)
	switch {
	case m.Ended:
		text += "all rows read"
	case m.Reading:
		text += "reading"
	default:
		text += "enough rows read ahead"
	}
	if len(m.Places) > 0 {
		text += fmt.Sprintf("; at %d places", len(m.Places))
	}
	query := strings.Join(strings.Fields(m.Query), " ")
	if runes := []rune(query); len(runes) > queryShown {
		query = string(runes[:queryShown]) + "…"
	}
	return text + "; " + query
}
