// Package notice decides which receivers are told how a run of a workflow has ended, what they are told, and when a
// message that did not get through is tried again. It is pure: package courier sends, and the database keeps the
// pending messages.
package notice

import (
	"math"
	"time"
)

// Channel is a way by which a message goes.
type Channel string

// The channels.
const (
	Mail    Channel = "mail"
	Webhook Channel = "webhook"
	Command Channel = "command"
)

// Test is the State of what is sent to try a rule: nothing has run.
const Test = "test"

// End is how a run has ended.
type End struct {
	Run         int64
	Workflow    string
	Project     string
	State       string
	Reason      string
	At          time.Time
	LastSuccess *time.Time // of another run of the workflow, before it; nil: there was none
}

// Notice is a message that is owed to one receiver.
type Notice struct {
	ID      int64
	Message string // the id that it has however often it is sent
	Channel Channel
	Target  string // an address, a URL, or a command as JSON
	Tries   int    // this one too
	// Receiver is what the target has in common with others: the host of a webhook, the server of mail.
	Receiver string
	End
	Version     int
	Event       string
	TriggeredBy string
	CreatedAt   time.Time
	StartedAt   *time.Time
	Steps       []Step // that did not succeed; of many, the first ones
	Others      int    // how many did not succeed besides those
}

// Step is a step of the run.
type Step struct {
	Step     string `json:"step"`
	Job      int64  `json:"job"`
	Type     string `json:"type"`
	State    string `json:"state"`
	ExitCode *int   `json:"exit_code"`
	Error    string `json:"error"`
}

// A try that failed is followed by another after First, and then after twice as
// long each time, up to Most; give or take a fifth, so that those of a server that
// was away do not come back all at once.
const (
	First = 10 * time.Second
	Most  = 15 * time.Minute
)

// Delay is how long after its tries-th try a message is tried again. u is from 0 to 1.
func Delay(tries int, u float64) time.Duration {
	d := min(float64(Most), float64(First)*math.Pow(2, float64(max(tries, 1)-1))) // the 31st would be no Duration any more
	return time.Duration(d * (0.8 + 0.4*u))
}

// Outcome is what became of a try.
type Outcome struct {
	ID    int64
	Error string        // empty: it was sent
	Over  bool          // it will not be tried again
	Delay time.Duration // until it is
	Pause time.Duration // for so long its receiver wants none
	Gone  bool          // its target wants none any more, ever
}

// Lost is a message that was given up.
type Lost struct {
	ID      int64
	Run     int64
	Channel Channel
	Target  string
	Error   string
}
