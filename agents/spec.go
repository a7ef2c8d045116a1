package agents

import (
	"io"
	"time"

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
	StartTimeout time.Duration     // kept by who waits for EventReady, not here
}

// Config is what a Launcher needs. The zero values of Guard, Stderr and Log
// mean: this executable, and nowhere.
type Config struct {
	Specs []Spec
	// Guard is the program that is run as guard, with its first arguments. Its
	// argv[0] is guard.Name in any case.
	Guard []string
	// Stderr gets ECHO text and `DEBUG <child>: …`, one Write per line. A
	// Write that waits holds up the child that spoke.
	Stderr io.Writer
	// Log gets lines for bellhop.log and keeps the slice. It must not block.
	Log func([]scheduler.Entry)
}
