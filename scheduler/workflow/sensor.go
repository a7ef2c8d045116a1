package workflow

import (
	"time"

	"bellhop/scheduler/cron"
)

// Sensor says what starts a workflow: the clock (Cron, Every), the end of another's
// run (Workflow), or something that happens elsewhere (Table, Notify, HTTP, File,
// Kafka). It is of one kind.
type Sensor struct {
	Cron    string  `json:"cron,omitempty"`
	Zone    string  `json:"zone,omitempty"`
	CatchUp CatchUp `json:"catch_up,omitempty"`

	Queue Queue `json:"queue,omitempty"` // empty: see there

	Every       Duration `json:"every,omitempty"`
	AfterFinish bool     `json:"after_finish,omitempty"` // counted from the end of the last run
	AtMost      int      `json:"at_most,omitempty"`      // so many in each Per
	Per         Duration `json:"per,omitempty"`

	Workflow string   `json:"workflow,omitempty"` // starts when a run of this one has ended
	When     []string `json:"when,omitempty"`     // so; without any: succeeded

	Table string `json:"table,omitempty"` // starts when a row is inserted there
	// Event says what names the event: a column of the table, a field of what NOTIFY
	// says, a header of the request; of a file its path alone, or with what it holds.
	Event  string `json:"event,omitempty"`
	Notify string `json:"notify,omitempty"` // a channel of NOTIFY
	HTTP   bool   `json:"http,omitempty"`   // a client posts it

	File   string   `json:"file,omitempty"`   // a pattern of paths
	Host   string   `json:"host,omitempty"`   // on the machine of the instance of this name; empty: any that sees it
	Stable Duration `json:"stable,omitempty"` // so long unchanged, it is written wholly; 0: DefaultStable

	Kafka string            `json:"kafka,omitempty"` // the name of a cluster in the configuration of instances
	Topic string            `json:"topic,omitempty"`
	Match map[string]string `json:"match,omitempty"` // fields of a record that have to be so
}

// CatchUp says what becomes of missed slots: no instance was there for them until more than Late after their time.
type CatchUp string

// One of them is made up for by default: the last one.
const (
	CatchUpOne  CatchUp = "one"
	CatchUpAll  CatchUp = "all"
	CatchUpNone CatchUp = "none"
)

// Queue says what becomes of events that come while runs of their workflow are open:
// they wait their turn, up to MostQueued, or only one does, and others are skipped.
// By default all events wait that fill a parameter: they are work of their own. The
// database decides it, event by event (bellhop.sensor_queue).
type Queue string

const (
	QueueAll Queue = "all"
	QueueOne Queue = "one"
)

// MostQueued is how many runs of a workflow may be queued when another event comes.
const MostQueued = 1000

// DefaultStable is how long a file has to be unchanged to count as written wholly.
const DefaultStable = Duration(2 * time.Second)

// What a file is named by.
const (
	FileByPath    = "path"    // once for ever, however often it is written anew
	FileByVersion = "version" // with its size and when it was written: anew when it is
)

// Kind is the word under which a sensor stands in a definition.
func (s *Sensor) Kind() string {
	if s == nil {
		return ""
	}
	if list := s.kinds(); len(list) > 0 {
		return list[0]
	}
	return ""
}

// Watched reports whether an instance has to look outside of the database for
// what starts the workflow.
func (s *Sensor) Watched() bool {
	switch s.Kind() {
	case "notify", "file", "kafka":
		return true
	}
	return false
}

// Schedule is when the sensor's slots are; nil where they are none of the clock's.
func (s *Sensor) Schedule() (Schedule, error) {
	switch {
	case s.Kind() == "cron":
		return cron.Parse(s.Cron, s.Zone)
	case s.Kind() == "every" && !s.AfterFinish:
		return beat(s.Every), nil
	}
	return nil, nil
}
