package agents

import (
	"bytes"
	"context"
	"io"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// Mode is how an agent is run.
type Mode string

const (
	ModeWarm Mode = "warm" // stays up and speaks a dialect
	ModeExec Mode = "exec" // one process per line, its exit code is the result
)

// Dialect is what a warm agent speaks on its stdin and stdout.
type Dialect string

const (
	DialectAuto    Dialect = "auto" // classic or json, told by the agent's first line
	DialectClassic Dialect = "classic"
	DialectJSON    Dialect = "json"
	// DialectFOSSology has to be named, and is of one process per line like
	// ModeExec, whatever the mode.
	DialectFOSSology Dialect = "fossology"
)

// Spec is one agent as configured.
type Spec struct {
	Type         scheduler.TypeName
	Command      []string          // without a slash: looked up on the agent's PATH; relative: to WorkDir
	Mode         Mode              // empty: warm
	Dialect      Dialect           // empty: auto
	Env          map[string]string // the child's whole environment besides PATH, HOME, LANG, TMPDIR
	Vars         []string          // names (or path.Match patterns) of job vars it takes
	WorkDir      string            // empty: the scheduler's
	User         string            // empty: the scheduler's
	StartTimeout time.Duration     // kept by the reader of EventReady, not here; but see FOSSology
	DB           bool              // classic: what it says with DB: is run
	Attached     bool              // its commands are those of attached tables, and no Command
	Stdout       Stdout            // of mode exec; empty: log
	Ends         scheduler.Ends    // of mode exec: exit codes that are no failures
	FOSSology    *FOSSology        // with DialectFOSSology; nil: the defaults
	Engine       *EngineCommands   // its jobs run elsewhere; nil: in children
	Memory       int64             // bytes that a child takes at most, with what descends from it; 0: as much as there is
	CPU          float64           // the same of CPU time, in processors
}

// alone reports whether each line has a process of its own.
func (s *Spec) alone() bool { return s.Mode == ModeExec || s.Dialect == DialectFOSSology }

// Config is what a Launcher needs. The zero values of Guard, Stderr and Log
// mean: this executable, and nowhere.
type Config struct {
	Specs []Spec
	// Connect is, for each host that is not this machine, the command that
	// carries stdio there, such as ssh big1.
	Connect map[scheduler.HostName][]string
	// Guard is the program that is run as guard, with its first arguments. Its
	// argv[0] is guard.Name in any case.
	Guard []string
	// Heir is what a guard becomes when this process is dead, and nothing lives
	// of what it guarded for that instance. Nil: it ends.
	Heir func(scheduler.InstanceID) guard.Heir
	// Stderr gets ECHO text and `DEBUG <child>: …`, one Write per line. A
	// Write that waits holds up the child that spoke.
	Stderr io.Writer
	// Log gets lines for bellhop.log and keeps the slice. It must not block.
	Log func([]scheduler.Entry)
	// Database opens a session for one agent whose spec says DB. nil: none does.
	Database func() Database
	Answers  Answers
	// Attached finds the command of a row's job; ok is false where it is none. nil: none is.
	Attached func(scheduler.JobID) (a scheduler.Attached, ok bool, err error)
	// Tap gets every line that goes to an agent or comes from it, unchanged and without its end, for display. It keeps
	// nothing of the slice.
	Tap func(from Voice, line []byte)
	// Progress gets how far the agent of a single job says it has come. It must not block.
	Progress func(scheduler.Progress)
	// HowFar gets the same from agents that say it as a part of the whole. It must not block.
	HowFar func(scheduler.HowFar)
	// Result is how long what a job gives back may be, in bytes; 0: 64 KiB.
	Result int
	// Locks gets what the agent of a job asks of locks, in the json dialect. answer may be called from any goroutine;
	// neither may block. nil: no locks are kept.
	Locks func(ask scheduler.LockAsk, answer func(scheduler.LockAnswer))
	// Steps keeps what a run has done, and returns when that is committed; an error fails the run. ctx ends with the
	// agent. nil: no steps are kept.
	Steps func(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error
	// Open gives a line as its agent gets it, where something of it is sealed. The error is a *scheduler.SealedError.
	// nil: nothing is.
	Open func(typ scheduler.TypeName, line *scheduler.Line) (*scheduler.Line, error)
	// Unlimited gets a type once for each host that does not let it be limited, and why.
	Unlimited func(typ scheduler.TypeName, host scheduler.HostName, why string)
	// Trouble gets why a type cannot be used on a host, and an empty text when
	// that has passed. It must not block.
	Trouble func(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account)
}

// Voice is the side that said a line.
type Voice string

const (
	VoiceBellhop Voice = "bellhop" // to the agent's stdin
	VoiceAgent   Voice = "agent"   // its stdout; both its streams in dialect fossology
	VoiceStderr  Voice = "stderr"
)

// tapped lets the tap hear a stream too.
func (l *Launcher) tapped(from Voice, hear func([]byte, bool)) func([]byte, bool) {
	if l.tap == nil {
		return hear
	}
	return func(line []byte, truncated bool) {
		l.tap(from, line)
		hear(line, truncated)
	}
}

// wrote lets the tap hear what was written.
func (l *Launcher) wrote(text []byte) {
	if l.tap == nil {
		return
	}
	for line := range bytes.Lines(text) {
		l.tap(VoiceBellhop, bytes.TrimSuffix(line, []byte{'\n'}))
	}
}
