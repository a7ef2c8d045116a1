package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// AttachedType is the type of jobs that are rows of attached tables with a command of their own. No configured
// agent has it.
const AttachedType = scheduler.TypeName("attachment")

// maxEnvironment is how long one variable may be for the kernel (128 KiB, with
// its name and its end).
const maxEnvironment = 128<<10 - 64

// attached asks for the command of the line in hand. What a job says counts for nothing here: any submitter may
// name any type.
func (p *Process) attached(line *scheduler.Line) (guard.Request, *runLog, error) {
	a, ok, err := p.askForCommand(line.Claim.Job)
	if err != nil {
		return guard.Request{}, nil, err
	}
	if !ok {
		return guard.Request{}, nil, &commandError{code: refusedCode,
			why: "no_attachment: this job is not a row of an attached table, or that was detached; see: bellhop attachments"}
	}
	spec := p.spec
	spec.Command, spec.WorkDir = a.Command, a.WorkDir
	env := append(bellhopEnvironment(nil, line),
		"BELLHOP_KEY="+a.Key, "BELLHOP_TABLE="+a.Table, "BELLHOP_JOB="+strconv.FormatInt(int64(line.Job), 10))
	if len(a.Row) <= maxEnvironment {
		env = append(env, "BELLHOP_ROW="+a.Row)
	}
	r, err := p.launcher.request(p.host, spec, []string{a.Key}, env)
	var command *commandError
	if errors.As(err, &command) {
		command.see = "see: bellhop attachments"
	}
	if err != nil || a.LogDir == "" {
		return r, nil, err
	}
	log, err := openRunLog(a.LogDir, encodeName(a.Attachment), encodeName(a.Key), line.Attempt)
	if err != nil {
		p.note(scheduler.LevelNote, fmt.Appendf(nil, "its output is kept in bellhop.log only: %v", err), false)
	}
	return r, log, nil
}

// A database that is away for a moment kills no child: it is asked again.
const (
	askAgain    = 100 * time.Millisecond
	askPatience = 15 * time.Second
)

func (p *Process) askForCommand(job scheduler.JobID) (a scheduler.Attached, ok bool, err error) {
	for began := time.Now(); ; time.Sleep(askAgain) {
		a, ok, err = p.launcher.attached(job)
		p.mu.Lock()
		closing := p.closing
		p.mu.Unlock()
		if err == nil || closing || time.Since(began) > askPatience {
			return a, ok, err
		}
	}
}

// maxName is how long a file's name may be that was made from a key.
const maxName = 150

// encodeName makes any text a file's name, and different texts different ones:
// letters, digits, - and _ stay, and so does a dot behind the first character;
// all else is %XX. What would be too long is cut, and its SHA-256 put behind.
func encodeName(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if text == "" {
		return "%"
	}
	if b.Len() > maxName {
		sum := sha256.Sum256([]byte(text))
		return b.String()[:maxName-70] + "%-" + hex.EncodeToString(sum[:])
	}
	return b.String()
}
