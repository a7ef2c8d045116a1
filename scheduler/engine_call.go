package scheduler

import (
	"strconv"
	"strings"
)

// EngineCall is one call of a command of an engine.
type EngineCall struct {
	Type TypeName
	Op   string   // submit, find, poll, kill or logs
	Args []string // behind the command
	In   string   // on its stdin
	Line *Line    // submit: the job; nil: it is about none
	Over bool     // kill: nothing is wanted of them any more
}

// EngineSaid is how it went.
type EngineSaid struct {
	Out, Err string // what it wrote, cut where it is too long
	Code     int    // its exit code
	Failed   string // why, in our words; empty: it ended well
	Cut      bool   // Out is not whole
	Open     bool   // its last line has no end
	// Stays is why submit was not called: the job is sealed with a key that is not here. nil: it was.
	Stays *SealedError
}

// EngineRefuses is the exit code by which submit says that a job can never be done.
const EngineRefuses = 65

// Told is why it failed, with its last words.
func (s *EngineSaid) Told() string {
	return Account{s.Failed, strings.TrimSpace(s.Err)}.Told()
}

// Tag is the name under which an engine knows what this claim has submitted.
func (c Claim) Tag() string {
	return "bellhop-" + strconv.FormatInt(int64(c.Job), 10) + "-" + strconv.FormatInt(int64(c.Fence), 10)
}
