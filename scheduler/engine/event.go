package engine

import "time"

// Kind is what can happen to a remote job.
type Kind uint8

const (
	// NoTag: no tag of this attempt is recorded.
	NoTag Kind = iota
	// HasTag: an earlier watcher recorded one; Tag tells of it.
	HasTag
	// Turn: it may be submitted now.
	Turn
	// Recorded: its tag is.
	Recorded
	// Accepted: submit went well; ID is the engine's name of it.
	Accepted
	// Denied: submit says that it can never be done; Said why.
	Denied
	// Unopened: submit was not called, since its job is sealed with a key that is not here; Said why.
	Unopened
	// Unclear: submit ended in any other way; Said how.
	Unclear
	// Found: find named it.
	Found
	// NotFound: find answered, and did not.
	NotFound
	// Seen: poll named it; Stage, ExitCode and Said tell how it is.
	Seen
	// NotSeen: poll answered, and did not.
	NotSeen
	// CancelAsked: its job is to be cancelled.
	CancelAsked
	// Killed: kill ended well.
	Killed
	// Saved: how it ended is recorded.
	Saved
	// Logged: what it wrote is fetched, or cannot be.
	Logged
	// Tick: time has passed.
	Tick
	// Leave: it is not watched here any more.
	Leave

	kinds
)

var kindNames = [...]string{"no tag", "has tag", "turn", "recorded", "accepted", "denied", "unopened", "unclear", "found", "not found", "seen",
	"not seen", "cancel", "killed", "saved", "logged", "tick", "leave"}

func (k Kind) String() string { return kindNames[k] }

// Event is one thing that happened. Which fields are set depends on Kind.
type Event struct {
	Kind     Kind
	ID       string
	Stage    Stage
	ExitCode int
	Said     string
	Pause    time.Duration // Unopened: until it is tried again
	Tag      Tag
}

// Tag is what is recorded of a tag.
type Tag struct {
	Name     string // bellhop-JOB-FENCE, of the claim that recorded it
	State    TagState
	ID       string
	Stage    Stage
	Sent, In time.Time // first submitted, first seen running; zero: not
	End      End
	Logged   int // lines of what it wrote that are in the job's log
}

// Row is what the holder of the job is to record of it.
type Row struct {
	Job, Fence int64
	Tag
}

// TagState is the column bellhop.engine_job.state.
type TagState string

const (
	TagSubmitting TagState = "submitting" // submit may have been called
	TagRunning    TagState = "running"    // the engine has it
	TagEnded      TagState = "ended"      // it is over
	TagKilling    TagState = "killing"    // what was left of it is being removed
	TagOver       TagState = "over"       // nothing is left of it
)

// Effect is what is to be done now.
type Effect uint8

const (
	// Record its tag, and call submit when that is done.
	Record Effect = iota
	// Submit: call submit.
	Submit
	// Save: what is known of it is to be recorded.
	Save
	// Kill: call kill.
	Kill
	// Logs: fetch what it wrote.
	Logs
	// Settle: its outcome is the job's.
	Settle
	// GiveBack: its job goes back to the queue.
	GiveBack
	// Pause: the engine does not take jobs just now; none is to be submitted for a while.
	Pause
)

var effectNames = [...]string{"record", "submit", "save", "kill", "logs", "settle", "give back", "pause"}

func (e Effect) String() string { return effectNames[e] }
