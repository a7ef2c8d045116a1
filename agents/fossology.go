package agents

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// The fossology dialect: what agents linked with FOSSology's own library speak.
// One process serves one line and is never reused. It greets with
//
//	VERSION: text      the very first line; the same text from every process of a type
//	OK                 give me my data
//
// gets `DATA\nEND\n`, says OK again when it wants more, gets `CLOSE\n`, and ends
// with `BYE N`, which alone is its result. In between it says any of
//
//	HEART: TOTAL ALIVE     items so far, and whether it still gets on
//	SPECIAL: BIT 0|1       set or clear an attribute of this process
//	GETSPECIAL: BIT        answered with `VALUE: 0|1\n`
//	EMAIL text             for the notification
//
// Everything else is for the log. Blank lines are nothing.

// FOSSology is how an agent of the fossology dialect is started and watched.
type FOSSology struct {
	Config  string // the folder named with --config; empty: FO_SYSCONFDIR, or else FOSSology's own default
	NoKill  bool   // not killed for want of a heartbeat
	NoEmail bool   // what it says with EMAIL is not kept
	Verbose int    // sent as VERBOSE N before the data; 0: nothing is sent
	// Heartbeats. What is zero has the default in the comment.
	Silence  time.Duration // no line at all for so long: it hangs; 180 s
	Check    time.Duration // how often ALIVE is looked at; 120 s
	Checks   int           // so many looks in a row at ALIVE 0: it hangs; 5
	ByeGrace time.Duration // BYE → SIGKILL; 20 s
}

func (f FOSSology) withDefaults() FOSSology {
	f.Silence = cmp.Or(f.Silence, 180*time.Second)
	f.Check = cmp.Or(f.Check, 120*time.Second)
	f.Checks = cmp.Or(f.Checks, 5)
	f.ByeGrace = cmp.Or(f.ByeGrace, 20*time.Second)
	return f
}

// fossologyConfig is where FOSSology's own installation has its configuration.
const fossologyConfig = "/usr/local/etc/fossology"

// The attributes of SPECIAL and GETSPECIAL. The scheduler obeys the first one;
// the others it remembers.
const (
	specialNoKill    = 1
	specialExclusive = 2
	specialNoEmail   = 4
	specialLocal     = 8
)

// speech is what a line of such an agent means.
type speech uint8

const (
	saysNothing    speech = iota // a blank line
	saysVersion                  // text
	saysOK                       //
	saysHeart                    // n items, on: alive
	saysBye                      // n: its result
	saysSpecial                  // n: the bit, on: set it
	saysGetSpecial               // n: the bit
	saysEmail                    // text
	saysAnything                 // text, level
)

type said struct {
	what  speech
	n     int64
	on    bool
	text  []byte
	level scheduler.Level
}

// parseFOSSology reads one line. What only resembles a word of the dialect is
// text for the log.
func parseFOSSology(line []byte) said {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(bytes.TrimSpace(line)) == 0 {
		return said{}
	}
	if isOK(line) {
		return said{what: saysOK}
	}
	word, rest, _ := bytes.Cut(line, []byte{' '})
	numbers := strings.Fields(string(rest))
	switch string(word) {
	case "VERSION:":
		return said{what: saysVersion, text: bytes.TrimSpace(rest)}
	case "HEART:":
		if n, ok := integers(numbers, 1, 2); ok && n[0] >= 0 {
			return said{what: saysHeart, n: n[0], on: len(n) < 2 || n[1] != 0} // agents of old say no ALIVE
		}
	case "BYE":
		if n, ok := integers(numbers, 1, 1); ok {
			return said{what: saysBye, n: n[0]}
		}
	case "SPECIAL:":
		if n, ok := integers(numbers, 2, 2); ok {
			return said{what: saysSpecial, n: n[0], on: n[1] != 0}
		}
	case "GETSPECIAL:":
		if n, ok := integers(numbers, 1, 1); ok {
			return said{what: saysGetSpecial, n: n[0]}
		}
	case "EMAIL":
		return said{what: saysEmail, text: rest}
	}
	return said{what: saysAnything, text: line, level: levelOf(word)}
}

func integers(words []string, least, most int) (list []int64, ok bool) {
	if len(words) < least || len(words) > most {
		return nil, false
	}
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// levelOf goes by the word that a line for the log begins with.
func levelOf(word []byte) scheduler.Level {
	switch string(bytes.TrimSuffix(word, []byte{':'})) {
	case "FATAL", "ERROR":
		return scheduler.LevelError
	case "WARNING", "NOTICE", "NOTE", "LOG":
		return scheduler.LevelInfo
	case "DEBUG":
		return scheduler.LevelDebug
	}
	return scheduler.LevelOut
}

// commandWords are what the agents' library takes for a command of the
// scheduler, by their first letters alone.
var commandWords = []string{"CLOSE", "END", "VERBOSE", "VERSION"}

// encodeFOSSology is what is written when the agent first says OK: its data, or
// CLOSE where there is none.
func encodeFOSSology(l *scheduler.Line, verbose int) ([]byte, error) {
	var b []byte
	if verbose != 0 {
		b = fmt.Appendf(b, "VERBOSE %d\n", verbose)
	}
	data, has := fossologyData(l)
	if !has {
		return append(b, "CLOSE\n"...), nil
	}
	if strings.ContainsAny(data, "\n\x00") {
		return nil, errors.New("not_data: the data holds a line break or a zero byte, which the fossology dialect cannot carry")
	}
	for _, word := range commandWords {
		if strings.HasPrefix(data, word) {
			return nil, fmt.Errorf("not_data: the data begins with %s, which the agent would take for a command", word)
		}
	}
	return append(append(b, data...), "\nEND\n"...), nil
}

// fossologyData is a job's argument, or the bare value of an item's first column.
func fossologyData(l *scheduler.Line) (data string, has bool) {
	if l.Item == 0 {
		return l.Args, l.HasArgs
	}
	if len(l.Columns) == 0 {
		return "", true // the only column is NULL
	}
	return l.Columns[0].Value, true
}

// Vars that become arguments of the command line, whatever the agent's vars
// say. Names count without regard to case.
const (
	varJob     = "jobId"
	varUser    = "userID"
	varGroup   = "groupID"
	varCommand = "jq_cmd_args"
)

// commandLine is what such an agent is started with after its configured
// words, and the vars that are left for its environment.
func (f *FOSSology) commandLine(vars scheduler.Vars, env []string) (args []string, rest map[string]string) {
	value := map[string]string{varJob: "0", varUser: "0", varGroup: "0"}
	rest = map[string]string{}
next:
	for name, v := range vars.Map() {
		for _, known := range []string{varJob, varUser, varGroup, varCommand} {
			if strings.EqualFold(name, known) {
				value[known] = v
				continue next
			}
		}
		if !strings.HasPrefix(name, "jq_") { // other columns of FOSSology's own table are nothing to an agent
			rest[name] = v
		}
	}
	config := f.Config
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, "FO_SYSCONFDIR="); ok {
			config = cmp.Or(config, v)
		}
	}
	args = []string{"--jobId=" + value[varJob], "--config=" + cmp.Or(config, os.Getenv("FO_SYSCONFDIR"), fossologyConfig),
		"--userID=" + value[varUser], "--groupID=" + value[varGroup], "--scheduler_start"}
	return append(args, quotedFields(value[varCommand])...), rest
}

// quotedFields cuts a text at its blanks, but for those between two quotes, of
// which either kind ends what either has begun; the quotes stay. So does
// FOSSology's own scheduler, and its agents take the quotes off.
func quotedFields(text string) (list []string) {
	begin, quoted := -1, false
	for i, r := range text {
		if r == '\'' || r == '"' {
			quoted = !quoted
		}
		if blank := !quoted && unicode.IsSpace(r); blank && begin >= 0 {
			list, begin = append(list, text[begin:i]), -1
		} else if !blank && begin < 0 {
			begin = i
		}
	}
	if begin >= 0 {
		list = append(list, text[begin:])
	}
	return list
}

// fossologyRequest is what the guard starts for a line: in the agent's own
// folder, and under the name of its type, by which the agents' library looks up
// its own configuration.
func (p *Process) fossologyRequest(line *scheduler.Line) (guard.Request, error) {
	f := p.spec.FOSSology
	base, err := p.launcher.request(p.host, p.spec, nil, nil)
	if err != nil {
		return guard.Request{}, err
	}
	args, rest := f.commandLine(line.Vars, base.Env)
	vars, err := checkVars(p.spec.Vars, rest)
	if err != nil {
		return guard.Request{}, &commandError{why: err.Error(), code: refusedCode}
	}
	request, err := p.launcher.request(p.host, p.spec, args, bellhopEnvironment(vars, line))
	request.CalledAs = string(p.spec.Type)
	return request, err
}
