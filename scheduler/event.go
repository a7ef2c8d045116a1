package scheduler

import "time"

// EventKind is what can happen to a child. The first group comes from the
// process, the second from its host, the last from time.
type EventKind uint8

const (
	// EventLaunched: the process exists; its first word is awaited.
	EventLaunched EventKind = iota
	// EventLaunchFailed: there is no process; Error says why.
	EventLaunchFailed
	// EventReady: the first OK. The child can take a line.
	EventReady
	// EventAnswered: the line in hand is answered; OK, ExitCode, Error and Successes tell how.
	EventAnswered
	// EventBegan: it has taken Lines in hand at once. Said by children that take batches, before the answers.
	EventBegan
	// EventOutputClosed: the child closed its stdout, or spoke nonsense that
	// its dialect does not allow (Error says which). It can never answer.
	EventOutputClosed
	// EventExited: the process and everything it left behind is dead.
	EventExited

	// EventWanted: there is work for a child of this type; come up.
	EventWanted
	// EventGiven: Lines are to be done.
	EventGiven
	// EventRecall: what was not started is wanted back.
	EventRecall
	// EventReturned: Lines were taken back from the process before it got them.
	EventReturned
	// EventDismiss: not needed any more (Stop says why); go in peace.
	EventDismiss
	// EventCancel: the job named by Claim is cancelled; Now asks for SIGKILL at once.
	EventCancel
	// EventKill: die at once, whatever is in hand (Stop says why).
	EventKill
	// EventTripped: the type has failed too often here; do not come up.
	EventTripped

	// EventTick: a deadline may have passed.
	EventTick

	eventKinds // how many there are
)

// ChildEvent is one thing that happened to a child. Which fields are set
// depends on Kind.
type ChildEvent struct {
	Kind      EventKind
	At        time.Time  // Answered, Ready: when it was said
	Claim     Claim      // Answered: the line's claim. Cancel: the job
	Item      int64      // Answered: the line's item
	OK        bool       // Answered: done. False: failed without dying
	Again     bool       // Answered, not OK: for want of something that others have; it counts as no attempt
	ExitCode  int        // Answered, Exited: 0…255; 128+n for signal n
	Signal    int        // Answered (exec), Exited: the signal that ended the process, 0 for none
	Error     string     // LaunchFailed, Answered, OutputClosed, Exited: why; nothing in it was written by an agent
	Message   string     // and what the agent itself said of it, which is not for every reader of the queue
	Successes int        // Answered: how many `Success` lines
	Answer    *Answer    // Answered: what was said besides; nil: nothing
	Locks     bool       // Answered: locks were asked for while the line was in hand, which others may wait for
	Lines     []Line     // Given, Returned, Began
	Stop      StopReason // Free, Kill: why. Exited: on whose wish, where the process says that it was ours
	Now       bool       // Cancel
	N         int        // Ready: how many lines it takes in hand at once; 0: one
	Guards    int        // Exited, StopUnguarded: how many guards the line in hand has taken along, this one too
}

// StopReason is why a child was told to die. A death under an order is never
// counted against its type.
type StopReason uint8

const (
	// StopNone: no stop was ordered.
	StopNone StopReason = iota
	// StopIdle: READY longer than limits.idle.
	StopIdle
	// StopRoom: its slot is needed by another type.
	StopRoom
	// StopShutdown: the instance is stopping.
	StopShutdown
	// StopFenced: the instance lost its hold on its jobs.
	StopFenced
	// StopCancelled: the job in hand was cancelled.
	StopCancelled
	// StopTimeout: the job in hand took longer than it may.
	StopTimeout
	// StopStale: the job in hand is not ours any more (row deleted, edited, or claimed elsewhere).
	StopStale
	// StopReplaced: its actor was lost; a new one starts with a new process.
	StopReplaced
	// StopSilent: no first OK within start_timeout. It counts as a death, since only the child can be to blame.
	StopSilent
	// StopBroken: it closed its stdout or broke its dialect, so that it can
	// never answer. It counts as a death, for the same reason.
	StopBroken
	// StopUnreached: the line to its host is dead, or never came to be. It is
	// the host that is in trouble, not the agent.
	StopUnreached
	// StopUnguarded: the guard of its process died. That is no doing of the
	// agent's, as far as can be told.
	StopUnguarded
	// StopFailed: it was told that its line has failed, and did not end it.
	StopFailed

	orders
)

var stopNames = [...]string{"none", "idle", "room", "shutdown", "fenced", "cancelled", "timeout", "stale", "replaced", "silent", "broken", "unreached", "its guard died", "failed"}

// Ours reports whether a death under this order was our wish. Such a death is
// never counted.
func (o StopReason) Ours() bool { return o != StopNone && o != StopSilent && o != StopBroken }

// lost says why what was in a child's hands was lost when it ended under this order.
func (o StopReason) lost(host HostName) string {
	switch o {
	case StopUnreached:
		return "host " + string(host) + " went silent"
	case StopShutdown:
		return "its instance was stopped"
	case StopFenced:
		return "its instance lost its hold on its jobs"
	case StopStale:
		return "its instance had lost it"
	case StopReplaced:
		return "its child was replaced"
	}
	return "its child was stopped (" + o.String() + ")"
}

func (o StopReason) String() string { return stopNames[o] }

var eventNames = [...]string{"launched", "launch failed", "ready", "answered", "began", "output closed", "exited",
	"wanted", "given", "recall", "returned", "free", "cancel", "kill", "barred", "tick"}

func (k EventKind) String() string { return eventNames[k] }

// Entry is one line of what an agent said, on its way to bellhop.log.
type Entry struct {
	Claim   Claim // Job 0: said outside any job
	Attempt int
	Child   ChildName
	Host    HostName
	Level   Level
	At      time.Time
	Text    string
}

// Level says where a line of an agent came from and how loud it is.
type Level string

const (
	LevelDebug Level = "debug" // anything the dialect does not know
	LevelInfo  Level = "info"  // LOG
	LevelError Level = "error" // ERROR, FATAL
	LevelOut   Level = "out"   // stdout of an exec agent
	LevelErr   Level = "err"   // stderr
	LevelNote  Level = "note"  // the scheduler's own remark on the job
)

// Truncated begins the remark that a job said more than is kept.
const Truncated = "output truncated: "
